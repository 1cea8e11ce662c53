"""Reads an agent's topics in its consumer group and hands the records on; keeps the group's positions.

Reading goes on however long handlers take, so that the group never drops a busy agent; past `max_pending` records
in hand the partitions are paused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)

from strabo_agents.delivery.crash_points import Checkpoint, pass_by
from strabo_agents.delivery.lanes import Lanes
from strabo_agents.delivery.offsets import Offsets
from strabo_agents.delivery.routing import Routes
from strabo_agents.messages import Incoming
from strabo_avro import headers
from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable
from strabo_avro.records import Envelope
from strabo_topics.clients import own_cancellations

POLL_MS = 100
RETRY_PAUSE = 0.2
STOP_PATIENCE = 5.0

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Gap:
    """Records that were never read: from `position` up to `start` they were deleted for their age."""

    topic: str
    partition: int
    position: int
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """A record in hand, and the partition's offsets as they were tracked when it was read."""

    record: Incoming
    offsets: Offsets = field(repr=False)


class Intake:
    """One replica's share of an agent's topics.

    `consumer` is started, in the agent's group and not yet subscribed. `process` is called in order within an
    instance; `report_gap` learns of records that were deleted unread.
    """

    def __init__(
        self,
        consumer: AIOKafkaConsumer,
        routes: Routes,
        agent_id: str,
        process: Callable[[Incoming], Awaitable[None]],
        *,
        report_gap: Callable[[Gap], Awaitable[None]],
        concurrency: int,
        max_pending: int,
        commit_interval: float,
        checkpoint: Checkpoint = pass_by,
    ) -> None:
        self._consumer = consumer
        self._topics = routes.topics
        self._replies = routes.replies
        self._agent_id = agent_id
        self._process = process
        self._report_gap = report_gap
        self._max_pending = max_pending
        self._commit_interval = commit_interval
        self._checkpoint = checkpoint
        self._lanes: Lanes[_Held] = Lanes(self._handle, concurrency)
        self._offsets: dict[TopicPartition, Offsets] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._placed: set[TopicPartition] = set()
        self._assigned = asyncio.Event()
        self._paused = False
        self._next_commit = 0.0

    @property
    def pending(self) -> int:
        """How many messages are in hand."""
        return self._lanes.pending

    async def join(self) -> None:
        """Return once this replica has its partitions and every one of them has a committed position."""
        self._consumer.subscribe(topics=list(self._topics), listener=_Listener(self))
        await self._assigned.wait()
        while True:
            try:
                with own_cancellations():
                    await self._place()
                return
            except (KafkaError, OSError) as error:
                # Another replica joins at this moment, or a broker goes: there will be an assignment yet.
                _log.info("joining is tried again", error=f"{type(error).__name__}: {error}")
                await asyncio.sleep(RETRY_PAUSE)

    async def run(self, stop: asyncio.Event) -> None:
        """Read and hand on until `stop` is set.

        Raises:
            Exception: what `process` raised.
        """
        while not stop.is_set() and not self._lanes.failure.done():
            try:
                with own_cancellations():
                    await self._place()
                    self._pause_or_resume()
                    batch = await self._consumer.getmany(timeout_ms=POLL_MS)
                    for partition, records in batch.items():
                        self._take(partition, records)
                    await self._commit_when_due()
            except (OffsetOutOfRangeError, NoOffsetForPartitionError) as error:
                lost = error.args[0] if isinstance(error.args[0], dict) else {error.args[0]: None}
                self._placed.difference_update(lost)
                for partition in lost:
                    self._offsets.pop(partition, None)
            except (KafkaError, OSError) as error:
                _log.warning("reading failed and is tried again", error=f"{type(error).__name__}: {error}")
                await asyncio.sleep(RETRY_PAUSE)
        if self._lanes.failure.done():
            raise self._lanes.failure.result()

    async def close(self, patience: float) -> None:
        """Let running handlers end for `patience` seconds, commit what is done, and leave the group."""
        if not await self._lanes.close(patience):
            _log.warning("handlers were cancelled; their messages are handled again later", after_s=patience)
        try:
            # Without a broker both would go on trying for ever.
            async with asyncio.timeout(STOP_PATIENCE):
                with own_cancellations():
                    await self._commit()
                    await self._consumer.stop()
        except (KafkaError, OSError, TimeoutError) as error:
            _log.warning("the group was not left in order", error=repr(error))

    # -- positions ----------------------------------------------------------------------------------------------------

    async def _place(self) -> None:
        """Give new partitions a position: the group's, or the log's start where it has none or one below it."""
        new = self._consumer.assignment() - self._placed
        if not new:
            return
        starts = await self._consumer.beginning_offsets(list(new))
        positions = dict(zip(new, await asyncio.gather(*map(self._consumer.committed, new)), strict=True))
        moved: dict[TopicPartition, int] = {}
        for partition, position in positions.items():
            start = starts[partition]
            if position is not None and position < start:
                gap = Gap(partition.topic, partition.partition, position, start)
                _log.error("messages were deleted before they were read", gap=gap)
                await self._report_gap(gap)
            if position is None or position < start:
                moved[partition] = start
            self._committed[partition] = moved.get(partition, position or 0)
        try:
            for partition in new:
                self._consumer.seek(partition, self._committed[partition])
            if moved:
                await self._consumer.commit(moved)
        except IllegalStateError:
            return  # The partitions were taken away meanwhile.
        self._placed |= new

    async def _commit_when_due(self) -> None:
        now = time.monotonic()
        if now >= self._next_commit:
            self._next_commit = now + self._commit_interval
            await self._commit()

    async def _commit(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        wanted = self._offsets.keys() if partitions is None else self._offsets.keys() & set(partitions)
        moved = {
            partition: self._offsets[partition].position
            for partition in wanted
            if self._offsets[partition].position > self._committed.get(partition, 0)
        }
        if not moved:
            return
        try:
            await self._consumer.commit(moved)
        except (
            CommitFailedError,
            IllegalGenerationError,
            IllegalStateError,
            RebalanceInProgressError,
            UnknownMemberIdError,
        ):
            return  # The group is being shared out anew; who gets the partition reads these again and knows them.
        except (KafkaError, OSError) as error:
            _log.warning("positions could not be committed", error=f"{type(error).__name__}: {error}")
            return
        self._committed.update(moved)
        self._checkpoint("committed")

    # -- records ------------------------------------------------------------------------------------------------------

    def _take(self, partition: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
        if partition not in self._placed or not records:
            return
        offsets = self._offsets.get(partition)
        if offsets is None:
            offsets = self._offsets[partition] = Offsets(records[0].offset)
        for record in records:
            if record.value is None or not headers.is_for(record.headers, self._agent_id):
                offsets.skip(record.offset)
                continue
            offsets.take(record.offset)
            incoming = Incoming(
                record.topic, record.partition, record.offset, record.key, record.value, tuple(record.headers)
            )
            self._lanes.put(self._lane_of(incoming), _Held(incoming, offsets))

    def _lane_of(self, record: Incoming) -> bytes | None:
        """The instance that the record belongs to: role topics have it as key, replies have their recipient there."""
        if record.topic != self._replies:
            return record.key
        try:
            return decode(record.value, Envelope).instance_id.encode()
        except Undecodable:
            return record.key

    async def _handle(self, held: _Held) -> None:
        await self._process(held.record)
        held.offsets.done(held.record.offset)

    def _pause_or_resume(self) -> None:
        assigned = self._consumer.assignment()
        if self._lanes.pending >= self._max_pending:
            self._consumer.pause(*assigned)
            self._paused = True
        elif self._paused:
            self._consumer.resume(*assigned)
            self._paused = False

    async def give_up(self, partitions: Iterable[TopicPartition]) -> None:
        """The group takes these partitions away: commit what is done, begin nothing more of them."""
        given_up = set(partitions)
        await self._commit(given_up)
        gone = {id(self._offsets.pop(each)) for each in given_up if each in self._offsets}
        self._lanes.drop(lambda held: id(held.offsets) in gone)
        self._placed -= given_up

    def receive(self) -> None:
        """The group has shared out the partitions."""
        self._assigned.set()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Tells the intake; it must be quick, since no heartbeat goes out meanwhile."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        await self._intake.give_up(revoked)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._intake.receive()
