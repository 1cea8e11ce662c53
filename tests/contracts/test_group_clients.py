"""Consumer groups of real clients: they share partitions, take over from each other, and read on where they were."""

from __future__ import annotations

import pytest
from aiokafka.protocol.group import ProtocolMetadata

from tests.contracts.client import Client, Member, Place, Record, wait_for, write
from tests.contracts.group_member import GroupMember
from tests.contracts.wire import Code, Wire, create_topic

PARTITIONS = 4


@pytest.fixture
def places(wire: Wire, unique: str) -> set[Place]:
    """A topic with some partitions."""
    create_topic(wire, unique, PARTITIONS)
    return {(unique, number) for number in range(PARTITIONS)}


def shared_by(places: set[Place], *members: Member) -> bool:
    """True when the members have all places among them, and none of them has more than its part."""
    for member in members:
        member.poll()
    parts = [member.assignment() for member in members]
    return set().union(*parts) == places and all(len(part) == PARTITIONS // len(members) for part in parts)


def test_members_share_the_partitions_and_take_over_from_one_that_leaves(
    client: Client, unique: str, places: set[Place]
) -> None:
    first = client.member(unique, [unique])
    wait_for("one has all", lambda: shared_by(places, first))
    second = client.member(unique, [unique])
    wait_for("both have half", lambda: shared_by(places, first, second))
    first.close()
    wait_for("the other has all", lambda: shared_by(places, second))
    second.close()


def test_members_of_both_clients_share_a_group(
    client: Client, other_client: Client, unique: str, places: set[Place]
) -> None:
    first, second = client.member(unique, [unique]), other_client.member(unique, [unique])
    wait_for("both have half", lambda: shared_by(places, first, second))
    first.close()
    second.close()


def test_a_group_reads_on_where_it_committed(client: Client, unique: str, places: set[Place]) -> None:
    write(client, unique, [Record(f"{number}".encode()) for number in range(10)])
    first = client.member(unique, [unique])

    def has(member: Member, count: int) -> bool:
        member.poll()
        return len(member.records) >= count

    wait_for("all is read", lambda: has(first, 10))
    first.commit({(unique, 0): 6})
    first.close()
    second = client.member(unique, [unique])
    wait_for("the rest is read", lambda: has(second, 4))
    second.close()
    assert [record.offset for record in second.records] == [6, 7, 8, 9]


def test_a_member_takes_over_from_one_that_froze(
    client: Client, wire: Wire, unique: str, places: set[Place]
) -> None:
    member = client.member(unique, [unique])
    wait_for("it has all", lambda: shared_by(places, member))
    subscription = ProtocolMetadata(0, [unique], b"").encode()
    frozen = GroupMember(wire, unique, session_timeout_ms=1_000, protocols=[("roundrobin", subscription)])
    frozen.take_id()
    frozen.begin_join()

    def has_half() -> bool:
        member.poll()
        return len(member.assignment()) == PARTITIONS // 2

    wait_for("the other one has half", has_half)
    # Nobody sends heartbeats for the frozen one.
    wait_for("it has all again", lambda: shared_by(places, member))
    assert frozen.finish_join() == Code.NONE
    assert frozen.heartbeat() == Code.UNKNOWN_MEMBER_ID
    member.close()
