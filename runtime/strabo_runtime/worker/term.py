"""A worker's term: one transactional producer and the runners that stand on it. It fails as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from strabo_avro.codec import encode
from strabo_avro.records import Owner, owner_key
from strabo_runtime.worker.assignment import Assignment
from strabo_runtime.worker.errors import KafkaFailed, NotAMember, Overtaken, PartitionHalted
from strabo_runtime.worker.follower import TopicFollower
from strabo_runtime.worker.holdings import Holdings
from strabo_runtime.worker.kafka import (
    Appended,
    Batches,
    Incoming,
    Intake,
    KafkaPort,
    Outgoing,
    Producer,
    Reached,
)
from strabo_runtime.worker.reporting import tell
from strabo_runtime.worker.runner import Runner, Work
from strabo_runtime.worker.surroundings import Surroundings
from strabo_runtime.worker.takeover import StateLog, TakeOver
from strabo_runtime.worker.tasks import together
from strabo_runtime.worker.transaction import transact

QUEUE_FULL = 2_000
QUEUE_LOW = 400
QUEUE_FULL_BYTES = 16 * 1024 * 1024
REFRESH_S = 30.0
CATCH_UP_S = 2.0
RESTORES_BETWEEN_YIELDS = 200

_log = structlog.get_logger("strabo.worker")


@dataclass(frozen=True, slots=True)
class Footing:
    """What a worker's terms stand on, one after the other.

    `fenced` holds every id that this process has fenced, `positions` the committed position of each partition.
    """

    kafka: KafkaPort
    intake: Intake
    assignment: Assignment
    surroundings: Surroundings
    followers: Sequence[TopicFollower]
    fenced: set[str]
    positions: dict[int, int]
    reached: Reached


class Term:
    """From one initialised id to its failure.

    Every transaction is made under one lock, in the order in which it was asked for. That order is what a release
    relies on: once a partition is revoked its runner is dropped, so no later transaction has anything of it, and the
    release, asked for at once, comes after the one in flight and before any new claim.
    """

    def __init__(self, footing: Footing, producer: Producer, *, after_failure: bool) -> None:
        """With `after_failure`, membership of the group is confirmed before anything is taken over."""
        self.runners: dict[int, Runner] = {}
        self.transactions = 0
        self._footing = footing
        self._producer = producer
        self._confirm_first = after_failure
        self._kafka = footing.kafka
        self._intake = footing.intake
        self._assignment = footing.assignment
        self._around = footing.surroundings
        self._reached = footing.reached
        self._names = footing.surroundings.settings.names
        self._lock = asyncio.Lock()
        self._woken = asyncio.Event()
        self._claimed: set[int] = set()
        self._halted: set[int] = set()
        self._turn = 0

    async def run(self) -> None:
        """Take over what is assigned and work on it, until something fails. Raises `KafkaFailed`."""
        try:
            await together(self._keep_assigned(), self._keep_working(), self._keep_fresh())
        finally:
            self.drop()

    def drop(self) -> None:
        """Work on nothing any more: what is computed and not yet in a transaction never will be."""
        for runner in self.runners.values():
            runner.dropped = True
        self._intake.pause(list(self.runners))
        self.runners.clear()

    def feed(self, found: Mapping[int, Sequence[Incoming]]) -> None:
        """Queue what was read, for the runners that are in place now."""
        for partition, records in found.items():
            runner = self.runners.get(partition)
            if runner is not None:
                runner.receive(records)
                if len(runner.queue) >= QUEUE_FULL or runner.queued_bytes >= QUEUE_FULL_BYTES:
                    runner.paused = True
                    self._intake.pause([partition])
        self._woken.set()

    def halt(self, halted: PartitionHalted) -> None:
        """Leave a partition alone for the rest of this term; the others go on."""
        runner = self.runners.pop(halted.partition, None)
        if runner is not None:
            runner.dropped = True
        self._intake.pause([halted.partition])
        self._halted.add(halted.partition)
        _log.error("partition halted", partition=halted.partition, reason=halted.reason)

    async def release(self) -> None:
        """Give up every claim in good order, so that no next owner need fence this worker. Raises `KafkaFailed`."""
        self._reached("release.dropped")
        async with self._lock:
            claimed, self._claimed = sorted(self._claimed), set()
            if claimed:
                mine = Outgoing(owner_key(self._producer.transactional_id), None)
                await self._transact(
                    {(self._names.state, partition): [mine] for partition in claimed}, "release"
                )
                _log.info("released", partitions=claimed)

    # -- taking over --------------------------------------------------------------------------------------------------

    async def _keep_assigned(self) -> None:
        self._assignment.changed.set()
        while True:
            await self._assignment.changed.wait()
            self._assignment.changed.clear()
            wanted = sorted(self._assignment.partitions - self.runners.keys() - self._halted)
            if not wanted:
                continue
            try:
                await self._take_over(wanted, self._assignment.generation)
            except (Overtaken, NotAMember) as error:
                # A rebalance has begun, or soon will: what comes of it is taken over then.
                _log.info("take-over given up", partitions=wanted, reason=str(error))
            except PartitionHalted as halted:
                self.halt(halted)
                self._assignment.changed.set()

    async def _take_over(self, partitions: Sequence[int], generation: int) -> None:
        if self._confirm_first:
            # Whoever was paused so long that the group went on without it must not fence the rightful owners.
            await self._intake.confirm({one: self._footing.positions.get(one, 0) for one in partitions})
            self._confirm_first = False
        begun = self._around.clock.ticks()
        take_over = TakeOver(
            self._kafka,
            self._names.state,
            self._producer.transactional_id,
            lambda batches: self._claim(batches, generation),
            lambda: self._assignment.check(generation),
            self._footing.fenced,
            self._around.clock.now,
            self._reached,
        )
        logs = await take_over.run(partitions)
        starts = await self._kafka.starts(self._names.inbox, partitions)
        for log in logs:
            try:
                runner = await self._restored(log, starts[log.partition])
            except PartitionHalted as halted:
                self.halt(halted)
                continue
            self._assignment.check(generation)
            self.runners[log.partition] = runner
            self._footing.positions[log.partition] = runner.position
            self._intake.begin_at(log.partition, runner.position)
            self._reached("takeover.ready")
        took = self._around.clock.ticks() - begun
        _log.info("took over", partitions=sorted(self.runners.keys() & set(partitions)), milliseconds=took)
        self._woken.set()

    async def _claim(self, batches: Batches, generation: int) -> Mapping[tuple[str, int], Appended]:
        async with self._lock:
            self._assignment.check(generation)
            self._claimed |= {partition for _topic, partition in batches}
            return await self._transact(batches, "claim")

    async def _restored(self, log: StateLog, start: int) -> Runner:
        if log.position is None and log.instances:
            raise PartitionHalted(log.partition, "the state topic holds instances and no position")
        position = start if log.position is None else log.position
        if position < start:
            raise PartitionHalted(
                log.partition,
                f"its position is {position} and the inbox begins at {start}: inputs were deleted untaken",
            )
        holdings = Holdings(log.partition, self._around.catalogue)
        for count, _restored in enumerate(holdings.restore(log.instances)):
            if count % RESTORES_BETWEEN_YIELDS == 0:
                await asyncio.sleep(0)
        return Runner(log.partition, holdings, position, self._around)

    # -- working ------------------------------------------------------------------------------------------------------

    async def _keep_working(self) -> None:
        committing: asyncio.Task[None] | None = None
        try:
            while True:
                self._woken.clear()
                works = await self._step()
                if committing is not None:
                    await committing
                    committing = None
                if not works:
                    await self._idle()
                    continue
                committing = asyncio.create_task(self._commit(works))
                # Here too: while one partition always has something to do, the worker is never idle.
                await self._raise_barriers(self._around.clock.broker_at_least())
                # Under a backlog the next batch is stepped while this one commits; otherwise it gathers meanwhile.
                if not any(len(runner.queue) >= QUEUE_LOW for runner in self.runners.values()):
                    await committing
                    committing = None
        finally:
            if committing is not None:
                committing.cancel()
                await asyncio.gather(committing, return_exceptions=True)

    async def _step(self) -> list[Work]:
        """Step what is there, on every partition in turn."""
        settings = self._around.settings
        left = settings.worker_transaction_records
        works = []
        for runner in self._in_turn():
            runner.pass_barrier(self._intake.position(runner.partition))
            try:
                requests = runner.take(min(settings.worker_batch_records, left))
                if requests:
                    self._reached("batch.taken")
                if runner.lacks(requests):
                    await self._catch_up()
                if runner.dropped:
                    continue
                work = Work(runner)
                if requests or runner.has_something_due():
                    for _pause in runner.work(requests, work):
                        await asyncio.sleep(0)
                        if runner.dropped:
                            break
            except PartitionHalted as halted:
                self.halt(halted)
                continue
            if work.records and not runner.dropped:
                works.append(work)
                self._reached("batch.stepped")
                left -= len(requests)
                if left <= 0:
                    break
                await asyncio.sleep(0)
            if (
                runner.paused
                and len(runner.queue) < QUEUE_LOW
                and runner.queued_bytes < QUEUE_FULL_BYTES // 2
            ):
                runner.paused = False
                self._intake.resume([runner.partition])
        return works

    def _in_turn(self) -> list[Runner]:
        """Each transaction begins with another partition, so that none starves when it is full."""
        runners = list(self.runners.values())
        self._turn = (self._turn + 1) % max(1, len(runners))
        return runners[self._turn :] + runners[: self._turn]

    async def _catch_up(self) -> None:
        """Before a start or a question gets less for want of a protocol or agents, read whether they have appeared."""
        try:
            async with asyncio.timeout(CATCH_UP_S):
                await asyncio.gather(*(follower.caught_up() for follower in self._footing.followers))
        except (TimeoutError, KafkaFailed) as error:
            _log.warning(
                "could not catch up with protocols and agents", error=str(error) or "no answer in time"
            )

    async def _commit(self, works: Sequence[Work]) -> None:
        async with self._lock:
            kept = [work for work in works if not work.runner.dropped]
            # Several partitions may write to the inbox of one: to children and parents there.
            batches: dict[tuple[str, int], list[Outgoing]] = {}
            for work in kept:
                for place, records in work.records.items():
                    batches.setdefault(place, []).extend(records)
            if not batches:
                return
            await self._transact(batches, "batch")
            self._footing.positions.update({work.runner.partition: work.position for work in kept})
            for work in kept:
                tell(work.reports)

    async def _transact(self, batches: Batches, stage: str) -> Mapping[tuple[str, int], Appended]:
        limit = self._around.settings.worker_transaction_timeout.total_seconds()
        try:
            async with asyncio.timeout(limit):
                appended = await transact(self._producer, batches, stage, self._reached, self._around.clock)
        except TimeoutError as error:
            raise KafkaFailed(f"a transaction took longer than {limit:g} s") from error
        self.transactions += 1
        return appended

    # -- waiting ------------------------------------------------------------------------------------------------------

    async def _idle(self) -> None:
        """Wait for something to do: a record, or a timer that may fire."""
        broker_time = self._around.clock.broker_at_least()
        if await self._raise_barriers(broker_time):
            return
        wait = None
        if broker_time is not None:
            dues = [due for runner in self.runners.values() if (due := runner.due()) is not None]
            coming = [due - broker_time + 1 for due in dues]
            wait = min((one for one in coming if one > 0), default=None)
        try:
            async with asyncio.timeout(None if wait is None else wait / 1000):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _raise_barriers(self, asked_at: int | None) -> bool:
        """Find out up to where inboxes must be taken before timers that are due may fire; False: none is due.

        The high watermark, open transactions included: an outage must not let a timer overtake a message that was in
        time.
        """
        if asked_at is None:
            return False
        waiting = [runner for runner in self.runners.values() if runner.needs_barrier(asked_at)]
        if not waiting:
            return False
        ends = await self._kafka.ends(
            self._names.inbox, [runner.partition for runner in waiting], committed=False
        )
        for runner in waiting:
            runner.raise_barrier(ends[runner.partition], asked_at)
        return True

    async def _keep_fresh(self) -> None:
        """Write something now and then where nothing else is written: it shows the broker's clock, and if we own."""
        seen = 0
        while True:
            await asyncio.sleep(REFRESH_S)
            for runner in self.runners.values():
                runner.skip_to(self._intake.position(runner.partition))
            self._woken.set()
            if self.transactions == seen and self._claimed:
                async with self._lock:
                    partition = min(self._claimed, default=None)
                    if partition is not None:
                        owner = self._producer.transactional_id
                        claim = Outgoing(
                            owner_key(owner), encode(Owner(owner=owner, at=self._around.clock.now()))
                        )
                        await self._transact({(self._names.state, partition): [claim]}, "refresh")
            seen = self.transactions
