"""Reading and writing whole topics, by plain aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from strabo_avro.codec import encode
from strabo_avro.records import Envelope
from strabo_runtime.language import load
from strabo_runtime.publishing import publish_all
from strabo_topics import admin
from strabo_topics.names import partition_for
from strabo_topics.settings import KafkaSettings


async def read_all(settings: KafkaSettings, topic: str) -> list[ConsumerRecord]:
    """Every committed record that stands in a topic now, partition by partition, in order."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.kafka_bootstrap_servers,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
    )
    await consumer.start()
    try:
        count = await admin.partition_count(settings, topic)
        partitions = [TopicPartition(topic, one) for one in range(count or 0)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        found: list[ConsumerRecord] = []
        left = {one for one in partitions if ends[one] > 0}
        while left:
            for records in (await consumer.getmany(*left, timeout_ms=200)).values():
                found += records
            left = {one for one in left if await consumer.position(one) < ends[one]}
        return sorted(found, key=lambda record: (record.partition, record.offset))
    finally:
        await consumer.stop()


async def publish(settings: KafkaSettings, *paths: Path) -> None:
    """Publish protocol files."""
    texts = []
    for path in paths:
        loaded = load(path.read_text(), filename=path.name)
        assert loaded.machine is not None, loaded.diagnostics
        texts.append((loaded.machine, loaded.source))
    await publish_all(settings, texts)


class Sender:
    """Writes envelopes to the inbox."""

    def __init__(self, settings: KafkaSettings, partitions: int) -> None:
        self._topic = settings.names.inbox
        self._partitions = partitions
        self._producer = AIOKafkaProducer(
            bootstrap_servers=settings.kafka_bootstrap_servers, enable_idempotence=True, acks="all"
        )

    async def __aenter__(self) -> Sender:
        await self._producer.start()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._producer.stop()

    async def send(self, envelope: Envelope) -> asyncio.Future[object]:
        """Hand an envelope over; the result resolves once Kafka has it."""
        key = envelope.instance_id.encode()
        partition = partition_for(key, self._partitions)
        future: asyncio.Future[object] = await self._producer.send(
            self._topic, encode(envelope), key=key, partition=partition
        )
        return future


def envelope(
    instance_id: str,
    message_id: str,
    type: str,  # noqa: A002 - as the record has it
    sender: str,
    payload: Mapping[str, object],
    sent_at: int,
    *,
    start_of: str | None = None,
    roles: Mapping[str, list[str]] | None = None,
    in_reply_to: str | None = None,
    protocol: str = "",
    wants_reply: bool = False,
) -> Envelope:
    """A message, or a start when `start_of` names a protocol."""
    return Envelope(
        id=message_id,
        kind="message" if start_of is None else "start",
        type=type,
        protocol=start_of or protocol,
        instance_id=instance_id,
        sender=sender,
        in_reply_to=in_reply_to,
        sent_at=sent_at,
        payload=orjson.dumps(payload),
        start=None if start_of is None else orjson.dumps({"roles": roles or {}}),
        wants_reply=wants_reply,
    )
