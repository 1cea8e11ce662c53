"""Static members: a restart under the same instance id disturbs nobody, a second holder of the id fences the first."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka
import pytest

from tests.contracts.client import Client, RefusedError, wait_for
from tests.contracts.group_member import GroupMember, settle
from tests.contracts.wire import Code, Wire, create_topic

NewMember = Callable[[str | None], GroupMember]


@pytest.fixture
def new_member(connect: Callable[[], Wire], unique: str) -> NewMember:
    """Members of one group by their instance ids."""
    return lambda instance_id: GroupMember(connect(), unique, instance_id=instance_id)


def test_a_restarted_member_keeps_its_share_and_disturbs_nobody(new_member: NewMember) -> None:
    other, before = new_member(None), new_member("one")
    settle(other)
    settle(other, before)
    share = before.member_id.encode()
    before.wire.close()
    after = new_member("one")
    assert after.join() == Code.NONE
    assert after.member_id != before.member_id
    assert after.generation == before.generation
    assert after.sync() == (Code.NONE, share)
    assert after.heartbeat() == Code.NONE
    assert other.heartbeat() == Code.NONE


def test_a_restarted_leader_is_not_taken_for_the_leader(new_member: NewMember) -> None:
    # It would assign anew; only a real rebalance may do that.
    before = new_member("one")
    settle(before)
    after = new_member("one")
    assert after.join() == Code.NONE
    assert after.joined.leader_id != after.member_id or after.members == {}
    assert after.sync() == (Code.NONE, before.member_id.encode())


def test_a_restart_with_another_subscription_waits_for_the_next_generation(new_member: NewMember) -> None:
    other, before = new_member(None), new_member("one")
    settle(other)
    settle(other, before)
    after = new_member("one")
    after.protocols = [("range", b"another subscription")]
    assert after.join() == Code.NONE
    assert after.generation == before.generation
    assert other.heartbeat() == Code.NONE


def test_a_restart_that_changes_the_groups_protocol_rebalances(new_member: NewMember) -> None:
    other, before = new_member(None), new_member("one")
    other.protocols = before.protocols = [("range", b""), ("sticky", b"")]
    settle(other)
    settle(other, before)
    after = new_member("one")
    after.protocols = [("sticky", b"")]
    after.begin_join()
    other.wait_for_heartbeat(Code.REBALANCE_IN_PROGRESS)
    other.begin_join()
    assert (other.finish_join(), after.finish_join()) == (Code.NONE, Code.NONE)
    assert other.generation == after.generation == before.generation + 1
    assert other.joined.group_protocol == "sticky"


def test_the_former_holder_of_an_instance_id_is_fenced(new_member: NewMember) -> None:
    before = new_member("one")
    settle(before)
    after = new_member("one")
    assert after.join() == Code.NONE
    assert before.heartbeat() == Code.FENCED_INSTANCE_ID
    assert before.sync()[0] == Code.FENCED_INSTANCE_ID
    assert before.join() == Code.FENCED_INSTANCE_ID


def test_an_unknown_instance_id_is_refused(new_member: NewMember) -> None:
    settle(new_member(None))
    stranger = new_member("one")
    stranger.member_id, stranger.generation = "stranger", 1
    assert stranger.heartbeat() == Code.UNKNOWN_MEMBER_ID


def test_static_members_share_a_group_with_others(new_member: NewMember) -> None:
    members = [new_member("one"), new_member("two"), new_member(None)]
    settle(members[0])
    settle(*members)
    assert {member.generation for member in members} == {2}


def test_a_client_that_restarts_as_the_same_instance_keeps_its_partitions(
    client: Client, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique, partitions=4)
    everything = {(unique, number) for number in range(4)}
    first = client.member(unique, [unique], instance_id="one")
    second = client.member(unique, [unique], instance_id="two")

    def shared() -> bool:
        first.poll()
        second.poll()
        return first.assignment() | second.assignment() == everything and len(first.assignment()) == 2

    wait_for("both have two partitions", shared)
    kept, left = first.assignment(), second.assignment()
    second.close()
    restarted = client.member(unique, [unique], instance_id="two")

    def restored() -> bool:
        first.poll()
        restarted.poll()
        assert first.assignment() == kept
        return restarted.assignment() == left

    wait_for("the restarted one has its partitions again", restored)
    first.close()
    restarted.close()


def test_a_second_client_with_the_same_instance_id_fences_the_first(
    client: Client, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique)
    first = client.member(unique, [unique], instance_id="one")

    def assigned(member: object) -> bool:
        member.poll()  # type: ignore[attr-defined]
        return bool(member.assignment())  # type: ignore[attr-defined]

    wait_for("the first has the partition", lambda: assigned(first))
    second = client.member(unique, [unique], instance_id="one")
    wait_for("the second has the partition", lambda: assigned(second))
    if client.name == "confluent":  # aiokafka's heartbeats do not say which instance they are of
        with pytest.raises((RefusedError, confluent_kafka.KafkaException)) as fenced:
            wait_for("the first is told", lambda: assigned(first) and False)
        code = getattr(fenced.value, "code", None)
        assert code in {confluent_kafka.KafkaError._FATAL, Code.FENCED_INSTANCE_ID}
    first.close()
    second.close()
