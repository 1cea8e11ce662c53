"""confluent-kafka behind the suite's interface."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import confluent_kafka

from tests.contracts.client import PATIENCE_S, Member, Place, Record, RefusedError, Transactions, Writer


class ConfluentClient:
    """confluent-kafka, which is librdkafka."""

    name = "confluent"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._common: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}

    def close(self) -> None:
        """Nothing is kept between calls."""

    def writer(self, *, acks: str = "all", compression: str = "none", idempotent: bool = False) -> Writer:
        return ConfluentWriter(self._common, acks, compression, idempotent)

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


class ConfluentWriter:
    """A producer of confluent-kafka."""

    def __init__(self, common: dict[str, Any], acks: str, compression: str, idempotent: bool) -> None:
        self._acknowledged = acks != "0"
        self._producer = confluent_kafka.Producer(
            {
                **common,
                "acks": acks,
                "compression.type": compression,
                "enable.idempotence": idempotent,
                "message.max.bytes": 8 << 20,
                "linger.ms": 5,
            }
        )

    def write(self, topic: str, records: Sequence[Record]) -> list[Record]:
        written = produce_by_confluent(self._producer, topic, records)
        return written if self._acknowledged else []

    def close(self) -> None:
        self._producer.flush(PATIENCE_S)


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
        for message in self._consumer.consume(500, 0.05):
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


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the client's errors into `RefusedError`."""
    try:
        yield
    except confluent_kafka.KafkaException as error:
        raise RefusedError(error.args[0].code(), error.args[0].str()) from error


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
