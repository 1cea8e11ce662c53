"""Taking over inbox partitions, so that whoever had them can never commit for them again.

`<ns>.state` is also the log of ownership, with one key a worker's id (`\\0owner/<id>`), and this is the order that
holds under crashes, pauses and races (a model of it is explored in the tests):

1. Read the partition's state; fence every foreign owner found in it, which also ends its open transaction.
2. Commit a claim: tombstones for the owners fenced, and the own key.
3. Read up to the claim. A foreign owner that turns up there is fenced, and the claim is made again. When there is
   none, what was read is the state: nobody else can add to it any more.

One key for all owners would not do: a claimant that dies between its claim and the fencing would hide the owner before
it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import structlog

from strabo_avro.codec import decode, encode
from strabo_avro.errors import Undecodable
from strabo_avro.records import OWNER_PREFIX, POSITION_KEY, Owner, Position, owner_key
from strabo_runtime.worker.errors import PartitionHalted
from strabo_runtime.worker.kafka import Appended, Batches, Incoming, KafkaPort, Outgoing, Reached, Reader

READ_WAIT_S = 0.03
STANDSTILL_S = 0.15
UNCOMMITTED_READ_S = 0.3

_log = structlog.get_logger("strabo.worker")


class StateLog:
    """What a partition of the state topic says, as far as it has been read."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.position: int | None = None
        self.owners: set[str] = set()
        self.instances: dict[bytes, bytes] = {}
        self._ahead: list[Incoming] = []

    def take(self, records: Iterable[Incoming], end: int) -> None:
        """Take in what stands before `end`, now or earlier read; the rest is kept for a later end."""
        waiting = [*self._ahead, *records]
        self._ahead = [record for record in waiting if record.offset >= end]
        for record in waiting:
            if record.offset < end:
                self.apply(record)

    def apply(self, record: Incoming) -> None:
        """Take in the next record. Raises `PartitionHalted`."""
        key, value = record.key or b"", record.value
        if key == POSITION_KEY:
            self._move(record)
        elif key.startswith(OWNER_PREFIX):
            owner = key[len(OWNER_PREFIX) :].decode(errors="replace")
            if value is None:
                self.owners.discard(owner)
            else:
                self.owners.add(owner)
        elif value is None:
            self.instances.pop(key, None)
        else:
            self.instances[key] = value

    def _move(self, record: Incoming) -> None:
        try:
            position = decode(record.value or b"", Position).position
        except Undecodable as error:
            raise PartitionHalted(self.partition, f"its position cannot be read: {error}") from error
        if self.position is not None and position < self.position:
            raise PartitionHalted(
                self.partition,
                f"its position went back from {self.position} to {position}: two workers stepped it",
            )
        self.position = position


class TakeOver:
    """Takes partitions over for one producer's id.

    `commit` writes to Kafka in one transaction of that producer, unless the assignment has changed: then it raises
    `Overtaken`, as `check` does.
    """

    def __init__(
        self,
        kafka: KafkaPort,
        topic: str,
        owner: str,
        commit: Callable[[Batches], Awaitable[Mapping[tuple[str, int], Appended]]],
        check: Callable[[], None],
        fenced: set[str],
        now: Callable[[], int],
        reached: Reached,
    ) -> None:
        """`fenced` holds the ids that this process has fenced, ever: an id is fenced for good."""
        self._kafka = kafka
        self._topic = topic
        self._owner = owner
        self._commit = commit
        self._check = check
        self._fenced = fenced
        self._now = now
        self._reached = reached

    async def run(self, partitions: Sequence[int]) -> list[StateLog]:
        """Own these partitions; returns what the state topic says about each. Raises `KafkaFailed`, `Overtaken`."""
        reader = await self._kafka.reader(self._topic, partitions)
        try:
            logs = [StateLog(partition) for partition in partitions]
            stable = await self._kafka.ends(self._topic, partitions, committed=True)
            await self._read(reader, logs, stable)
            self._reached("takeover.surveyed")
            await self._fence(owner for log in logs for owner in log.owners)
            claiming = logs
            while claiming:
                claims = await self._claim(claiming)
                await self._read(
                    reader, claiming, {partition: claim + 1 for partition, claim in claims.items()}
                )
                self._reached("takeover.read")
                claiming = [log for log in claiming if log.owners - {self._owner}]
                await self._fence(owner for log in claiming for owner in log.owners)
            return logs
        finally:
            await reader.close()

    async def _claim(self, logs: Sequence[StateLog]) -> dict[int, int]:
        """Commit a claim of each partition; returns the claims' offsets."""
        claim = encode(Owner(owner=self._owner, at=self._now()))
        batches = {
            (self._topic, log.partition): [
                *(Outgoing(owner_key(owner), None) for owner in sorted(log.owners & self._fenced)),
                Outgoing(owner_key(self._owner), claim),
            ]
            for log in logs
        }
        appended = await self._commit(batches)
        return {partition: place.offset for (_topic, partition), place in appended.items()}

    async def _read(self, reader: Reader, logs: Sequence[StateLog], ends: Mapping[int, int]) -> None:
        """Read each partition up to its end. Where an open transaction stands in the way, fence whoever may have it."""
        left = {log.partition: log for log in logs}
        for log in logs:
            log.take((), ends[log.partition])
        moved = time.monotonic()
        while True:
            for partition in list(left):
                if await reader.position(partition) >= ends[partition]:
                    del left[partition]
            if not left:
                return
            self._check()
            found = await reader.read(list(left), READ_WAIT_S)
            for partition, records in found.items():
                left[partition].take(records, ends[partition])
            if found:
                moved = time.monotonic()
            elif time.monotonic() - moved > STANDSTILL_S:
                positions = {partition: await reader.position(partition) for partition in left}
                hidden = await self._owners_beyond(positions)
                _log.info(
                    "an open transaction stands in the way", partitions=sorted(left), owners=sorted(hidden)
                )
                await self._fence([*hidden, *(owner for log in left.values() for owner in log.owners)])
                moved = time.monotonic()

    async def _owners_beyond(self, positions: Mapping[int, int]) -> set[str]:
        """The owners whose claims cannot be read yet."""
        reader = await self._kafka.uncommitted_reader(self._topic, positions)
        found = set()
        try:
            until = time.monotonic() + UNCOMMITTED_READ_S
            while time.monotonic() < until:
                for records in (await reader.read(list(positions), READ_WAIT_S)).values():
                    for record in records:
                        key = record.key or b""
                        if key.startswith(OWNER_PREFIX) and record.value is not None:
                            found.add(key[len(OWNER_PREFIX) :].decode(errors="replace"))
        finally:
            await reader.close()
        return found

    async def _fence(self, owners: Iterable[str]) -> None:
        """Initialise each foreign id, so that its producer can commit nothing any more."""
        for owner in sorted(set(owners) - {self._owner} - self._fenced):
            self._check()
            producer = await self._kafka.producer(owner)
            self._fenced.add(owner)
            self._reached("takeover.fenced")
            _log.info("fenced", owner=owner)
            await producer.close()
