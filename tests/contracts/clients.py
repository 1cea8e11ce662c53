"""One blocking interface to the two independent clients, aiokafka and confluent-kafka, for tests of both."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import aiokafka
import confluent_kafka
from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.errors import ProducerFenced

from tests.contracts.wire import Code

PATIENCE_S = 30.0
Result = TypeVar("Result")
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Record:
    """A record to write, or one read: then it has an offset and a timestamp."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    timestamp_type: int | None = None
    partition: int = 0
    offset: int | None = None


class RefusedError(Exception):
    """The broker refused what a client asked; `code` is Kafka's error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"error {code}: {text}")
        self.code = code


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the errors of either client into `RefusedError`."""
    try:
        yield
    except AiokafkaError as error:
        # aiokafka makes up an error without a code of its own for a fenced producer.
        code = Code.PRODUCER_FENCED if isinstance(error, ProducerFenced) else error.errno
        raise RefusedError(code, str(error)) from error
    except confluent_kafka.KafkaException as error:
        raise RefusedError(error.args[0].code(), error.args[0].str()) from error


def wait_for(what: str, condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait until a condition holds; fails with `what` did not happen."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen in {patience_s:g} s: {what}")
        time.sleep(0.02)


class Transactions(Protocol):
    """A transactional producer."""

    def begin(self) -> None: ...
    def write(self, topic: str, records: Iterable[Record]) -> None:
        """Send within the transaction; returns when the broker has them all."""

    def commit_offsets(self, group: str, offsets: Mapping[Place, int]) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Member(Protocol):
    """A consumer in a group."""

    records: list[Record]

    def poll(self) -> None:
        """Let it read and take part in the group for a moment."""

    def assignment(self) -> set[Place]: ...
    def commit(self, offsets: Mapping[Place, int]) -> None: ...
    def close(self) -> None:
        """Leave the group in good order; a static member keeps its place."""


class Client(Protocol):
    """What the suite asks of a client library."""

    name: str

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Record]:
        """Write records; returns them with what the broker said of offset and time (not with acks 0)."""

    def read(
        self, topic: str, *, partition: int = 0, start: int = 0, isolation: str = "read_committed"
    ) -> list[Record]:
        """All records from an offset to the end that a reader of this isolation has now."""

    def transactions(self, transactional_id: str, timeout_ms: int = 20_000) -> Transactions: ...

    def member(
        self,
        group: str,
        topics: list[str],
        *,
        instance_id: str | None = None,
        session_timeout_ms: int = 6_000,
    ) -> Member: ...

    def committed(self, group: str, places: Iterable[Place]) -> dict[Place, int | None]:
        """The positions that a group has committed."""

    def close(self) -> None: ...


class AiokafkaClient:
    """aiokafka, its event loop in a thread of its own."""

    name = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        with refusals():
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S * 2)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Record]:
        async def work() -> list[Record]:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                acks="all" if acks == "all" else int(acks),
                compression_type=None if compression == "none" else compression,
                enable_idempotence=idempotent,
                max_request_size=8 << 20,
                max_batch_size=8 << 20,
                linger_ms=5,
            )
            async with producer:
                sent = [await self.send(producer, topic, record) for record in records]
                answers = await asyncio.gather(*sent)
            return [
                Record(
                    record.value,
                    record.key,
                    record.headers,
                    answer.timestamp,
                    answer.timestamp_type,
                    answer.partition,
                    answer.offset,
                )
                for record, answer in zip(records, answers, strict=True)
                if answer is not None
            ]

        return self.run(work())

    @staticmethod
    async def send(producer: aiokafka.AIOKafkaProducer, topic: str, record: Record) -> asyncio.Future[Any]:
        sent: asyncio.Future[Any] = await producer.send(
            topic,
            record.value,
            record.key,
            partition=record.partition,
            timestamp_ms=record.timestamp,
            headers=list(record.headers),
        )
        return sent

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
            sent = [await self._client.send(self._producer, topic, record) for record in records]
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

        self._consumer = client.run(start())

    def poll(self) -> None:
        found = self._client.run(self._consumer.getmany(timeout_ms=50))
        self.records += [read_by_aiokafka(message) for part in found.values() for message in part]

    def assignment(self) -> set[Place]:
        return {(place.topic, place.partition) for place in self._consumer.assignment()}

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = {aiokafka.TopicPartition(*place): offset for place, offset in offsets.items()}
        self._client.run(self._consumer.commit(wanted))

    def close(self) -> None:
        self._client.run(self._consumer.stop())


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


