"""Kafka in memory behind the worker's interface: transactions, fencing, broker time, a group that the test assigns."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from strabo_runtime.worker.errors import KafkaFailed, NotAMember
from strabo_runtime.worker.kafka import (
    Appended,
    AssignmentListener,
    Incoming,
    Intake,
    Outgoing,
    Producer,
    Reader,
)


@dataclass(slots=True)
class Stored:
    """A record in a partition's log; a control record has no key and no value that anybody sees."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    status: str = "committed"
    control: bool = False
    session: tuple[str, int] | None = None


@dataclass
class MemoryKafka:
    """The broker. `clock` gives its time in milliseconds; `failing` names calls that fail the next time."""

    clock: Callable[[], int]
    partitions: Mapping[str, int] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.logs: dict[tuple[str, int], list[Stored]] = defaultdict(list)
        self.epochs: dict[str, int] = {}
        self.fenced: list[str] = []
        self.changed = asyncio.Event()
        self.intakes: list[MemoryIntake] = []

    # -- what tests do ------------------------------------------------------------------------------------------------

    def append(self, topic: str, partition: int, record: Outgoing, *, timestamp: int | None = None) -> Stored:
        """Put a record at the end of a log, outside any transaction."""
        stored = self._append(topic, partition, record, "committed", None)
        if timestamp is not None:
            stored.timestamp = timestamp
        return stored

    def committed(self, topic: str, partition: int | None = None) -> list[Stored]:
        """What a read_committed reader of the whole topic would be given in the end."""
        places = [place for place in sorted(self.logs) if place[0] == topic and partition in (None, place[1])]
        return [
            one
            for place in places
            for one in self.logs[place]
            if one.status == "committed" and not one.control
        ]

    def fail_next(self, call: str) -> None:
        """Let the next such call (`begin`, `queue`, `commit`, `producer`) fail."""
        self.failing.append(call)

    async def assign(self, intake: MemoryIntake, partitions: Sequence[int]) -> None:
        """A rebalance: everything is revoked, then these are assigned."""
        intake.assigned_now.clear()
        assert intake.listener is not None
        await intake.listener.revoked()
        intake.assigned_now = dict.fromkeys(partitions, 0)
        intake.paused = set(partitions)
        intake.listener.assigned(frozenset(partitions))

    # -- KafkaPort ----------------------------------------------------------------------------------------------------

    async def producer(self, transactional_id: str) -> Producer:
        self.check("producer")
        epoch = self.epochs.get(transactional_id, -1) + 1
        if epoch > 0:
            self.fenced.append(transactional_id)
        self._end((transactional_id, epoch - 1), "aborted")
        self.epochs[transactional_id] = epoch
        await asyncio.sleep(0)
        return MemoryProducer(self, transactional_id, epoch)

    def intake(self) -> Intake:
        made = MemoryIntake(self, next(topic for topic in self.partitions if topic.endswith(".inbox")))
        self.intakes.append(made)
        return made

    async def reader(self, topic: str, partitions: Sequence[int], *, fetch_wait: float = 0.02) -> Reader:
        return MemoryReader(self, topic, dict.fromkeys(partitions, 0), committed=True)

    async def uncommitted_reader(self, topic: str, positions: Mapping[int, int]) -> Reader:
        return MemoryReader(self, topic, dict(positions), committed=False)

    async def partition_count(self, topic: str) -> int | None:
        return self.partitions.get(topic)

    async def starts(self, topic: str, partitions: Sequence[int]) -> Mapping[int, int]:
        return {one: self.logs[topic, one][0].offset if self.logs[topic, one] else 0 for one in partitions}

    async def ends(self, topic: str, partitions: Sequence[int], *, committed: bool) -> Mapping[int, int]:
        await asyncio.sleep(0)
        return {one: self.stable_end(topic, one) if committed else self.end(topic, one) for one in partitions}

    async def close(self) -> None:
        return None

    # -- the log ------------------------------------------------------------------------------------------------------

    def check(self, call: str) -> None:
        if call in self.failing:
            self.failing.remove(call)
            raise KafkaFailed(f"{call} was made to fail")

    def end(self, topic: str, partition: int) -> int:
        log = self.logs[topic, partition]
        return log[-1].offset + 1 if log else 0

    def stable_end(self, topic: str, partition: int) -> int:
        log = self.logs[topic, partition]
        return next((one.offset for one in log if one.status == "open"), self.end(topic, partition))

    def write(self, session: tuple[str, int], topic: str, partition: int, record: Outgoing) -> Stored:
        self.check_session(session)
        return self._append(topic, partition, record, "open", session)

    def check_session(self, session: tuple[str, int]) -> None:
        if self.epochs[session[0]] != session[1]:
            raise KafkaFailed(f"{session[0]} is fenced")

    def settle(self, session: tuple[str, int]) -> None:
        self.check_session(session)
        self._end(session, "committed")

    def _append(
        self, topic: str, partition: int, record: Outgoing, status: str, session: tuple[str, int] | None
    ) -> Stored:
        key, value, headers = record
        offset = self.end(topic, partition)
        stored = Stored(topic, partition, offset, self.clock(), key, value, headers, status, session=session)
        self.logs[topic, partition].append(stored)
        self._wake()
        return stored

    def _end(self, session: tuple[str, int], status: str) -> None:
        for (topic, partition), log in list(self.logs.items()):
            mine = [one for one in log if one.session == session and one.status == "open"]
            for one in mine:
                one.status = status
            if mine:
                offset = self.end(topic, partition)
                log.append(Stored(topic, partition, offset, self.clock(), None, None, control=True))
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class MemoryProducer:
    """See `Producer`."""

    def __init__(self, kafka: MemoryKafka, transactional_id: str, epoch: int) -> None:
        self.transactional_id = transactional_id
        self._kafka = kafka
        self._session = (transactional_id, epoch)
        self._begun = False

    async def begin(self) -> None:
        self._kafka.check("begin")
        self._kafka.check_session(self._session)
        if self._begun:
            raise KafkaFailed("a transaction is open already")
        self._begun = True
        await asyncio.sleep(0)

    async def queue(
        self, topic: str, partition: int, records: Sequence[Outgoing]
    ) -> Sequence[Awaitable[Appended]]:
        self._kafka.check("queue")
        await asyncio.sleep(0)
        last = [self._kafka.write(self._session, topic, partition, record) for record in records][-1]
        acknowledged: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(Appended(last.offset, last.timestamp))
        return [acknowledged]

    async def commit(self) -> None:
        self._kafka.check("commit")
        await asyncio.sleep(0)
        self._kafka.settle(self._session)
        self._begun = False

    async def close(self) -> None:
        return None


