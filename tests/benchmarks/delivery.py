"""How long from an agent's send to the delivery that follows, at 100 messages a second, beside a bare relay.

One worker process has the namespace. Messages are sent evenly, alternately a start (which calls the solvers for bids)
and the cancellation of an auction started a while ago (which tells them). Each is timed from the call of `send` to the
moment when a solver's consumer hands out what follows. The relay, a process too, makes the same two hops.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from statistics import quantiles

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from strabo_agents.envelopes import Letter
from strabo_avro import headers
from strabo_topics import admin
from strabo_topics.layout import role_topics
from strabo_topics.plan import Plan
from strabo_topics.settings import KafkaSettings
from tests.benchmarks import bare_loop
from tests.benchmarks.auctions import PROTOCOL, Sender
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, paired
from tests.benchmarks.namespaces import (
    PARTITIONS,
    auction_namespace,
    python_process,
    reading,
    sending,
    worker_process,
)
from tests.support.child_process import ChildProcess

KINDS = ("delivery_p50_ms", "delivery_p99_ms")
RATE = 100
STARTED_BEFORE = 25
SOLVERS = 3
PATIENCE_S = 30.0


async def measure(conditions: Conditions) -> list[Figure]:
    """Rounds of both, the one that is not measured idling meanwhile."""
    count = RATE * conditions.rounds(quick=2, full=10)
    medians, tails = [], []
    async with AsyncExitStack() as stack:
        worker = await stack.enter_async_context(_worker_route(conditions.bootstrap))
        relay = await stack.enter_async_context(_relay_route(conditions.bootstrap))
        for route in (worker, relay):
            await route.times(RATE)  # warms up, and waits until the route works at all
        for _ in range(conditions.rounds(quick=1, full=5)):
            of_worker, of_relay = await worker.times(count), await relay.times(count)
            medians.append((_percentile(of_worker, 50), _percentile(of_relay, 50)))
            tails.append((_percentile(of_worker, 99), _percentile(of_relay, 99)))
    p50, p99 = (f"{kind}_{conditions.broker}" for kind in KINDS)
    return [paired(p50, "ms", medians), paired(p99, "ms", tails)]


@dataclass
class Route:
    """A way from a sender over some process to a consumer."""

    settings: KafkaSettings
    child: ChildProcess
    producer: AIOKafkaProducer
    consumer: AIOKafkaConsumer
    letters: Iterator[Letter]
    _arrived: dict[str, float] = field(default_factory=dict)

    async def times(self, count: int) -> list[float]:
        """Send so many letters evenly; returns how long each took, in milliseconds."""
        loop = asyncio.get_running_loop()
        sent: dict[str, float] = {}
        receiving = asyncio.create_task(self._receive(count))
        acknowledged = []
        begun = loop.time()
        for number in range(count):
            await asyncio.sleep(begun + number / RATE - loop.time())
            letter = next(self.letters)
            record = letter.record
            sent[letter.id] = time.perf_counter()
            acknowledged.append(
                await self.producer.send(
                    record.topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                    headers=list(record.headers),
                )
            )
        await asyncio.gather(*acknowledged)
        await asyncio.wait_for(receiving, PATIENCE_S)
        return [(receiving.result()[one] - at) * 1_000 for one, at in sent.items()]

    async def _receive(self, count: int) -> dict[str, float]:
        arrived: dict[str, float] = {}
        while len(arrived) < count:
            found = await self.consumer.getmany(timeout_ms=500)
            now = time.perf_counter()
            for records in found.values():
                for record in records:
                    facts = headers.read(record.headers)
                    arrived[facts.cause or facts.id or ""] = now
        return arrived


@asynccontextmanager
async def _worker_route(bootstrap: str) -> AsyncIterator[Route]:
    async with auction_namespace(bootstrap) as settings:
        with worker_process(settings) as child:
            topic = settings.names.role(PROTOCOL, "Solver")
            async with _connected(settings, child, topic) as route:
                yield route


@asynccontextmanager
async def _relay_route(bootstrap: str) -> AsyncIterator[Route]:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=bootstrap, namespace=f"relay-{uuid.uuid4().hex[:8]}", partitions=PARTITIONS
    )
    await admin.ensure(settings)
    roles = role_topics(settings, bare_loop.PROTOCOL, [bare_loop.ROLE])
    await admin.apply(settings, Plan(create=roles))
    try:
        with python_process(["-m", "tests.benchmarks.relay"], settings) as child:
            async with _connected(settings, child, roles[0].name) as route:
                yield route
    finally:
        await admin.delete_namespace(settings)


@asynccontextmanager
async def _connected(settings: KafkaSettings, child: ChildProcess, topic: str) -> AsyncIterator[Route]:
    async with sending(settings) as producer, reading(settings, topic, from_end=False) as consumer:
        yield Route(settings, child, producer, consumer, _letters(settings))


def _letters(settings: KafkaSettings) -> Iterator[Letter]:
    """Starts and, in between, the end of the auction that was started 25 starts before."""
    sender = Sender.to(settings, PARTITIONS, time.time_ns() // 1_000_000)
    number = 0
    while True:
        yield sender.start(f"auction-{number:06}", SOLVERS)
        if number >= STARTED_BEFORE:
            yield sender.cancellation(f"auction-{number - STARTED_BEFORE:06}")
        number += 1


def _percentile(times: list[float], percent: int) -> float:
    return quantiles(times, n=100, method="inclusive")[percent - 1]
