"""The baseline of the benchmarks: a bare aiokafka loop that takes inputs and writes, in transactions, what
a worker would.

It has no engine, no codec and no state. One consumer reads the inbox, one transactional producer writes for
all partitions: for each input as many records of the same size as a worker wrote, and the position of each
partition, up to 200 inputs a partition in one transaction. So a worker's rate as a share of this one says
what Strabo itself costs.

`python -m tests.benchmarks.bare_loop HOST:PORT` runs it alone.
"""

from __future__ import annotations

import argparse
import asyncio
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from strabo_avro.codec import encode
from strabo_avro.headers import build
from strabo_avro.records import POSITION_KEY, Position
from strabo_topics import admin, clients
from strabo_topics.layout import role_topics
from strabo_topics.names import partition_for
from strabo_topics.plan import Plan
from strabo_topics.settings import KafkaSettings

Form = Literal["send", "create_batch"]
Headers = tuple[tuple[str, bytes], ...]

BATCH_RECORDS = 200
TRANSACTION_RECORDS = 1_000
INSTANCES = 256
PROTOCOL, ROLE = "Bench", "Agent"
IDLE_MS = 50


@dataclass(frozen=True, slots=True)
class OutputShape:
    """One kind of output: the topic's name behind the namespace, how many an input, and one record of
    middling size."""

    topic: str
    per_input: float
    value: bytes
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a worker reads and writes: one input, and each kind of output."""

    input_value: bytes
    input_headers: Headers
    outputs: tuple[OutputShape, ...]


@dataclass(frozen=True, slots=True)
class Rate:
    """What one run did. `records` counts everything written, positions included; `cpu_seconds` are this process's."""

    form: Form
    steps: int
    records: int
    transactions: int
    seconds: float
    cpu_seconds: float

    @property
    def steps_per_s(self) -> float:
        """Inputs taken a second."""
        return self.steps / self.seconds

    @property
    def cpu_us_per_step(self) -> float:
        """Microseconds of this process's CPU time an input."""
        return self.cpu_seconds / self.steps * 1e6

    @property
    def records_per_s(self) -> float:
        """Records written a second."""
        return self.records / self.seconds


_HEADERS = tuple(
    build(
        "auction-0123456789abcdef:12:3",
        "BidSubmission",
        traceparent=f"00-{'a' * 32}-{'b' * 16}-01",
        to=["solver-1", "solver-2", "solver-3"],
        cause="auction-0123456789abcdef-bid-1",
    )
)
AUCTION = Shape(
    input_value=b"i" * 330,
    input_headers=_HEADERS,
    outputs=(
        OutputShape("events", 1.0, b"e" * 1_100),
        OutputShape("state", 1.0, b"s" * 2_000),
        OutputShape(f"role.{PROTOCOL}.{ROLE}", 1.0, b"d" * 330, _HEADERS),
    ),
)
"""The middling step of a task auction, for a run without a worker to copy."""


def shape_of(inputs: Sequence[ConsumerRecord], written: Mapping[str, Sequence[ConsumerRecord]]) -> Shape:
    """The shape of what a worker did: the inbox records that it took and, by topic behind the namespace,
    what it wrote.

    Leave out claims and positions. All role topics are counted as one, since their records are alike.
    """
    by_topic: dict[str, list[ConsumerRecord]] = {}
    for topic, records in written.items():
        name = f"role.{PROTOCOL}.{ROLE}" if topic.startswith("role.") else topic
        by_topic.setdefault(name, []).extend(records)
    outputs = tuple(
        OutputShape(topic, len(records) / len(inputs), _middling(records), tuple(records[0].headers))
        for topic, records in sorted(by_topic.items())
        if records
    )
    return Shape(_middling(inputs), tuple(inputs[0].headers), outputs)


async def bare_loop(settings: KafkaSettings, *, inputs: int, form: Form, shape: Shape = AUCTION) -> Rate:
    """Run the loop over so many inputs, in a namespace of its own that is deleted again, and time it."""
    namespace = f"bare-{uuid.uuid4().hex[:8]}"
    own = settings.model_copy(update={"namespace": namespace, "partitions": settings.partitions or 4})
    await admin.ensure(own)
    await admin.apply(own, Plan(create=role_topics(own, PROTOCOL, [ROLE])))
    try:
        await _fill(own, inputs, shape)
        return await _take(own, inputs, form, shape)
    finally:
        await admin.delete_namespace(own)


async def _fill(settings: KafkaSettings, inputs: int, shape: Shape) -> None:
    producer = clients.producer(settings)
    await producer.start()
    try:
        partitions = len(await producer.partitions_for(settings.names.inbox))
        sent = []
        for number in range(inputs):
            key = b"auction-%016d" % (number % INSTANCES)
            partition = partition_for(key, partitions)
            sent.append(
                await producer.send(
                    settings.names.inbox,
                    shape.input_value,
                    key=key,
                    partition=partition,
                    headers=list(shape.input_headers),
                )
            )
        await asyncio.gather(*sent)
    finally:
        await producer.stop()


