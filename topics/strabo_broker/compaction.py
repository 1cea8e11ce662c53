"""Compaction: of the records with one key, only the newest stays.

What is below the last stable offset and older than `min.compaction.lag.ms` may be cleaned; the log's last batch never
is, so that a reader always gets to the log's end. A pass reads the part that was never cleaned, noting each key's
newest offset, then rewrites the log from its start to there:

- records of aborted transactions go at once; an open transaction is above the last stable offset, so never touched;
- a tombstone, or a transaction's marker, is given a time at which it may go (`delete.retention.ms` from the first pass
  that meets it), so that readers under way still see it; an aborted transaction is forgotten together with its marker;
- a batch keeps its offsets, producer, sequence and compression, however few records are left in it; an empty one goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

from strabo_broker import batches
from strabo_broker.batches import BatchHeader, Record
from strabo_broker.compression import compress
from strabo_broker.errors import CorruptBatch
from strabo_broker.partition import Aborted, Partition
from strabo_broker.store import Store

_SLICE_BYTES: Final = 256 << 10
_SLICE_BATCHES: Final = 64
_MAXIMUM_KEYS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Row:
    """A stored batch, and when its tombstones or its marker may go (None: not decided yet)."""

    key: int
    last_offset: int
    horizon_ms: int | None
    batch: bytes

    @property
    def base_offset(self) -> int:
        return Store.offset_of(self.key)


async def compact(store: Store, partition: Partition, now_ms: int, *, at_once: bool) -> None:
    """Compact a partition if it is due: dirty enough, overdue, with tombstones to drop, or `at_once`."""
    end = _cleanable_end(store, partition, now_ms)
    if end <= partition.log_start or not (at_once or _is_due(store, partition, end, now_ms)):
        return
    newest: dict[bytes, int] = {}
    aborted = _AbortedRanges(partition.aborted)
    dirty_from = max(partition.cleaned_to, partition.log_start)
    async for row in _rows(store, partition, dirty_from, end):
        header = batches.read_header(row.batch)
        if header.is_control or aborted.covers(header):
            continue
        for record in _records(header, row.batch):
            if record.key is not None:
                newest[record.key] = record.offset
        if len(newest) >= _MAXIMUM_KEYS:
            end = row.last_offset + 1
            break
    rewriting = _Rewriting(store, partition, newest, aborted, now_ms)
    async for row in _rows(store, partition, partition.log_start, end):
        rewriting.take(row)
    if not partition.deleted:
        partition.cleaned_to = max(partition.cleaned_to, end)
        store.changed(partition)


def _cleanable_end(store: Store, partition: Partition, now_ms: int) -> int:
    """The offset below which everything may be cleaned."""
    end = partition.last_stable_offset
    start, last = store.key_range(partition.id, partition.log_start)
    for (key,) in store.query(
        "select key from batches where key between ? and ? order by key desc limit 1", (start, last)
    ):
        end = min(end, store.offset_of(key))
    lag = partition.configs.minimum_compaction_lag_ms
    if lag > 0:
        start, last = store.key_range(partition.id, partition.cleaned_to, end)
        for (key,) in store.query(
            "select key from batches where key between ? and ? and maximum_timestamp > ? order by key limit 1",
            (start, last, now_ms - lag),
        ):
            end = min(end, store.offset_of(key))
    return end


def _is_due(store: Store, partition: Partition, end: int, now_ms: int) -> bool:
    start, last = store.key_range(partition.id, partition.cleaned_to, end)
    ((dirty, oldest),) = store.query(
        "select coalesce(sum(length(data)), 0), min(maximum_timestamp) from batches where key between ? and ?",
        (start, last),
    )
    if dirty and partition.size:
        if dirty / partition.size >= partition.configs.minimum_cleanable_dirty_ratio:
            return True
        if now_ms - oldest > partition.configs.maximum_compaction_lag_ms:
            return True
    start, last = store.key_range(partition.id, partition.log_start, end)
    return any(
        store.query(
            "select 1 from batches where key between ? and ? and delete_horizon_ms <= ? limit 1",
            (start, last, now_ms),
        )
    )


async def _rows(store: Store, partition: Partition, from_offset: int, below: int) -> AsyncIterator[_Row]:
    """The stored batches of [from_offset, below), a slice at a time; others are served between slices."""
    start, last = store.key_range(partition.id, from_offset, below)
    while not partition.deleted:
        found: list[_Row] = []
        size = 0
        for values in store.query(
            "select key, last_offset, delete_horizon_ms, data from batches where key between ? and ?"
            " order by key limit ?",
            (start, last, _SLICE_BATCHES),
        ):
            found.append(_Row(*values))
            size += len(found[-1].batch)
            if size >= _SLICE_BYTES:
                break
        if not found:
            return
        for row in found:
            yield row
        start = found[-1].key + 1
        await store.settled()
        await asyncio.sleep(0)


def _records(header: BatchHeader, batch: bytes) -> Iterator[Record]:
    try:
        yield from batches.records(header, batch)
    except CorruptBatch:
        return  # taken before the topic compacted, when records were not looked into; it stays as it is


class _AbortedRanges:
    """Which batches belong to aborted transactions."""

    def __init__(self, aborted: list[Aborted]) -> None:
        self._by_producer: dict[int, list[Aborted]] = {}
        for each in aborted:
            self._by_producer.setdefault(each.producer_id, []).append(each)

    def covers(self, header: BatchHeader) -> bool:
        return header.is_transactional and any(
            each.first_offset <= header.base_offset < each.last_offset
            for each in self._by_producer.get(header.producer_id, ())
        )


class _Rewriting:
    """The second half of a pass: what becomes of each batch."""

    def __init__(
        self,
        store: Store,
        partition: Partition,
        newest: dict[bytes, int],
        aborted: _AbortedRanges,
        now_ms: int,
    ) -> None:
        self._store = store
        self._partition = partition
        self._newest = newest
        self._aborted = aborted
        self._now_ms = now_ms
        self._horizon_ms = now_ms + partition.configs.delete_retention_ms

    def take(self, row: _Row) -> None:
        header = batches.read_header(row.batch)
        may_drop = row.horizon_ms is not None and row.horizon_ms <= self._now_ms
        if header.is_control:
            if may_drop:
                self._delete(row)
                self._partition.forget_aborted(row.last_offset)
            elif row.horizon_ms is None:
                self._decide_horizon(row)
            return
        if self._aborted.covers(header):
            self._delete(row)
            return
        try:
            records = list(batches.records(header, row.batch))
        except CorruptBatch:
            return
        kept = [each for each in records if self._keeps(each) and not (each.is_tombstone and may_drop)]
        if not kept:
            self._delete(row)
            return
        if len(kept) < len(records):
            self._replace(row, header, kept)
        if row.horizon_ms is None and any(each.is_tombstone for each in kept):
            self._decide_horizon(row)

    def _keeps(self, record: Record) -> bool:
        return record.key is not None and self._newest.get(record.key, -1) <= record.offset

    def _delete(self, row: _Row) -> None:
        if self._store.execute("delete from batches where key = ?", (row.key,)).rowcount:
            self._partition.rewritten(len(row.batch))

    def _decide_horizon(self, row: _Row) -> None:
        self._store.execute(
            "update batches set delete_horizon_ms = ? where key = ?", (self._horizon_ms, row.key)
        )

    def _replace(self, row: _Row, header: BatchHeader, kept: list[Record]) -> None:
        newest = (
            header.maximum_timestamp if header.is_log_append_time else max(each.timestamp for each in kept)
        )
        payload = compress(header.compression, b"".join(each.encoded for each in kept))
        batch = batches.assemble(header._replace(record_count=len(kept), maximum_timestamp=newest), payload)
        if self._store.execute(
            "update batches set data = ?, maximum_timestamp = ? where key = ?", (batch, newest, row.key)
        ).rowcount:
            self._partition.rewritten(len(row.batch) - len(batch))
