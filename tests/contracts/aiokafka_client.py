"""aiokafka behind the suite's interface."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import aiokafka
from aiokafka.errors import BrokerResponseError, ProducerFenced

from tests.contracts.client import PATIENCE_S, Member, Place, Record, RefusedError, Transactions, Writer
from tests.contracts.wire import Code

Result = TypeVar("Result")


class AiokafkaClient:
    """aiokafka, its event loop in a thread of its own."""

    name = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start work on the loop and do not wait."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        with refusals():
            return self.begin(work).result(PATIENCE_S * 2)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def writer(self, *, acks: str = "all", compression: str = "none", idempotent: bool = False) -> Writer:
        return AiokafkaWriter(self, acks, compression, idempotent)

    def read(
        self, topic: str, *, partition: int = 0, start: int = 0, isolation: str = "read_committed"
    ) -> list[Record]:
        async def work() -> list[Record]:
            place = aiokafka.TopicPartition(topic, partition)
            consumer = aiokafka.AIOKafkaConsumer(
                bootstrap_servers=self.bootstrap, isolation_level=isolation, auto_offset_reset="none"
            )
            found: list[Record] = []
            async with consumer:
                consumer.assign([place])
                consumer.seek(place, start)
                end = (await consumer.end_offsets([place]))[place]
                while await consumer.position(place) < end:
                    got = await consumer.getmany(place, timeout_ms=200)
                    found += [read_by_aiokafka(message) for message in got.get(place, [])]
            return found

        return self.run(work())

    def transactions(self, transactional_id: str, timeout_ms: int = 20_000) -> Transactions:
        return AiokafkaTransactions(self, transactional_id, timeout_ms)

    def member(
        self,
        group: str,
        topics: list[str],
        *,
        instance_id: str | None = None,
        session_timeout_ms: int = 6_000,
    ) -> Member:
        return AiokafkaMember(self, group, topics, instance_id, session_timeout_ms)

    def committed(self, group: str, places: Iterable[Place]) -> dict[Place, int | None]:
        async def work() -> dict[Place, int | None]:
            consumer = aiokafka.AIOKafkaConsumer(
                bootstrap_servers=self.bootstrap, group_id=group, enable_auto_commit=False
            )
            async with consumer:
                wanted = [aiokafka.TopicPartition(*place) for place in places]
                consumer.assign(wanted)
                return {(one.topic, one.partition): await consumer.committed(one) for one in wanted}

        return self.run(work())


class AiokafkaWriter:
    """A producer of aiokafka."""

    def __init__(self, client: AiokafkaClient, acks: str, compression: str, idempotent: bool) -> None:
        self._client = client

        async def start() -> aiokafka.AIOKafkaProducer:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=client.bootstrap,
                acks="all" if acks == "all" else int(acks),
                compression_type=None if compression == "none" else compression,
                enable_idempotence=idempotent,
                max_request_size=8 << 20,
                max_batch_size=8 << 20,
                linger_ms=5,
            )
            await producer.start()
            return producer

        self._producer = client.run(start())

    def write(self, topic: str, records: Sequence[Record]) -> list[Record]:
        async def work() -> list[Any]:
            sent = [await send(self._producer, topic, record) for record in records]
            return await asyncio.gather(*sent)

        answers = self._client.run(work())
        return [
            replace(
                record,
                timestamp=answer.timestamp,
                timestamp_type=answer.timestamp_type,
                partition=answer.partition,
                offset=answer.offset,
            )
            for record, answer in zip(records, answers, strict=True)
            if answer is not None
        ]

    def close(self) -> None:
        self._client.run(self._producer.stop())


class AiokafkaTransactions:
    """A transactional producer of aiokafka."""

    def __init__(self, client: AiokafkaClient, transactional_id: str, timeout_ms: int) -> None:
        self._client = client

        async def start() -> aiokafka.AIOKafkaProducer:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=client.bootstrap,
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
            )
            await producer.start()
            return producer

        self._producer = client.run(start())

    def begin(self) -> None:
        self._client.run(self._producer.begin_transaction())

    def write(self, topic: str, records: Iterable[Record]) -> None:
        async def work() -> None:
            sent = [await send(self._producer, topic, record) for record in records]
            await asyncio.gather(*sent)

        self._client.run(work())

    def commit_offsets(self, group: str, offsets: Mapping[Place, int]) -> None:
        wanted = {aiokafka.TopicPartition(*place): offset for place, offset in offsets.items()}
        self._client.run(self._producer.send_offsets_to_transaction(wanted, group))

    def commit(self) -> None:
        self._client.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._client.run(self._producer.abort_transaction())

    def close(self) -> None:
        self._client.run(self._producer.stop())


class AiokafkaMember:
    """A group consumer of aiokafka."""

    def __init__(
        self,
        client: AiokafkaClient,
        group: str,
        topics: list[str],
        instance_id: str | None,
        session_timeout_ms: int,
    ) -> None:
        self._client = client
        self.records: list[Record] = []

        async def start() -> aiokafka.AIOKafkaConsumer:
            consumer = aiokafka.AIOKafkaConsumer(
                *topics,
                bootstrap_servers=client.bootstrap,
                group_id=group,
                group_instance_id=instance_id,
                session_timeout_ms=session_timeout_ms,
                heartbeat_interval_ms=200,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level="read_committed",
            )
            await consumer.start()
            return consumer

        # The start ends with the first assignment, for which other members may have to be polled: nobody waits here.
        self._starting = client.begin(start())

    def poll(self) -> None:
        if not self._starting.done():
            time.sleep(0.05)
            return
        found = self._client.run(self._consumer.getmany(timeout_ms=50))
        self.records += [read_by_aiokafka(message) for part in found.values() for message in part]

    def assignment(self) -> set[Place]:
        if not self._starting.done():
            return set()
        return {(place.topic, place.partition) for place in self._consumer.assignment()}

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = {aiokafka.TopicPartition(*place): offset for place, offset in offsets.items()}
        self._client.run(self._consumer.commit(wanted))

    def close(self) -> None:
        self._client.run(self._consumer.stop())

    @property
    def _consumer(self) -> aiokafka.AIOKafkaConsumer:
        return self._starting.result(PATIENCE_S)


async def send(producer: aiokafka.AIOKafkaProducer, topic: str, record: Record) -> asyncio.Future[Any]:
    """Queue a record; the future has the broker's answer."""
    sent: asyncio.Future[Any] = await producer.send(
        topic,
        record.value,
        record.key,
        partition=record.partition,
        timestamp_ms=record.timestamp,
        headers=list(record.headers),
    )
    return sent


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the client's errors into `RefusedError`."""
    try:
        yield
    except ProducerFenced as error:
        # aiokafka's own class, without the code that the broker gave.
        raise RefusedError(Code.PRODUCER_FENCED, str(error)) from error
    except BrokerResponseError as error:
        raise RefusedError(error.errno, str(error)) from error


def read_by_aiokafka(message: Any) -> Record:
    return Record(
        message.value,
        message.key,
        tuple(message.headers),
        message.timestamp,
        message.timestamp_type,
        message.partition,
        message.offset,
    )
