"""Readers of what the workers wrote: where instances stand, and every step that they took."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from strabo_avro.codec import decode
from strabo_avro.records import OWNER_PREFIX, POSITION_KEY, DeadLetter, InstanceState, StepRecord
from strabo_topics import admin, clients
from strabo_topics.errors import TopicsRefused
from strabo_topics.names import partition_for
from strabo_topics.settings import KafkaSettings

POLL_MS = 200


async def live_instances(settings: KafkaSettings) -> list[InstanceState]:
    """Every instance that the workers hold, finished ones that are still remembered included, the latest step first.

    Raises `TopicsRefused` without the topics, `BrokerUnreachable` without a broker.
    """
    states: dict[bytes, bytes] = {}
    async with _consumer(settings, settings.names.state) as (consumer, partitions):
        async for record in _to_the_end(consumer, partitions):
            _keep(states, record)
    found = [decode(value, InstanceState) for value in states.values()]
    return sorted(found, key=lambda state: state.updated_at, reverse=True)


async def find_instance(settings: KafkaSettings, instance_id: str) -> InstanceState | None:
    """Where one instance stands; None when the workers do not know it. Reads its partition only."""
    states: dict[bytes, bytes] = {}
    async with _consumer(settings, settings.names.state) as (consumer, partitions):
        home = [partitions[partition_for(instance_id, len(partitions))]]
        async for record in _to_the_end(consumer, home):
            if record.key == instance_id.encode():
                _keep(states, record)
    return next((decode(value, InstanceState) for value in states.values()), None)


async def steps_of(settings: KafkaSettings, instance_id: str) -> list[StepRecord]:
    """Every step of one instance, refused inputs included, in order. Reads its partition only."""
    async with _consumer(settings, settings.names.events) as (consumer, partitions):
        home = [partitions[partition_for(instance_id, len(partitions))]]
        return [
            decode(record.value, StepRecord)
            async for record in _to_the_end(consumer, home)
            if record.key == instance_id.encode()
        ]


async def dead_letters_of(settings: KafkaSettings, instance_id: str) -> list[DeadLetter]:
    """What was dead-lettered of one instance, by workers and by agents, in order. Reads its partition only."""
    async with _consumer(settings, settings.names.deadletter) as (consumer, partitions):
        home = [partitions[partition_for(instance_id, len(partitions))]]
        return [
            decode(record.value, DeadLetter)
            async for record in _to_the_end(consumer, home)
            if record.key == instance_id.encode()
        ]


async def watch(
    settings: KafkaSettings, ids: Collection[str] | None = None
) -> AsyncGenerator[StepRecord, None]:
    """The steps of these instances (None: of all) as they are taken, without end.

    Of named instances the steps so far come first; of all, only those from now on.
    """
    wanted = None if ids is None else {instance_id.encode() for instance_id in ids}
    async with _consumer(settings, settings.names.events) as (consumer, partitions):
        if wanted is None:
            consumer.assign(partitions)
            await consumer.seek_to_end(*partitions)
        else:
            homes = {partitions[partition_for(key, len(partitions))] for key in wanted}
            consumer.assign(list(homes))
            await consumer.seek_to_beginning(*homes)
        while True:
            for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
                for record in records:
                    if wanted is None or record.key in wanted:
                        yield decode(record.value, StepRecord)


@asynccontextmanager
async def _consumer(
    settings: KafkaSettings, topic: str
) -> AsyncIterator[tuple[AIOKafkaConsumer, list[TopicPartition]]]:
    count = await admin.partition_count(settings, topic)
    if count is None:
        raise TopicsRefused(f"topic {topic} is not there: run `strabo topics apply` first")
    consumer = clients.consumer(settings, offset_reset="earliest", fetch_max_wait_ms=100)
    async with clients.started(settings, consumer) as started:
        yield started, [TopicPartition(topic, number) for number in range(count)]


async def _to_the_end(
    consumer: AIOKafkaConsumer, partitions: Iterable[TopicPartition]
) -> AsyncIterator[ConsumerRecord]:
    """Everything that stands in these partitions at the time of the call."""
    wanted = list(partitions)
    consumer.assign(wanted)
    await consumer.seek_to_beginning(*wanted)
    ends = await consumer.end_offsets(wanted)
    left = {partition for partition in wanted if ends[partition] > 0}
    while left:
        for records in (await consumer.getmany(*left, timeout_ms=POLL_MS)).values():
            for record in records:
                yield record
        left = {partition for partition in left if await consumer.position(partition) < ends[partition]}


def _keep(states: dict[bytes, bytes], record: ConsumerRecord) -> None:
    if record.key == POSITION_KEY or record.key.startswith(OWNER_PREFIX):
        return
    if record.value is None:
        states.pop(record.key, None)
    else:
        states[record.key] = record.value
