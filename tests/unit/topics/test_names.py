from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiokafka.partitioner import murmur2

from strabo_topics.names import NAMESPACE_PATTERN, Names, definition_key, partition_for

VECTORS = json.loads((Path(__file__).parent / "partition_vectors.json").read_text())
NAMES = Names("ns")


# The values of Kafka's own UtilsTest.testMurmur2.
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafkas_java_client(key: bytes, expected: int) -> None:
    assert murmur2(key) & 0xFFFFFFFF == expected & 0xFFFFFFFF
    assert partition_for(key, 24) == (expected & 0x7FFFFFFF) % 24


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['instance']}-{vector['partitions']}")
def test_the_published_vectors_hold(vector: dict[str, str | int]) -> None:
    assert partition_for(str(vector["instance"]), int(vector["partitions"])) == vector["partition"]


def test_text_and_its_bytes_have_the_same_partition() -> None:
    assert partition_for("Vorgang-ä", 24) == partition_for("Vorgang-ä".encode(), 24)


def test_every_topic_is_named_once_under_its_namespace() -> None:
    assert NAMES.base == (
        "ns.inbox",
        "ns.state",
        "ns.events",
        "ns.replies",
        "ns.deadletter",
        "ns.definitions",
        "ns.agents",
    )
    assert NAMES.role("Auction", "Solver") == "ns.role.Auction.Solver"


@pytest.mark.parametrize("topic", ["ns.inbox", "ns.agents", "ns.role.Auction.Solver"])
def test_a_namespace_owns_its_topics(topic: str) -> None:
    assert NAMES.owns(topic)


@pytest.mark.parametrize(
    "topic", ["ns2.inbox", "ns.other", "n.inbox", "other.ns.inbox", "ns.role", "nsXrole.A.B"]
)
def test_a_namespace_owns_no_others(topic: str) -> None:
    assert not NAMES.owns(topic)


def test_a_namespace_has_no_dot_so_that_two_never_overlap() -> None:
    assert NAMESPACE_PATTERN.fullmatch("team-a_1")
    assert not NAMESPACE_PATTERN.fullmatch("team.role")


def test_a_definitions_key_names_its_text() -> None:
    assert definition_key("Auction", "1.0", "a1b2") == "Auction@1.0@a1b2"
