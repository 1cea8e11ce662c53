"""One partition's log: appending, reading, its transactions, and those who wait for it to grow."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from strabo_broker import batches
from strabo_broker.batches import BatchHeader
from strabo_broker.cache import Tail, TailCache
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.sequences import ProducerState, after_batch, after_marker, check_sequence, find_repeat
from strabo_broker.store import Store
from strabo_broker.topic_configs import TopicConfigs

_NO_TIME: Final = -1

Waiter = asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class Appended:
    """Where a batch stands in the log, and the time that the broker gave it (-1: the producer's own)."""

    base_offset: int
    append_time: int


@dataclass(frozen=True, slots=True)
class Aborted:
    """A transaction of one producer that was aborted: its first offset, and its marker's."""

    producer_id: int
    first_offset: int
    last_offset: int


class Partition:
    """The log of one partition. It changes on the event loop only; what it changes is committed with that turn."""

    def __init__(
        self,
        store: Store,
        cache: TailCache,
        partition_id: int,
        topic: str,
        number: int,
        configs: TopicConfigs,
    ) -> None:
        self.id = partition_id
        self.topic = topic
        self.number = number
        self.configs = configs
        self.log_start = 0
        self.next_offset = 0
        self.size = 0
        self.cleaned_to = 0
        """Below this offset the log has been compacted."""
        self.deleted = False
        self.producers: dict[int, ProducerState] = {}
        self.aborted: list[Aborted] = []
        self.waiting_for_end: set[Waiter] = set()
        self.waiting_for_stable: set[Waiter] = set()
        self._store = store
        self._cache = cache
        self._tail = Tail()
        self._open: dict[int, int] = {}
        self._changed_producers: set[int] = set()
        self._last_stable = 0

    def restore(self, log_start: int, next_offset: int, size: int, cleaned_to: int) -> None:
        """Take up what an earlier process left."""
        self.log_start, self.next_offset, self.size, self.cleaned_to = (
            log_start,
            next_offset,
            size,
            cleaned_to,
        )
        for producer_id, state in self._store.query(
            "select producer_id, state from producers where partition_id = ?", (self.id,)
        ):
            self.producers[producer_id] = known = ProducerState.decode(state)
            if known.first_offset is not None:
                self._open[producer_id] = known.first_offset
        self.aborted = [
            Aborted(*row)
            for row in self._store.query(
                "select producer_id, first_offset, last_offset from aborted_transactions"
                " where partition_id = ? order by last_offset",
                (self.id,),
            )
        ]
        self._find_last_stable()

    def save(self, store: Store) -> None:
        """Write what changed in this turn; part of the turn's commit."""
        if self.deleted:
            return
        store.execute(
            "update partitions set log_start = ?, next_offset = ?, size = ?, cleaned_to = ? where id = ?",
            (self.log_start, self.next_offset, self.size, self.cleaned_to, self.id),
        )
        for producer_id in self._changed_producers:
            state = self.producers.get(producer_id)
            if state is None:
                store.execute(
                    "delete from producers where partition_id = ? and producer_id = ?", (self.id, producer_id)
                )
            else:
                store.execute(
                    "insert or replace into producers values (?, ?, ?)",
                    (self.id, producer_id, state.encode()),
                )
        self._changed_producers.clear()

    @property
    def last_stable_offset(self) -> int:
        """The first offset that belongs to an open transaction, or the log's end."""
        return self._last_stable

    # Appending.

    def append(self, batch: bytes, now_ms: int) -> Appended:
        """Append a producer's batch; a repeat is answered with where it stands already.

        Raises CorruptBatch or Refusal, and then has changed nothing.
        """
        header = batches.check_produced(batch, self.configs.maximum_message_bytes)
        batches.check_records(header, batch, with_keys=self.configs.compacts)
        is_idempotent = header.producer_id >= 0
        if is_idempotent:
            state = self.producers.get(header.producer_id)
            repeat = find_repeat(state, header)
            if repeat is not None:
                return Appended(repeat.base_offset, repeat.append_time)
            check_sequence(state, header)
            if not header.is_transactional and header.producer_id in self._open:
                raise Refusal(
                    ErrorCode.INVALID_TXN_STATE,
                    f"producer {header.producer_id} sent a batch outside its open transaction",
                )
        append_time = _NO_TIME
        if self.configs.log_append_time:
            batch = batches.stamped(header, batch, now_ms)
            header = batches.read_header(batch)
            append_time = now_ms
        else:
            self._check_timestamp(header, now_ms)
        base_offset = self._write(header, batch, now_ms)
        if is_idempotent:
            self._remember(header.producer_id, after_batch(state, header, base_offset, append_time, now_ms))
            if header.is_transactional:
                self._open.setdefault(header.producer_id, base_offset)
        self._grown()
        return Appended(base_offset, append_time)

    def _check_timestamp(self, header: BatchHeader, now_ms: int) -> None:
        newest, oldest = header.maximum_timestamp, header.base_timestamp
        if newest - now_ms > self.configs.timestamp_after_maximum_ms or (
            oldest != batches.NO_TIMESTAMP and now_ms - oldest > self.configs.timestamp_before_maximum_ms
        ):
            raise Refusal(
                ErrorCode.INVALID_TIMESTAMP,
                f"timestamps {oldest} to {newest} are too far from the broker's time {now_ms}",
            )

    def append_marker(self, producer_id: int, epoch: int, *, commit: bool, now_ms: int) -> None:
        """End the producer's transaction in this partition."""
        marker = batches.control_batch(producer_id, epoch, commit=commit, timestamp=now_ms)
        offset = self._write(batches.read_header(marker), marker, now_ms)
        first = self._open.pop(producer_id, None)
        if first is not None and not commit:
            self.aborted.append(Aborted(producer_id, first, offset))
            self._store.execute(
                "insert into aborted_transactions values (?, ?, ?, ?)", (self.id, offset, producer_id, first)
            )
        self._remember(producer_id, after_marker(self.producers.get(producer_id), epoch, now_ms))
        self._grown()

    def _write(self, header: BatchHeader, batch: bytes, now_ms: int) -> int:
        base_offset = self.next_offset
        last_offset = base_offset + header.last_offset_delta
        batch = batches.placed(batch, header, base_offset)
        # A batch without timestamps is as old as its arrival.
        timestamp = header.maximum_timestamp if header.maximum_timestamp >= 0 else now_ms
        self._store.insert_batch(self.id, base_offset, last_offset, timestamp, batch)
        self._cache.append(self._tail, base_offset, last_offset, batch)
        self.next_offset = last_offset + 1
        self.size += len(batch)
        return base_offset

    def _remember(self, producer_id: int, state: ProducerState) -> None:
        self.producers[producer_id] = state
        self._changed_producers.add(producer_id)

    def forget_producers(self, untouched_since_ms: int) -> None:
        """Drop what is known of producers that have been silent for long and have no transaction open."""
        for producer_id, state in list(self.producers.items()):
            if state.touched_ms < untouched_since_ms and state.first_offset is None:
                del self.producers[producer_id]
                self._changed_producers.add(producer_id)
                self._store.changed(self)

    def _grown(self) -> None:
        self._store.changed(self)
        _wake(self.waiting_for_end)
        before = self._last_stable
        self._find_last_stable()
        if self._last_stable != before:
            _wake(self.waiting_for_stable)

    def _find_last_stable(self) -> None:
        self._last_stable = min(self._open.values(), default=self.next_offset)

    def wake_all(self) -> None:
        """Let everyone who waits for this partition look again."""
        _wake(self.waiting_for_end)
        _wake(self.waiting_for_stable)

    # Reading.

    def batches_from(self, offset: int) -> Iterator[tuple[int, int, bytes]]:
        """Base offset, last offset and bytes of each batch from the one that holds `offset` (or the next) on."""
        if self._tail.holds(offset):
            return self._tail.batches_from(offset)
        return self._store.batches_from(self.id, offset)

    def read(
        self, offset: int, below: int, maximum_bytes: int, *, at_least_one: bool
    ) -> tuple[list[bytes], int]:
        """The batches from `offset` that begin below `below`, and their size; at least one whatever its size, if asked.

        Raises Refusal OFFSET_OUT_OF_RANGE outside the log.
        """
        if not self.log_start <= offset <= self.next_offset:
            raise Refusal(ErrorCode.OFFSET_OUT_OF_RANGE)
        found: list[bytes] = []
        size = 0
        if offset >= below:
            return found, size
        for base_offset, _, batch in self.batches_from(offset):
            if base_offset >= below or (size + len(batch) > maximum_bytes and (found or not at_least_one)):
                break
            found.append(batch)
            size += len(batch)
        return found, size

    def aborted_between(self, offset: int, below: int) -> list[Aborted]:
        """The aborted transactions that a reader of [offset, below) has to leave out."""
        start = bisect_left(self.aborted, offset, key=lambda each: each.last_offset)
        return [each for each in self.aborted[start:] if each.first_offset < below]

    def find_time(self, timestamp: int, below: int) -> tuple[int, int] | None:
        """Timestamp and offset of the first record below `below` that is not older than `timestamp`."""
        start, end = self._store.key_range(self.id, self.log_start, below)
        for (batch,) in self._store.query(
            "select data from batches where key between ? and ? and maximum_timestamp >= ? order by key",
            (start, end, timestamp),
        ):
            header = batches.read_header(batch)
            for record in batches.records(header, batch):
                if record.timestamp >= timestamp and record.offset >= self.log_start:
                    return record.timestamp, record.offset
        return None

    # Shortening: retention, DeleteRecords, compaction.

    def start_at(self, offset: int) -> None:
        """Drop everything below `offset`; a batch that reaches beyond it stays, hidden as far as it is below."""
        bounds = (*self._store.key_range(self.id, 0, offset), offset)
        condition = "where key between ? and ? and last_offset < ?"
        ((freed,),) = self._store.query(
            f"select coalesce(sum(length(data)), 0) from batches {condition}", bounds
        )
        self._store.execute(f"delete from batches {condition}", bounds)
        self.log_start = offset
        self.size -= freed
        self.cleaned_to = max(self.cleaned_to, offset)
        gone = bisect_left(self.aborted, offset, key=lambda each: each.last_offset)
        if gone:
            del self.aborted[:gone]
            self._store.execute(
                "delete from aborted_transactions where partition_id = ? and last_offset < ?",
                (self.id, offset),
            )
        self._store.changed(self)

    def rewritten(self, freed: int = 0) -> None:
        """Forget the batches in memory, since those on disk changed, and are `freed` bytes less."""
        self._tail.clear()
        self.size -= freed
        self._store.changed(self)

    def forget_aborted(self, marker_offset: int) -> None:
        """Forget an aborted transaction whose records and marker are gone."""
        self.aborted = [each for each in self.aborted if each.last_offset != marker_offset]
        self._store.execute(
            "delete from aborted_transactions where partition_id = ? and last_offset = ?",
            (self.id, marker_offset),
        )


def _wake(waiters: set[Waiter]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
