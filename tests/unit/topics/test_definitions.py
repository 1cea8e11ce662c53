"""On both brokers: a name and version stands for one text."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from strabo_avro.codec import encode
from strabo_avro.records import Agent, Definition, Plays
from strabo_topics import admin, clients, definitions
from strabo_topics.agents import read_agents
from strabo_topics.errors import TopicsRefused, VersionConflict
from strabo_topics.reading import read_compacted
from strabo_topics.settings import KafkaSettings

AUCTION: dict[str, Any] = {
    "name": "Auction",
    "version": "1.0",
    "hash": "hash-1",
    "text": "protocol: Auction",
    "schemas": b"{}",
    "roles": ["Client", "Solver"],
}
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
async def made(namespace: KafkaSettings) -> KafkaSettings:
    await admin.ensure(namespace)
    return namespace


async def test_a_published_protocol_can_be_read_and_its_roles_have_topics(made: KafkaSettings) -> None:
    assert await definitions.publish(made, **AUCTION)
    (read,) = (await definitions.read_definitions(made)).items()
    key, definition = read
    assert key == "Auction@1.0@hash-1"
    assert (definition.text, definition.roles, definition.withdrawn) == (
        AUCTION["text"],
        ("Client", "Solver"),
        False,
    )
    assert await admin.partition_count(made, made.names.role("Auction", "Solver")) == 4
    assert (await definitions.plan_namespace(made)).settled


async def test_the_same_text_again_changes_nothing(made: KafkaSettings) -> None:
    await definitions.publish(made, **AUCTION)
    before = await definitions.read_definitions(made)
    assert not await definitions.publish(made, **AUCTION)
    assert await definitions.read_definitions(made) == before


async def test_another_text_for_the_same_version_is_a_conflict(made: KafkaSettings) -> None:
    await definitions.publish(made, **AUCTION)
    with pytest.raises(
        VersionConflict, match=r"Auction 1.0 is published with another text: its hash is hash-1"
    ):
        await definitions.publish(made, **{**AUCTION, "hash": "hash-2"})
    assert len(await definitions.read_definitions(made)) == 1


async def test_a_new_version_stands_beside_the_old_one(made: KafkaSettings) -> None:
    await definitions.publish(made, **AUCTION)
    assert await definitions.publish(made, **{**AUCTION, "version": "1.1", "hash": "hash-2"})
    assert set(await definitions.read_definitions(made)) == {"Auction@1.0@hash-1", "Auction@1.1@hash-2"}


async def test_a_withdrawn_text_makes_room_and_may_come_back(made: KafkaSettings) -> None:
    await definitions.publish(made, **AUCTION)
    assert await definitions.withdraw(made, "Auction", "1.0", "hash-1")
    assert await definitions.publish(made, **{**AUCTION, "hash": "hash-2"})
    assert await definitions.withdraw(made, "Auction", "1.0", "hash-2")
    assert await definitions.publish(made, **AUCTION)
    found = await definitions.read_definitions(made)
    assert {key: one.withdrawn for key, one in found.items()} == {
        "Auction@1.0@hash-1": False,
        "Auction@1.0@hash-2": True,
    }


async def test_what_was_never_published_cannot_be_withdrawn(made: KafkaSettings) -> None:
    assert not await definitions.withdraw(made, "Auction", "1.0", "hash-1")


async def test_a_deadline_longer_than_the_roles_keep_records_is_refused_at_publishing(
    made: KafkaSettings,
) -> None:
    with pytest.raises(TopicsRefused, match="STRABO_ROLE_RETENTION"):
        await definitions.publish(made, **AUCTION, longest_deadline=8 * DAY_MS)
    assert await definitions.read_definitions(made) == {}


async def test_without_the_base_topics_publishing_says_what_to_do(namespace: KafkaSettings) -> None:
    with pytest.raises(TopicsRefused, match="run `strabo topics apply` first"):
        await definitions.publish(namespace, **AUCTION)


async def test_a_compacted_topic_is_read_to_its_end_with_the_last_value_of_each_key(
    made: KafkaSettings,
) -> None:
    producer = clients.transactional_producer(made, f"{made.namespace}-t")
    await producer.start()
    try:
        for values in ({b"a": b"1", b"b": b"1"}, {b"a": b"2", b"b": None}):
            await producer.begin_transaction()
            for key, value in values.items():
                await (await producer.send(made.names.state, value, key=key, partition=ord(key) % 4))
            await producer.commit_transaction()
        await producer.begin_transaction()
        await (await producer.send(made.names.state, b"never", key=b"a", partition=ord("a") % 4))
        await producer.abort_transaction()
    finally:
        await producer.stop()
    assert await read_compacted(made, made.names.state) == {b"a": b"2"}


async def test_the_agent_directory_is_read(made: KafkaSettings) -> None:
    agent = Agent(agent_id="s", plays=(Plays(protocol="A", role="B"),), heartbeat=2, started_at=1)
    producer = clients.producer(made)
    await producer.start()
    await producer.send_and_wait(made.names.agents, encode(agent), key=b"s")
    await producer.stop()
    assert await read_agents(made) == {"s": agent}


def test_a_roles_longest_deadline_is_that_of_all_versions_of_its_protocol() -> None:
    settings = KafkaSettings.load(namespace="ns")
    published = [
        Definition(
            name="A", version=str(n), hash="h", text="", published_at=0, roles=("X",), longest_deadline=wait
        )
        for n, wait in enumerate((1000, 5000, None))
    ]
    assert definitions.role_deadlines(settings, published) == {"ns.role.A.X": timedelta(seconds=5)}