class MemoryReader:
    """See `Reader`."""

    def __init__(self, kafka: MemoryKafka, topic: str, positions: dict[int, int], *, committed: bool) -> None:
        self._kafka = kafka
        self._topic = topic
        self._positions = positions
        self._committed = committed

    async def read(self, partitions: Sequence[int], wait: float) -> Mapping[int, Sequence[Incoming]]:
        changed = self._kafka.changed
        found = {one: records for one in partitions if (records := self._next(one))}
        if not found:
            try:
                async with asyncio.timeout(wait):
                    await changed.wait()
            except TimeoutError:
                return {}
            found = {one: records for one in partitions if (records := self._next(one))}
        return found

    async def position(self, partition: int) -> int:
        return self._positions[partition]

    async def close(self) -> None:
        return None

    def _next(self, partition: int) -> list[Stored]:
        end = (self._kafka.stable_end if self._committed else self._kafka.end)(self._topic, partition)
        log = self._kafka.logs[self._topic, partition]
        passed = [one for one in log if self._positions[partition] <= one.offset < end]
        self._positions[partition] = max(self._positions[partition], end)
        return [
            one for one in passed if not one.control and (not self._committed or one.status == "committed")
        ]


class MemoryIntake:
    """See `Intake`: the test decides what is assigned, with `MemoryKafka.assign`."""

    def __init__(self, kafka: MemoryKafka, topic: str) -> None:
        self.listener: AssignmentListener | None = None
        self.assigned_now: dict[int, int] = {}
        self.paused: set[int] = set()
        self.member = True
        self.confirmed: dict[int, int] = {}
        self._kafka = kafka
        self._topic = topic

    async def start(self, listener: AssignmentListener) -> None:
        self.listener = listener

    async def poll(self, wait: float) -> Mapping[int, Sequence[Incoming]]:
        changed = self._kafka.changed
        open_ones = [one for one in self.assigned_now if one not in self.paused]
        reader = MemoryReader(self._kafka, self._topic, self.assigned_now, committed=True)
        found = {one: records for one in open_ones if (records := reader._next(one))}
        if not found:
            try:
                async with asyncio.timeout(min(wait, 0.01)):
                    await changed.wait()
            except TimeoutError:
                return {}
        return found

    def begin_at(self, partition: int, position: int) -> None:
        if partition in self.assigned_now:
            self.assigned_now[partition] = position
            self.paused.discard(partition)

    def pause(self, partitions: Sequence[int]) -> None:
        self.paused |= set(partitions) & set(self.assigned_now)

    def resume(self, partitions: Sequence[int]) -> None:
        self.paused -= set(partitions)

    def position(self, partition: int) -> int | None:
        return self.assigned_now.get(partition)

    async def confirm(self, positions: Mapping[int, int]) -> None:
        if not self.member:
            raise NotAMember("the group has moved on")
        self.confirmed.update(positions)

    async def close(self) -> None:
        self.assigned_now.clear()
