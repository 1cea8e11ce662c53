"""A namespace for tests of agents: published protocol, and the worker's side of the conversation played by the test."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from strabo_avro import headers
from strabo_avro.codec import decode, encode
from strabo_avro.records import DeadLetter, Envelope
from strabo_topics import admin, definitions
from strabo_topics.clients import consumer, producer
from strabo_topics.names import partition_for
from strabo_topics.settings import KafkaSettings

PROTOCOL = "Auction"
PARTITIONS = 4


class AgentNamespace:
    """Delivers to agents as a worker would, and reads what they send."""

    def __init__(self, settings: KafkaSettings, sender: AIOKafkaProducer) -> None:
        self.settings = settings
        self._sender = sender
        self._inbox: AIOKafkaConsumer | None = None
        self.seen: list[Envelope] = []

    async def deliver(
        self,
        type: str,  # noqa: A002 - the field's name
        payload: Mapping[str, object],
        *,
        to: Sequence[str],
        id: str,  # noqa: A002 - the field's name
        instance_id: str = "i1",
        role: str = "Solver",
    ) -> None:
        """Put a message on a role's topic."""
        envelope = Envelope(
            id=id,
            kind="delivery",
            type=type,
            protocol=PROTOCOL,
            version="1.0",
            instance_id=instance_id,
            sender="engine:Coordinator",
            sender_role="Coordinator",
            to=tuple(to),
            sent_at=1_893_456_000_000,
            payload=orjson.dumps(payload),
        )
        await self._put(self.settings.names.role(PROTOCOL, role), envelope, to)

    async def answer(self, message: Envelope, type: str, facts: Mapping[str, object]) -> None:  # noqa: A002
        """Put the answer to a message, or an outcome, on the replies topic."""
        kind = "outcome" if type == "Outcome" else "reply"
        envelope = Envelope(
            id=f"{message.instance_id}:outcome" if kind == "outcome" else f"{message.id}:{type}",
            kind=kind,
            type=type,
            protocol=PROTOCOL,
            instance_id=message.instance_id,
            sender="strabo",
            to=(message.sender,),
            in_reply_to=message.id,
            sent_at=1_893_456_000_000,
            payload=orjson.dumps(facts),
        )
        await self._put(self.settings.names.replies, envelope, (message.sender,))

    async def sent(self, count: int, timeout: float = 30.0) -> list[Envelope]:
        """The first `count` records of the inbox that nobody asked for yet, in the order of reading."""
        if self._inbox is None:
            self._inbox = await self._reader(self.settings.names.inbox)
        found: list[Envelope] = []
        async with asyncio.timeout(timeout):
            while len(found) < count:
                for records in (await self._inbox.getmany(timeout_ms=100)).values():
                    self.seen += [decode(record.value, Envelope) for record in records]
                while self.seen and len(found) < count:
                    found.append(self.seen.pop(0))
        return found

    async def everything_sent(self) -> list[Envelope]:
        """Every record of the inbox up to its present end."""
        return [decode(value, Envelope) for value in await self._all(self.settings.names.inbox)]

    async def dead_letters(self) -> list[DeadLetter]:
        """Every dead letter up to now."""
        return [decode(value, DeadLetter) for value in await self._all(self.settings.names.deadletter)]

    async def committed(self, agent_id: str, topic: str) -> list[int | None]:
        """The positions of the agent's group in a topic, by partition."""
        reader = consumer(self.settings, group=f"{self.settings.namespace}.agent.{agent_id}")
        await reader.start()
        try:
            partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
            reader.assign(partitions)
            return [await reader.committed(partition) for partition in partitions]
        finally:
            await reader.stop()

    async def close(self) -> None:
        if self._inbox is not None:
            await self._inbox.stop()

    async def _put(self, topic: str, envelope: Envelope, to: Sequence[str]) -> None:
        raw = headers.build(envelope.id, envelope.type, to=to)
        partition = partition_for(envelope.instance_id, PARTITIONS)
        key = envelope.instance_id.encode()
        await self._sender.send_and_wait(topic, encode(envelope), key=key, partition=partition, headers=raw)

    async def _reader(self, topic: str) -> AIOKafkaConsumer:
        reader = consumer(self.settings, offset_reset="earliest")
        await reader.start()
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        reader.assign(partitions)
        await reader.seek_to_beginning(*partitions)
        return reader

    async def _all(self, topic: str) -> list[bytes]:
        reader = await self._reader(topic)
        try:
            ends = await reader.end_offsets(reader.assignment())
            values: list[bytes] = []
            while any([await reader.position(each) < ends[each] for each in ends]):
                for records in (await reader.getmany(timeout_ms=100)).values():
                    values += [record.value for record in records]
            return values
        finally:
            await reader.stop()


@asynccontextmanager
async def agent_namespace(bootstrap: str) -> AsyncIterator[AgentNamespace]:
    """A fresh namespace with the protocol `Auction`, roles Client and Solver."""
    settings = KafkaSettings.load(
        namespace=f"agents-{uuid.uuid4().hex[:12]}", kafka_bootstrap_servers=bootstrap, partitions=PARTITIONS
    )
    await admin.ensure(settings)
    await definitions.publish(
        settings,
        name=PROTOCOL,
        version="1.0",
        hash="0" * 16,
        text="protocol: Auction",
        schemas=b"{}",
        roles=["Client", "Solver"],
    )
    sender = producer(settings)
    await sender.start()
    namespace = AgentNamespace(settings, sender)
    try:
        yield namespace
    finally:
        await namespace.close()
        await sender.stop()
        await admin.delete_namespace(settings)
