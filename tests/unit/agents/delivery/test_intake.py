"""What is read is handed on and its position kept, whatever the consumer does; here it is one that obeys the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaConnectionError

from strabo_agents.delivery import intake as intake_module
from strabo_agents.delivery.intake import Gap, Intake
from strabo_agents.delivery.routing import Routes
from strabo_agents.messages import Incoming
from strabo_topics.names import Names

PLACE = TopicPartition("ns.role.Auction.Solver", 0)


class FakeConsumer:
    """One partition; `reads` and `commits` are what the next calls do: return, raise, or wait for ever (None)."""

    def __init__(self) -> None:
        self.reads: list[BaseException | Sequence[int]] = []
        self.commits: list[BaseException | None] = []
        self.committed_at: list[int] = []

    def subscribe(self, *, topics: list[str], listener: Any) -> None:
        listener._intake.receive()

    def assignment(self) -> set[TopicPartition]:
        return {PLACE}

    async def beginning_offsets(self, wanted: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(wanted, 0)

    async def committed(self, _partition: TopicPartition) -> int | None:
        return None

    def seek(self, _partition: TopicPartition, _offset: int) -> None:
        return None

    def pause(self, *_partitions: TopicPartition) -> None:
        return None

    async def getmany(self, *, timeout_ms: int) -> Mapping[TopicPartition, Sequence[Any]]:
        if not self.reads:
            await asyncio.sleep(0.001)
            return {}
        found = self.reads.pop(0)
        if isinstance(found, BaseException):
            raise found
        return {PLACE: [record(offset) for offset in found]}

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self.commits:
            failure = self.commits.pop(0)
            if failure is None:
                await asyncio.Event().wait()
            else:
                raise failure
        self.committed_at.append(offsets[PLACE])

    async def stop(self) -> None:
        return None


def record(offset: int) -> Any:
    return SimpleNamespace(
        topic=PLACE.topic, partition=PLACE.partition, offset=offset, key=b"i1", value=b"message", headers=()
    )


def make(consumer: FakeConsumer, process: Callable[[Incoming], Awaitable[None]]) -> Intake:
    async def report(_gap: Gap) -> None:
        raise AssertionError("nothing was deleted")

    return Intake(
        cast(AIOKafkaConsumer, consumer),
        Routes(Names("ns"), "s1", []),
        "s1",
        process,
        report_gap=report,
        concurrency=2,
        max_pending=10,
        commit_interval=0.0,
    )


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "RETRY_PAUSE", 0.0)
    monkeypatch.setattr(intake_module, "STOP_PATIENCE", 0.05)


async def nothing(_record: Incoming) -> None:
    return None


@pytest.mark.parametrize("failure", [CommitFailedError(), KafkaConnectionError(), asyncio.CancelledError()])
async def test_joining_goes_on_where_the_group_is_shared_out_anew_meanwhile(failure: BaseException) -> None:
    consumer = FakeConsumer()
    consumer.commits = [failure]

    await make(consumer, nothing).join()

    assert consumer.committed_at == [0]


async def test_reading_survives_a_client_that_gives_up_by_itself() -> None:
    consumer, stop, taken = FakeConsumer(), asyncio.Event(), list[int]()
    consumer.reads = [[0], asyncio.CancelledError(), [1]]

    async def process(given: Incoming) -> None:
        taken.append(given.offset)
        if given.offset == 1:
            stop.set()

    intake = make(consumer, process)
    await intake.join()
    async with asyncio.timeout(5):
        await intake.run(stop)

    assert taken == [0, 1]


async def test_an_orderly_stop_ends_without_a_broker() -> None:
    consumer, stop = FakeConsumer(), asyncio.Event()
    consumer.reads = [[0]]

    async def process(_given: Incoming) -> None:
        stop.set()

    intake = make(consumer, process)
    await intake.join()
    consumer.commits = [KafkaConnectionError(), None]
    await intake.run(stop)

    async with asyncio.timeout(5):
        await intake.close(patience=1.0)


async def test_no_position_passes_a_message_that_is_in_hand() -> None:
    consumer, stop, gate = FakeConsumer(), asyncio.Event(), asyncio.Event()
    consumer.reads = [[0, 1], [2]]

    async def process(given: Incoming) -> None:
        if given.offset == 1:
            stop.set()
            await gate.wait()

    intake = make(consumer, process)
    await intake.join()
    await intake.run(stop)
    await intake.close(patience=0.0)

    assert max(consumer.committed_at) == 1
