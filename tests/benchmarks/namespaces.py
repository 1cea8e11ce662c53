"""A namespace of its own for each run of a benchmark, and the worker process in it."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from strabo_runtime.publishing import publish_machine
from strabo_topics import admin, clients
from strabo_topics.settings import KafkaSettings
from tests.benchmarks import auctions
from tests.support.child_process import ChildProcess

PARTITIONS = 4


class BenchmarkFailed(Exception):
    """What was to be measured did not happen; the text says what did."""


@asynccontextmanager
async def auction_namespace(bootstrap: str) -> AsyncIterator[KafkaSettings]:
    """A fresh namespace with the auction published, deleted again at the end."""
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=bootstrap, namespace=f"bench-{uuid.uuid4().hex[:8]}", partitions=PARTITIONS
    )
    protocol = auctions.protocol()
    await publish_machine(settings, protocol.machine, protocol.source)
    try:
        yield settings
    finally:
        await admin.delete_namespace(settings)


@contextmanager
def python_process(arguments: Sequence[str], settings: KafkaSettings) -> Iterator[ChildProcess]:
    """`python <arguments>` on this namespace, ended in good order."""
    environment = {
        "STRABO_KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers,
        "STRABO_NAMESPACE": settings.namespace,
    }
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory(prefix="strabo-bench-") as folder:
        command = [sys.executable, *arguments]
        child = ChildProcess(command, Path(folder) / "log", environment=environment, folder=root)
        try:
            yield child
        finally:
            child.terminate()


@contextmanager
def worker_process(settings: KafkaSettings) -> Iterator[ChildProcess]:
    """One worker, as `strabo run worker` starts it."""
    with python_process(["-m", "strabo_runtime.cli.main", "run", "worker"], settings) as child:
        yield child


async def until(done: asyncio.Future[None], child: ChildProcess, patience_s: float) -> None:
    """Wait for what a child is to bring about; raises `BenchmarkFailed` when the child ends or takes too long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    while not done.done():
        if not child.runs:
            raise BenchmarkFailed(f"a process that was to be measured ended:\n{child.log_tail()}")
        if loop.time() > deadline:
            raise BenchmarkFailed(f"nothing came within {patience_s:.0f} s:\n{child.log_tail()}")
        await asyncio.wait([done], timeout=0.2)
    done.result()


@asynccontextmanager
async def sending(settings: KafkaSettings) -> AsyncIterator[AIOKafkaProducer]:
    """The producer that agents use."""
    async with clients.started(settings, clients.producer(settings)) as producer:
        yield producer


@asynccontextmanager
async def reading(settings: KafkaSettings, topic: str, *, from_end: bool) -> AsyncIterator[AIOKafkaConsumer]:
    """A read_committed consumer of a topic's partitions, without a group."""
    consumer = clients.consumer(settings, offset_reset="earliest")
    async with clients.started(settings, consumer):
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await (consumer.seek_to_end if from_end else consumer.seek_to_beginning)(*partitions)
        for partition in partitions:
            await consumer.position(partition)
        yield consumer
