"""How many steps a second one worker process takes off a full inbox, beside the bare loop that writes as much.

The inbox is filled with waves of 256 auctions at once: each is started, takes eight bids and is cancelled. Then the
worker starts. Timed is from its claim of the partitions to the last position that it wrote, by the broker's clock;
its CPU time in the same span is given too, since it says the same on a busy machine. The bare loop reads records of
the same size and writes as many, of the same size, in transactions.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import psutil
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from strabo_avro.codec import decode
from strabo_avro.records import OWNER_PREFIX, POSITION_KEY, Position, StepRecord
from strabo_topics import clients
from strabo_topics.settings import KafkaSettings
from tests.benchmarks.auctions import PROTOCOL, Sender
from tests.benchmarks.bare_loop import Rate, Shape, bare_loop, shape_of
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, paired, share
from tests.benchmarks.namespaces import (
    PARTITIONS,
    BenchmarkFailed,
    auction_namespace,
    reading,
    sending,
    worker_process,
)
from tests.support.child_process import ChildProcess

KINDS = ("worker_steps_per_s", "worker_ratio", "worker_ratio_create_batch", "worker_cpu_us_per_step")
AT_ONCE, BIDS = 256, 8
WRITTEN = ("events", "state", "replies", f"role.{PROTOCOL}.Solver", f"role.{PROTOCOL}.Client")
PATIENCE_S = 300.0
LOOK_EVERY_S = 0.05
ASK_EVERY = 10
"""Asking the broker how far the worker is costs it time, so that is done on every tenth look only."""


@dataclass(frozen=True, slots=True)
class WorkerRate:
    """What one worker did."""

    steps_per_s: float
    cpu_us_per_step: float


async def measure(conditions: Conditions) -> list[Figure]:
    """Rounds of a worker and the bare loop in both of its forms."""
    waves = conditions.rounds(quick=1, full=12)
    settings = KafkaSettings.load(kafka_bootstrap_servers=conditions.bootstrap, partitions=PARTITIONS)
    await bare_loop(settings, inputs=waves * 2_000, form="send")  # warms the broker up
    rounds: list[tuple[WorkerRate, Rate, Rate]] = []
    shape: Shape | None = None
    for _ in range(conditions.rounds(quick=1, full=3)):
        async with auction_namespace(conditions.bootstrap) as own:
            inputs = await _fill(own, waves)
            worker = await _worker_rate(own, inputs)
            shape = shape or await _shape(own, inputs)
        send = await bare_loop(settings, inputs=inputs, form="send", shape=shape)
        batches = await bare_loop(settings, inputs=inputs, form="create_batch", shape=shape)
        rounds.append((worker, send, batches))
    steps, ratio, ratio_to_batches, cpu = (f"{kind}_{conditions.broker}" for kind in KINDS)
    with_send = [(worker.steps_per_s, send.steps_per_s) for worker, send, _ in rounds]
    with_batches = [(worker.steps_per_s, batches.steps_per_s) for worker, _, batches in rounds]
    with_cpu = [(worker.cpu_us_per_step, send.cpu_us_per_step) for worker, send, _ in rounds]
    return [
        paired(steps, "steps/s", with_send),
        share(ratio, "of bare loop, send", with_send),
        share(ratio_to_batches, "of bare loop, create_batch", with_batches),
        paired(cpu, "us", with_cpu),
    ]


async def _fill(settings: KafkaSettings, waves: int) -> int:
    sender = Sender.to(settings, PARTITIONS, _now())
    inputs = 0
    async with sending(settings) as producer:
        for wave in range(waves):
            letters = list(sender.wave(f"auction-{wave}", AT_ONCE, BIDS))
            records = [letter.record for letter in letters]
            sent = [
                await producer.send(
                    one.topic, one.value, key=one.key, partition=one.partition, headers=list(one.headers)
                )
                for one in records
            ]
            await asyncio.gather(*sent)
            inputs += len(letters)
    return inputs


async def _worker_rate(settings: KafkaSettings, inputs: int) -> WorkerRate:
    with worker_process(settings) as worker:
        used = await _watched(settings, worker)
        claims, positions, last = [], {}, 0
        async for record in _all(settings, settings.names.state):
            if record.key.startswith(OWNER_PREFIX):
                claims.append(record.timestamp)
            elif record.key == POSITION_KEY:
                positions[record.partition] = decode(record.value, Position).position
                last = max(last, record.timestamp)
    if sum(positions.values()) != inputs:
        raise BenchmarkFailed(f"the worker took {sum(positions.values())} of {inputs} inputs")
    claimed = min(claims)
    return WorkerRate(inputs / (last - claimed) * 1_000, used.between(claimed, last) / inputs * 1e6)


@dataclass(slots=True)
class CpuTime:
    """The CPU seconds that a process had used, as looked up now and then."""

    _looks: list[tuple[int, float]] = field(default_factory=list)

    def look(self, process: psutil.Process) -> None:
        """Look once."""
        times = process.cpu_times()
        self._looks.append((_now(), times.user + times.system))

    def between(self, begin: int, end: int) -> float:
        """The seconds used between two times in milliseconds, each taken at the nearest look."""
        return self._at(end) - self._at(begin)

    def _at(self, wanted: int) -> float:
        return min(self._looks, key=lambda look: abs(look[0] - wanted))[1]


async def _watched(settings: KafkaSettings, worker: ChildProcess) -> CpuTime:
    """Wait until the worker's group has confirmed the whole inbox; returns the CPU time that it used up to then."""
    deadline = time.monotonic() + PATIENCE_S
    used = CpuTime()
    partitions = [TopicPartition(settings.names.inbox, number) for number in range(PARTITIONS)]
    consumer = clients.consumer(settings, group=f"{settings.namespace}.workers")
    async with clients.started(settings, consumer):
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        while not await _is_confirmed(consumer, ends):
            for _ in range(ASK_EVERY):
                if not worker.runs or time.monotonic() > deadline:
                    raise BenchmarkFailed(f"the worker did not take everything:\n{worker.log_tail()}")
                used.look(psutil.Process(worker.pid))
                await asyncio.sleep(LOOK_EVERY_S)
    return used


async def _is_confirmed(consumer: AIOKafkaConsumer, ends: dict[TopicPartition, int]) -> bool:
    return all([(await consumer.committed(one) or 0) >= end for one, end in ends.items()])


def _now() -> int:
    return time.time_ns() // 1_000_000


async def _shape(settings: KafkaSettings, inputs: int) -> Shape:
    """What the worker read and wrote, which the bare loop then copies."""
    inbox = [record async for record in _all(settings, settings.names.inbox)]
    written: dict[str, list[ConsumerRecord]] = {}
    for name in WRITTEN:
        found = [record async for record in _all(settings, f"{settings.namespace}.{name}")]
        written[name] = [one for one in found if not one.key.startswith(b"\0")]
    verdicts = Counter(decode(record.value, StepRecord).verdict for record in written["events"])
    if verdicts != {"taken": inputs}:
        raise BenchmarkFailed(f"of {inputs} inputs the worker made these steps: {dict(verdicts)}")
    return shape_of(inbox, written)


async def _all(settings: KafkaSettings, topic: str) -> AsyncIterator[ConsumerRecord]:
    async with reading(settings, topic, from_end=False) as consumer:
        left = consumer.assignment()
        ends = await consumer.end_offsets(left)
        while left := {one for one in left if await consumer.position(one) < ends[one]}:
            for records in (await consumer.getmany(*left, timeout_ms=100)).values():
                for record in records:
                    yield record
