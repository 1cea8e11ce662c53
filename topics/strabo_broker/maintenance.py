"""What runs now and then: retention, compaction, expiry, and keeping the write-ahead log small."""

from __future__ import annotations

import asyncio
from typing import Final

from strabo_broker.api.call import now_ms
from strabo_broker.api.groups import GroupsApi
from strabo_broker.compaction import compact
from strabo_broker.offsets import Offsets
from strabo_broker.partition import Partition
from strabo_broker.settings import BrokerSettings
from strabo_broker.store import Store
from strabo_broker.topics import Topics
from strabo_broker.transactions import Transactions

_SLICE: Final = 100


class Maintenance:
    """Passes over everything that may grow old. The loop is given back often, since answers wait meanwhile."""

    def __init__(
        self,
        settings: BrokerSettings,
        store: Store,
        topics: Topics,
        transactions: Transactions,
        groups: GroupsApi,
        offsets: Offsets,
    ) -> None:
        self._settings = settings
        self._store = store
        self._topics = topics
        self._transactions = transactions
        self._groups = groups
        self._offsets = offsets
        self._running = asyncio.Lock()

    async def run(self, *, at_once: bool = False) -> None:
        """One pass; `at_once` compacts whatever the dirty ratio."""
        async with self._running:
            now = now_ms()
            for topic in self._topics:
                for partition in topic.partitions:
                    await self._tend(partition, now, at_once=at_once)
                    await asyncio.sleep(
                        0
                    )  # a look at one partition is short; at hundreds in a row, others would wait
            self._transactions.expire(now - self._settings.transactional_id_expiration_ms)
            self._offsets.expire(self._groups.live(), now - self._settings.offsets_retention_ms)
            self._groups.forget_empty()
            await self._sweep_deleted()
            await self._store.settled()
            await self._store.checkpoint()

    async def _tend(self, partition: Partition, now: int, *, at_once: bool) -> None:
        if partition.size and partition.configs.deletes:
            await self._retain(partition, now)
        if partition.size and partition.configs.compacts:
            await compact(self._store, partition, now, at_once=at_once)
        if not partition.deleted:
            partition.forget_producers(now - self._settings.producer_id_expiration_ms)

    async def _retain(self, partition: Partition, now: int) -> None:
        """Drop the batches that are too old, or too many bytes from the end; never one of an open transaction."""
        while not partition.deleted:
            start = self._first_kept(partition, now)
            if start <= partition.log_start:
                return
            partition.start_at(start)
            await self._store.settled()
            await asyncio.sleep(0)

    def _first_kept(self, partition: Partition, now: int) -> int:
        """The offset at which the log may begin, looking no further than a slice."""
        configs, start, size = partition.configs, partition.log_start, partition.size
        first, last = self._store.key_range(partition.id, start, partition.last_stable_offset)
        for last_offset, timestamp, length in self._store.query(
            "select last_offset, maximum_timestamp, length(data) from batches where key between ? and ?"
            " order by key limit ?",
            (first, last, _SLICE),
        ):
            too_old = configs.retention_ms >= 0 and timestamp < now - configs.retention_ms
            too_many = 0 <= configs.retention_bytes <= size - length
            if not (too_old or too_many):
                break
            start, size = last_offset + 1, size - length
        return int(start)

    async def _sweep_deleted(self) -> None:
        """Take the batches of deleted topics out of the file."""
        for (partition_id,) in list(self._store.query("select id from deleted_partitions")):
            first, last = self._store.key_range(partition_id, 0)
            while self._store.execute(
                "delete from batches where key in (select key from batches where key between ? and ? limit ?)",
                (first, last, _SLICE),
            ).rowcount:
                await self._store.settled()
                await asyncio.sleep(0)
            self._store.execute("delete from deleted_partitions where id = ?", (partition_id,))
