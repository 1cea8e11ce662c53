from __future__ import annotations

from strabo_topics.acls import Acl, acls
from strabo_topics.names import Names

NAMES = Names("ns")
RIGHTS = acls(NAMES)


def may(who: str, operation: str, topic: str) -> bool:
    """True when a right allows this on a topic."""
    return any(
        (right.who, right.operation, right.resource) == (who, operation, "topic")
        and (topic.startswith(right.name) if right.prefixed else topic == right.name)
        for right in RIGHTS
    )


def test_an_agent_writes_only_what_agents_write() -> None:
    every = (*NAMES.base, NAMES.role("Auction", "Solver"))
    assert {topic for topic in every if may("agent", "write", topic)} == {
        "ns.inbox",
        "ns.agents",
        "ns.deadletter",
    }


def test_an_agent_reads_neither_states_nor_histories() -> None:
    every = (*NAMES.base, NAMES.role("Auction", "Solver"))
    assert {topic for topic in every if may("agent", "read", topic)} == {
        "ns.role.Auction.Solver",
        "ns.replies",
        "ns.definitions",
    }


def test_a_worker_writes_every_topic_of_its_namespace_and_no_other() -> None:
    assert all(may("worker", "write", topic) for topic in NAMES.base)
    assert not may("worker", "write", "ns2.inbox")


def test_every_worker_may_fence_every_other() -> None:
    assert Acl("worker", "write", "transactional-id", "ns-", True) in RIGHTS


def test_a_right_reads_as_a_line() -> None:
    assert (
        str(Acl("agent", "read", "topic", "ns.role.", True)) == "agent     read              topic ns.role.*"
    )
