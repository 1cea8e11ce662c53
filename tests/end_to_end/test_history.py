"""What the worker writes on a real broker, read by those who ask where instances stand and how they got there."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from strabo_runtime import history
from strabo_runtime.worker import Worker, WorkerSettings
from strabo_topics import admin
from strabo_topics.errors import TopicsRefused
from strabo_topics.settings import KafkaSettings
from tests.chaos.records import Sender, envelope, publish
from tests.chaos.tally import PROTOCOL_FILE
from tests.support.services import BrokerService

PARTITIONS = 4


@pytest.fixture
async def settings(broker: BrokerService) -> AsyncIterator[KafkaSettings]:
    """A namespace of its own, with the tally protocol published."""
    made = KafkaSettings.load(
        kafka_bootstrap_servers=broker.bootstrap,
        namespace=f"history-{uuid.uuid4().hex[:8]}",
        partitions=PARTITIONS,
    )
    await admin.ensure(made)
    await publish(made, PROTOCOL_FILE)
    yield made
    await admin.delete_namespace(made)


@asynccontextmanager
async def working(settings: KafkaSettings) -> AsyncIterator[None]:
    worker = Worker(
        WorkerSettings.load(**settings.model_dump(include={"kafka_bootstrap_servers", "namespace"}))
    )
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await running


async def play(settings: KafkaSettings, instance_id: str, *numbers: int) -> None:
    """Start a tally with the goal 10 and add to it."""
    now = time.time_ns() // 1_000_000
    async with Sender(settings, PARTITIONS) as sender:
        opened = envelope(instance_id, "open", "Open", "caller", {"goal": 10}, now, start_of="Tally")
        await sender.send(opened)
        for place, number in enumerate(numbers):
            await sender.send(envelope(instance_id, f"add-{place}", "Add", "caller", {"number": number}, now))


async def first_steps(settings: KafkaSettings, instance_id: str, count: int) -> list[str]:
    """The verdicts of the first steps, as they come."""
    found = []
    async with asyncio.timeout(30):
        async for one in history.watch(settings, [instance_id]):
            if one.offset >= 0:
                found.append(one.verdict)
            if len(found) == count:
                break
    return found


async def test_the_steps_of_an_instance_are_read_in_order_refusals_included(settings: KafkaSettings) -> None:
    async with working(settings):
        await play(settings, "one", 3, 12, 4)
        assert await first_steps(settings, "one", 4) == ["taken", "taken", "rejected", "taken"]

    steps = [one for one in await history.steps_of(settings, "one") if one.offset >= 0]
    assert [one.verdict for one in steps] == ["taken", "taken", "rejected", "taken"]
    assert await history.steps_of(settings, "nobody") == []


async def test_where_instances_stand_is_read_with_the_latest_first(settings: KafkaSettings) -> None:
    async with working(settings):
        await play(settings, "ended", 5, 5)
        await first_steps(settings, "ended", 3)
        await play(settings, "goes-on", 5)
        await first_steps(settings, "goes-on", 2)

    found = await history.live_instances(settings)

    assert [(one.instance_id, one.status) for one in found] == [("goes-on", "running"), ("ended", "success")]
    one = await history.find_instance(settings, "ended")
    assert one is not None
    assert (one.state, one.protocol) == ("Reached", "Tally")
    assert await history.find_instance(settings, "nobody") is None


async def test_without_topics_a_reader_is_told_what_to_do(broker: BrokerService) -> None:
    nowhere = KafkaSettings.load(kafka_bootstrap_servers=broker.bootstrap, namespace="nowhere")

    with pytest.raises(TopicsRefused, match="strabo topics apply"):
        await history.live_instances(nowhere)