async def _take(settings: KafkaSettings, inputs: int, form: Form, shape: Shape) -> Rate:
    consumer = clients.consumer(settings, offset_reset="earliest")
    producer = clients.transactional_producer(settings, f"{settings.namespace}-loop")
    await asyncio.gather(consumer.start(), producer.start())
    try:
        count = len(await producer.partitions_for(settings.names.inbox))
        inbox = [TopicPartition(settings.names.inbox, number) for number in range(count)]
        consumer.assign(inbox)
        await consumer.seek_to_beginning(*inbox)
        plan = _Outputs(settings.namespace, shape.outputs)
        write = _send if form == "send" else _send_batches
        taken = records = transactions = 0
        begun, cpu_begun = time.perf_counter(), time.process_time()
        while taken < inputs:
            batch = await _gather_batch(consumer, inbox)
            outputs = plan.of(batch)
            await producer.begin_transaction()
            records += await write(producer, outputs)
            await producer.commit_transaction()
            taken += sum(map(len, batch.values()))
            transactions += 1
        seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu_begun
        return Rate(form, taken, records, transactions, seconds, cpu_seconds)
    finally:
        await asyncio.gather(consumer.stop(), producer.stop())


async def _gather_batch(
    consumer: AIOKafkaConsumer, inbox: Iterable[TopicPartition]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """What is there, up to 200 records a partition: asked one by one, since a common cap fills from one
    partition first."""
    while True:
        batch: dict[TopicPartition, list[ConsumerRecord]] = {}
        room = TRANSACTION_RECORDS
        for partition in inbox:
            if room > 0:
                wanted = min(BATCH_RECORDS, room)
                found = await consumer.getmany(partition, timeout_ms=0, max_records=wanted)
                batch.update(found)
                room -= sum(map(len, found.values()))
        if batch:
            return batch
        found = await consumer.getmany(timeout_ms=IDLE_MS, max_records=1)
        if found:
            return {partition: list(records) for partition, records in found.items()}


@dataclass(frozen=True, slots=True)
class _Record:
    key: bytes
    value: bytes
    headers: Headers


class _Outputs:
    """What is written for a batch; kinds of less or more than one an input are spread evenly."""

    def __init__(self, namespace: str, kinds: Sequence[OutputShape]) -> None:
        self._namespace = namespace
        self._kinds = kinds
        self._due = [0.0] * len(kinds)

    def of(
        self, batch: Mapping[TopicPartition, Sequence[ConsumerRecord]]
    ) -> dict[tuple[str, int], list[_Record]]:
        """The records by topic and partition: that of their input."""
        outputs: dict[tuple[str, int], list[_Record]] = {}
        for partition, records in batch.items():
            for record in records:
                for index, kind in enumerate(self._kinds):
                    self._due[index] += kind.per_input
                    while self._due[index] >= 1:
                        self._due[index] -= 1
                        topic = f"{self._namespace}.{kind.topic}"
                        written = _Record(record.key, kind.value, kind.headers)
                        outputs.setdefault((topic, partition.partition), []).append(written)
            position = Position(position=records[-1].offset + 1, at=records[-1].timestamp)
            held = outputs.setdefault((f"{self._namespace}.state", partition.partition), [])
            held.append(_Record(POSITION_KEY, encode(position), ()))
        return outputs


async def _send(producer: AIOKafkaProducer, outputs: Mapping[tuple[str, int], Sequence[_Record]]) -> int:
    acknowledged = [
        await producer.send(
            topic, record.value, key=record.key, partition=partition, headers=list(record.headers)
        )
        for (topic, partition), records in outputs.items()
        for record in records
    ]
    await asyncio.gather(*acknowledged)
    return len(acknowledged)


async def _send_batches(
    producer: AIOKafkaProducer, outputs: Mapping[tuple[str, int], Sequence[_Record]]
) -> int:
    acknowledged = []
    for (topic, partition), records in outputs.items():
        batch = producer.create_batch()
        for record in records:
            content = {"key": record.key, "value": record.value, "headers": list(record.headers)}
            if batch.append(timestamp=None, **content) is None:
                acknowledged.append(await producer.send_batch(batch, topic, partition=partition))
                batch = producer.create_batch()
                batch.append(timestamp=None, **content)
        acknowledged.append(await producer.send_batch(batch, topic, partition=partition))
    await asyncio.gather(*acknowledged)
    return sum(map(len, outputs.values()))


def _middling(records: Sequence[ConsumerRecord]) -> bytes:
    """The value whose size is nearest to the mean."""
    values = [record.value for record in records if record.value is not None]
    mean = sum(map(len, values)) / max(len(values), 1)
    return min(values, key=lambda value: abs(len(value) - mean), default=b"")


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap", help="HOST:PORT of a Kafka or an embedded broker")
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--partitions", type=int, default=4)
    given = parser.parse_args()
    settings = KafkaSettings.load(kafka_bootstrap_servers=given.bootstrap, partitions=given.partitions)
    await clients.wait_for_broker(settings)
    for form in ("send", "create_batch"):
        rate = await bare_loop(settings, inputs=given.inputs, form=form)
        print(
            f"{form:12} {rate.steps_per_s:9,.0f} steps/s {rate.records_per_s:9,.0f} records/s "
            f"{rate.steps / rate.transactions:6.0f} inputs a transaction"
        )


if __name__ == "__main__":
    asyncio.run(_main())
