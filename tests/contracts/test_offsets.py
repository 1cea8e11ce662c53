"""Positions of groups: committed, fetched, refused and forgotten."""

from __future__ import annotations

import pytest
from aiokafka.protocol.commit import OffsetFetchRequest

from tests.contracts.client import Client, wait_for
from tests.contracts.group_member import GroupMember, commit_without_membership, committed, settle
from tests.contracts.wire import Code, Log, Wire, create_topic, delete_topic, group_description


@pytest.fixture
def log(wire: Wire, topic: str) -> Log:
    """An empty partition."""
    return Log(wire, topic)


def test_a_group_without_positions_is_answered_with_minus_1(wire: Wire, unique: str, log: Log) -> None:
    assert committed(wire, unique, log) == (-1, "")


def test_a_committed_position_is_fetched_with_its_note(wire: Wire, unique: str, log: Log) -> None:
    assert commit_without_membership(wire, unique, log, 17, "where I am") == Code.NONE
    assert committed(wire, unique, log) == (17, "where I am")


def test_a_later_commit_replaces_an_earlier_one_even_backwards(wire: Wire, unique: str, log: Log) -> None:
    commit_without_membership(wire, unique, log, 17, "note")
    commit_without_membership(wire, unique, log, 3)
    assert committed(wire, unique, log) == (3, "")


def test_positions_beyond_the_log_are_taken(wire: Wire, unique: str, log: Log) -> None:
    assert commit_without_membership(wire, unique, log, 1_000_000) == Code.NONE
    assert committed(wire, unique, log)[0] == 1_000_000


def test_groups_have_positions_of_their_own(wire: Wire, unique: str, log: Log) -> None:
    commit_without_membership(wire, unique + "-1", log, 1)
    commit_without_membership(wire, unique + "-2", log, 2)
    assert committed(wire, unique + "-1", log)[0] == 1
    assert committed(wire, unique + "-2", log)[0] == 2


def test_all_positions_of_a_group_are_fetched_at_once(wire: Wire, unique: str) -> None:
    create_topic(wire, f"{unique}-a", partitions=2)
    create_topic(wire, f"{unique}-b")
    for topic, partition in ((f"{unique}-a", 0), (f"{unique}-a", 1), (f"{unique}-b", 0)):
        commit_without_membership(wire, unique, Log(wire, topic, partition), 5 + partition)
    answer = wire.ask(OffsetFetchRequest(unique, None))
    found = {(topic, part[0]): part[1] for topic, parts in answer.topics for part in parts}
    assert found == {(f"{unique}-a", 0): 5, (f"{unique}-a", 1): 6, (f"{unique}-b", 0): 5}


def test_a_position_in_an_unknown_topic_is_refused(wire: Wire, unique: str) -> None:
    code = commit_without_membership(wire, unique, Log(wire, unique + "-none"), 1)
    assert code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_position_in_an_unknown_partition_is_refused(wire: Wire, unique: str, topic: str) -> None:
    code = commit_without_membership(wire, unique, Log(wire, topic, 9), 1)
    assert code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_note_that_is_too_long_is_refused(wire: Wire, unique: str, log: Log) -> None:
    assert commit_without_membership(wire, unique, log, 1, "x" * 4_096) == Code.NONE
    assert commit_without_membership(wire, unique, log, 2, "x" * 4_097) == Code.OFFSET_METADATA_TOO_LARGE
    assert committed(wire, unique, log)[0] == 1


def test_a_stranger_cannot_commit_for_a_group_with_members(wire: Wire, unique: str, log: Log) -> None:
    settle(GroupMember(wire, unique))
    assert commit_without_membership(wire, unique, log, 1) == Code.UNKNOWN_MEMBER_ID


def test_positions_outlive_the_members(wire: Wire, unique: str, log: Log) -> None:
    member = GroupMember(wire, unique)
    settle(member)
    assert member.commit(log, 8) == Code.NONE
    member.leave()
    wait_for("the group is empty", lambda: group_description(wire, unique)[2] == "Empty")
    assert committed(wire, unique, log)[0] == 8


def test_positions_in_a_deleted_topic_are_forgotten(wire: Wire, unique: str, log: Log) -> None:
    commit_without_membership(wire, unique, log, 8)
    delete_topic(wire, log.topic)
    wait_for("the position is gone", lambda: committed(wire, unique, log)[0] == -1)


def test_what_one_client_commits_the_other_finds(
    client: Client, other_client: Client, unique: str, log: Log
) -> None:
    place = (log.topic, 0)
    member = client.member(unique, [log.topic])

    def assigned() -> bool:
        member.poll()
        return member.assignment() == {place}

    wait_for("the member has the partition", assigned)
    member.commit({place: 42})
    member.close()
    assert other_client.committed(unique, [place]) == {place: 42}