class ConfluentClient:
    """confluent-kafka, which is librdkafka."""

    name = "confluent"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._common: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}

    def close(self) -> None:
        """Nothing is kept between calls."""

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Record]:
        producer = confluent_kafka.Producer(
            {
                **self._common,
                "acks": acks,
                "compression.type": compression,
                "enable.idempotence": idempotent,
                "message.max.bytes": 8 << 20,
                "linger.ms": 5,
            }
        )
        written = produce_by_confluent(producer, topic, records)
        return [] if acks == "0" else written

    def read(
        self, topic: str, *, partition: int = 0, start: int = 0, isolation: str = "read_committed"
    ) -> list[Record]:
        consumer = confluent_kafka.Consumer(
            {
                **self._common,
                "group.id": "unused",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )
        found: list[Record] = []
        try:
            consumer.assign([confluent_kafka.TopicPartition(topic, partition, start)])
            deadline = time.monotonic() + PATIENCE_S
            while time.monotonic() < deadline:
                message = consumer.poll(0.2)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    found.append(read_by_confluent(message))
                elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    return found
                else:
                    raise RefusedError(error.code(), error.str())
            raise TimeoutError(f"the end of {topic} [{partition}] was not reached")
        finally:
            consumer.close()

    def transactions(self, transactional_id: str, timeout_ms: int = 20_000) -> Transactions:
        return ConfluentTransactions(self._common, transactional_id, timeout_ms)

    def member(
        self,
        group: str,
        topics: list[str],
        *,
        instance_id: str | None = None,
        session_timeout_ms: int = 6_000,
    ) -> Member:
        return ConfluentMember(self._common, group, topics, instance_id, session_timeout_ms)

    def committed(self, group: str, places: Iterable[Place]) -> dict[Place, int | None]:
        consumer = confluent_kafka.Consumer({**self._common, "group.id": group})
        try:
            wanted = [confluent_kafka.TopicPartition(*place) for place in places]
            with refusals():
                found = consumer.committed(wanted, PATIENCE_S)
            return {(one.topic, one.partition): one.offset if one.offset >= 0 else None for one in found}
        finally:
            consumer.close()


class ConfluentTransactions:
    """A transactional producer of confluent-kafka."""

    def __init__(self, common: dict[str, Any], transactional_id: str, timeout_ms: int) -> None:
        self._common = common
        self._producer = confluent_kafka.Producer(
            {
                **common,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
            }
        )
        with refusals():
            self._producer.init_transactions(PATIENCE_S)

    def begin(self) -> None:
        with refusals():
            self._producer.begin_transaction()

    def write(self, topic: str, records: Iterable[Record]) -> None:
        produce_by_confluent(self._producer, topic, list(records))

    def commit_offsets(self, group: str, offsets: Mapping[Place, int]) -> None:
        consumer = confluent_kafka.Consumer({**self._common, "group.id": group})
        try:
            wanted = [confluent_kafka.TopicPartition(*place, offset) for place, offset in offsets.items()]
            with refusals():
                metadata = consumer.consumer_group_metadata()
                self._producer.send_offsets_to_transaction(wanted, metadata, PATIENCE_S)
        finally:
            consumer.close()

    def commit(self) -> None:
        with refusals():
            self._producer.commit_transaction(PATIENCE_S)

    def abort(self) -> None:
        with refusals():
            self._producer.abort_transaction(PATIENCE_S)

    def close(self) -> None:
        self._producer.purge()


class ConfluentMember:
    """A group consumer of confluent-kafka."""

    def __init__(
        self,
        common: dict[str, Any],
        group: str,
        topics: list[str],
        instance_id: str | None,
        session_timeout_ms: int,
    ) -> None:
        self.records: list[Record] = []
        settings = {
            **common,
            "group.id": group,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": 200,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            # The assignors that aiokafka has too, so that both can share a group.
            "partition.assignment.strategy": "roundrobin",
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        self._consumer = confluent_kafka.Consumer(settings)
        self._consumer.subscribe(topics)

    def poll(self) -> None:
        message = self._consumer.poll(0.05)
        if message is None:
            return
        error = message.error()
        if error is not None:
            raise RefusedError(error.code(), error.str())
        self.records.append(read_by_confluent(message))

    def assignment(self) -> set[Place]:
        return {(place.topic, place.partition) for place in self._consumer.assignment()}

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = [confluent_kafka.TopicPartition(*place, offset) for place, offset in offsets.items()]
        with refusals():
            self._consumer.commit(offsets=wanted, asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


def produce_by_confluent(
    producer: confluent_kafka.Producer, topic: str, records: Sequence[Record]
) -> list[Record]:
    """Produce and wait; returns the records with offset and time, raises for the first that was refused."""
    written: list[Record] = []
    refused: list[RefusedError] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            refused.append(RefusedError(error.code(), error.str()))
        else:
            written.append(read_by_confluent(message))

    with refusals():
        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=record.partition,
                timestamp=record.timestamp or 0,
                headers=list(record.headers),
                on_delivery=delivered,
            )
            producer.poll(0)
        left = producer.flush(PATIENCE_S)
    if refused:
        raise refused[0]
    assert left == 0, f"{left} records were not acknowledged"
    return written


def read_by_confluent(message: Any) -> Record:
    kind, timestamp = message.timestamp()
    # librdkafka counts "not available" as 0, so that its types are the protocol's plus one.
    return Record(
        message.value(),
        message.key(),
        tuple(message.headers() or ()),
        timestamp,
        kind - 1,
        message.partition(),
        message.offset(),
    )


CLIENTS: dict[str, Callable[[str], Client]] = {"aiokafka": AiokafkaClient, "confluent": ConfluentClient}
