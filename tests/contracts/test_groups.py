"""Consumer groups, request by request: who is in, who leads, and who is told to join again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiokafka.protocol.admin import ListGroupsRequest

from tests.contracts.client import wait_for
from tests.contracts.group_member import GroupMember, settle
from tests.contracts.wire import (
    CLIENT_ID,
    GROUP_COORDINATOR,
    Code,
    Log,
    Wire,
    find_coordinator,
    group_description,
)

NewMember = Callable[..., GroupMember]


@pytest.fixture
def new_member(connect: Callable[[], Wire], unique: str) -> NewMember:
    """Members of one group, each on a connection of its own."""

    def make(**how: object) -> GroupMember:
        return GroupMember(connect(), unique, **how)  # type: ignore[arg-type]

    return make


def state(wire: Wire, group: str) -> str:
    find_coordinator(wire, group, GROUP_COORDINATOR)
    return str(group_description(wire, group)[2])


def test_a_new_member_is_first_given_an_id(new_member: NewMember) -> None:
    member = new_member()
    member.take_id()
    assert member.member_id.startswith(CLIENT_ID)
    assert member.join() == Code.NONE


def test_the_first_member_leads_generation_1(new_member: NewMember) -> None:
    member = new_member()
    assert member.join() == Code.NONE
    assert member.leads
    assert member.generation == 1
    assert member.members == {member.member_id: b"subscription"}
    assert member.sync({member.member_id: b"all"}) == (Code.NONE, b"all")
    assert member.heartbeat() == Code.NONE


def test_the_leader_alone_is_told_who_is_in_the_group(new_member: NewMember) -> None:
    first, second = new_member(), new_member()
    settle(first)
    settle(second, first)
    leader, follower = (first, second) if first.leads else (second, first)
    assert set(leader.members) == {first.member_id, second.member_id}
    assert follower.members == {}
    assert first.joined.leader_id == second.joined.leader_id


def test_each_member_gets_the_share_that_the_leader_gave_it(new_member: NewMember) -> None:
    members = [new_member() for _ in range(4)]
    settle(members[0])
    settle(*members)
    assert {member.generation for member in members} == {2}


def test_a_follower_waits_for_the_leaders_assignment(new_member: NewMember) -> None:
    first, second = new_member(), new_member()
    settle(first)
    second.take_id()
    second.begin_join()
    first.begin_join()
    assert (first.finish_join(), second.finish_join()) == (Code.NONE, Code.NONE)
    leader, follower = (first, second) if first.leads else (second, first)
    follower.begin_sync()
    assert not follower.wire.has_answer(within_s=0.1)
    assert leader.sync({follower.member_id: b"given"}) == (Code.NONE, b"")
    assert follower.finish_sync() == (Code.NONE, b"given")


def test_members_are_told_when_another_one_joins(new_member: NewMember) -> None:
    first, second = new_member(), new_member()
    settle(first)
    second.take_id()
    second.begin_join()
    first.wait_for_heartbeat(Code.REBALANCE_IN_PROGRESS)
    first.begin_join()
    assert (first.finish_join(), second.finish_join()) == (Code.NONE, Code.NONE)
    assert first.generation == second.generation == 2


def test_members_are_told_when_another_one_leaves(new_member: NewMember) -> None:
    first, second = new_member(), new_member()
    settle(first)
    settle(first, second)
    assert second.leave() == Code.NONE
    assert first.heartbeat() == Code.REBALANCE_IN_PROGRESS
    settle(first)
    assert first.generation == 3
    assert second.heartbeat() == Code.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_taken_for_dead(new_member: NewMember) -> None:
    lively, silent = new_member(), new_member(session_timeout_ms=1_000)
    settle(lively)
    settle(lively, silent)
    lively.wait_for_heartbeat(Code.REBALANCE_IN_PROGRESS)
    settle(lively)
    assert set(lively.members) == {lively.member_id}
    assert silent.heartbeat() == Code.UNKNOWN_MEMBER_ID


def test_heartbeats_keep_a_member_in_the_group(new_member: NewMember, topic: str) -> None:
    member = new_member(session_timeout_ms=2_000)
    settle(member)
    pause = Log(member.wire, topic)
    for _ in range(9):
        pause.fetch(0, wait_ms=300, min_bytes=1)
        assert member.heartbeat() == Code.NONE


def test_a_member_that_does_not_join_again_in_time_is_left_out(new_member: NewMember) -> None:
    lively, stuck = new_member(rebalance_timeout_ms=800), new_member(rebalance_timeout_ms=800)
    settle(lively)
    settle(lively, stuck)
    lively.begin_join()
    # A group rebalances when its leader joins again, or when a member does with another subscription.
    stuck.wait_for_heartbeat(Code.REBALANCE_IN_PROGRESS)
    assert lively.finish_join() == Code.NONE
    assert set(lively.members) == {lively.member_id}
    assert stuck.heartbeat() == Code.UNKNOWN_MEMBER_ID


def test_a_follower_that_joins_again_unchanged_disturbs_nobody(new_member: NewMember) -> None:
    first, second = new_member(), new_member()
    settle(first)
    settle(first, second)
    leader, follower = (first, second) if first.leads else (second, first)
    assert follower.join() == Code.NONE
    assert follower.generation == 2
    assert leader.heartbeat() == Code.NONE


def test_a_follower_with_another_subscription_brings_the_group_to_rebalance(new_member: NewMember) -> None:
    first, second = new_member(), new_member()
    settle(first)
    settle(first, second)
    leader, follower = (first, second) if first.leads else (second, first)
    follower.protocols = [("range", b"another subscription")]
    follower.begin_join()
    leader.wait_for_heartbeat(Code.REBALANCE_IN_PROGRESS)
    leader.begin_join()
    assert (leader.finish_join(), follower.finish_join()) == (Code.NONE, Code.NONE)


def test_another_generation_is_refused(new_member: NewMember, topic: str) -> None:
    member = new_member()
    settle(member)
    log = Log(member.wire, topic)
    for generation in (0, 2):
        assert member.heartbeat(generation) == Code.ILLEGAL_GENERATION
        assert member.commit(log, 5, generation=generation) == Code.ILLEGAL_GENERATION
    assert member.commit(log, 5) == Code.NONE
    member.generation = 7
    assert member.sync({})[0] == Code.ILLEGAL_GENERATION


def test_an_unknown_member_is_refused(new_member: NewMember, topic: str) -> None:
    settle(new_member())
    stranger = new_member()
    stranger.member_id, stranger.generation = "stranger", 1
    assert stranger.heartbeat() == Code.UNKNOWN_MEMBER_ID
    assert stranger.sync()[0] == Code.UNKNOWN_MEMBER_ID
    assert stranger.leave() == Code.UNKNOWN_MEMBER_ID
    assert stranger.commit(Log(stranger.wire, topic), 5) == Code.UNKNOWN_MEMBER_ID
    assert stranger.join() == Code.UNKNOWN_MEMBER_ID


def test_an_unknown_group_knows_no_member(new_member: NewMember) -> None:
    stranger = new_member()
    stranger.member_id, stranger.generation = "stranger", 1
    assert stranger.heartbeat() == Code.UNKNOWN_MEMBER_ID
    assert stranger.leave() == Code.UNKNOWN_MEMBER_ID


def test_positions_can_be_committed_until_the_new_generation_begins(
    new_member: NewMember, topic: str
) -> None:
    first, second = new_member(), new_member()
    settle(first)
    second.take_id()
    second.begin_join()
    first.wait_for_heartbeat(Code.REBALANCE_IN_PROGRESS)
    assert first.commit(Log(first.wire, topic), 5) == Code.NONE
    first.begin_join()
    assert (first.finish_join(), second.finish_join()) == (Code.NONE, Code.NONE)
    assert first.commit(Log(first.wire, topic), 6) == Code.REBALANCE_IN_PROGRESS
    assert first.commit(Log(first.wire, topic), 6, generation=1) == Code.ILLEGAL_GENERATION


def test_a_protocol_that_all_members_know_is_chosen(new_member: NewMember) -> None:
    first = new_member(protocols=[("new", b"1"), ("old", b"1")])
    second = new_member(protocols=[("old", b"2"), ("other", b"2")])
    settle(first)
    settle(first, second)
    assert first.joined.group_protocol == second.joined.group_protocol == "old"
    leader = first if first.leads else second
    assert set(leader.members.values()) == {b"1", b"2"}


def test_the_first_choice_of_the_members_wins(new_member: NewMember) -> None:
    first = new_member(protocols=[("a", b""), ("b", b"")])
    second, third = (new_member(protocols=[("b", b""), ("a", b"")]) for _ in range(2))
    settle(first)
    settle(first, second, third)
    assert first.joined.group_protocol == "b"


@pytest.mark.parametrize(
    "how",
    [{"protocols": [("roundrobin", b"")]}, {"protocol_type": "connect"}, {"protocols": []}],
    ids=["no common protocol", "another type", "no protocol"],
)
def test_a_member_that_does_not_fit_is_refused(new_member: NewMember, how: dict[str, object]) -> None:
    first = new_member()
    settle(first)
    assert new_member(**how).join() == Code.INCONSISTENT_GROUP_PROTOCOL
    assert first.heartbeat() == Code.NONE


@pytest.mark.parametrize("session_timeout_ms", [10, 2_000_000])
def test_a_session_time_out_out_of_bounds_is_refused(new_member: NewMember, session_timeout_ms: int) -> None:
    assert new_member(session_timeout_ms=session_timeout_ms).join() == Code.INVALID_SESSION_TIMEOUT


def test_a_group_needs_a_name(wire: Wire) -> None:
    assert GroupMember(wire, "").join() == Code.INVALID_GROUP_ID


def test_a_group_is_described_in_each_of_its_states(new_member: NewMember, wire: Wire, unique: str) -> None:
    assert state(wire, unique) == "Dead"
    member = new_member()
    member.take_id()
    member.join()
    assert state(wire, unique) == "CompletingRebalance"
    member.sync({member.member_id: b"share"})
    assert state(wire, unique) == "Stable"
    other = new_member()
    other.take_id()
    other.begin_join()
    wait_for("the group rebalances", lambda: state(wire, unique) == "PreparingRebalance")
    member.leave()
    assert other.finish_join() == Code.NONE
    other.leave()
    wait_for("the group is empty", lambda: state(wire, unique) == "Empty")


def test_a_stable_group_is_described_with_its_members(new_member: NewMember, wire: Wire, unique: str) -> None:
    member = new_member()
    settle(member)
    code, group, _state, protocol_type, protocol, members = group_description(wire, unique)[:6]
    assert (code, group, protocol_type, protocol) == (Code.NONE, unique, "consumer", "range")
    described = members[0]
    assert described[0] == member.member_id
    assert CLIENT_ID in described
    assert b"subscription" in described
    assert member.member_id.encode() in described


def test_groups_are_listed(new_member: NewMember, wire: Wire, unique: str) -> None:
    settle(new_member())
    answer = wire.ask(ListGroupsRequest())
    assert answer.error_code == Code.NONE
    assert {group[0]: group[1] for group in answer.groups}[unique] == "consumer"
