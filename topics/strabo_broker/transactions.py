"""The transaction coordinator: transactional ids, their producers, and what each open transaction has touched.

A transaction ends in one commit of the store: markers in every partition, the group offsets, and the id's new state
together. So there is no prepared state to recover, and CONCURRENT_TRANSACTIONS is never answered.

    InitProducerId ──▶ EMPTY ──AddPartitions, AddOffsets──▶ ONGOING ──EndTxn──▶ COMMITTED | ABORTED ──▶ ONGOING ...
                                                               └── time-out, or another's InitProducerId: epoch + 1
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.offsets import CommittedOffset, Offsets
from strabo_broker.partition import Partition
from strabo_broker.store import Store
from strabo_broker.topics import Topics

_LAST_EPOCH: Final = 32_766
_NEXT_PRODUCER_ID: Final = "next_producer_id"
_FIRST_PRODUCER_ID: Final = 1_000

OffsetKey = tuple[str, str, int]
"""Group, topic, partition."""


class TransactionState(StrEnum):
    EMPTY = "empty"
    ONGOING = "ongoing"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(slots=True, eq=False)
class Transaction:
    """A transactional id with its producer, and what its open transaction has touched."""

    id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    touched_ms: int
    state: TransactionState = TransactionState.EMPTY
    started_ms: int = 0
    bumped_from: int = -1
    """The epoch before the last bump that the producer itself asked for: its repeat gets the same answer."""
    partitions: dict[Partition, None] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    offsets: dict[OffsetKey, CommittedOffset] = field(default_factory=dict)

    def save(self, store: Store) -> None:
        state = {
            "timeout_ms": self.timeout_ms,
            "touched_ms": self.touched_ms,
            "state": self.state,
            "started_ms": self.started_ms,
            "bumped_from": self.bumped_from,
            "partitions": [each.id for each in self.partitions],
            "groups": sorted(self.groups),
            "offsets": [
                (*key, value.offset, value.leader_epoch, value.metadata)
                for key, value in self.offsets.items()
            ],
        }
        store.execute(
            "insert or replace into transactional_ids values (?, ?, ?, ?)",
            (self.id, self.producer_id, self.epoch, json.dumps(state, separators=(",", ":"))),
        )


class Transactions:
    """All transactional ids of the broker."""

    def __init__(self, store: Store, topics: Topics, offsets: Offsets, maximum_timeout_ms: int) -> None:
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._maximum_timeout_ms = maximum_timeout_ms
        self._ids: dict[str, Transaction] = {}
        self._by_producer: dict[int, Transaction] = {}
        self._open: dict[Transaction, None] = {}
        self._next_producer_id = _FIRST_PRODUCER_ID

    def restore(self) -> None:
        """Take up what an earlier process left; an open transaction stays open until its time-out."""
        self._next_producer_id = self._store.value(_NEXT_PRODUCER_ID) or _FIRST_PRODUCER_ID
        for transactional_id, producer_id, epoch, state in list(
            self._store.query("select id, producer_id, epoch, state from transactional_ids")
        ):
            kept = json.loads(state)
            partitions = [self._topics.partition_by_id(each) for each in kept["partitions"]]
            transaction = Transaction(
                transactional_id,
                producer_id,
                epoch,
                kept["timeout_ms"],
                kept["touched_ms"],
                TransactionState(kept["state"]),
                kept["started_ms"],
                kept["bumped_from"],
                {each: None for each in partitions if each is not None},
                set(kept["groups"]),
                {
                    (group, topic, number): CommittedOffset(offset, leader_epoch, metadata)
                    for group, topic, number, offset, leader_epoch, metadata in kept["offsets"]
                },
            )
            self._ids[transactional_id] = self._by_producer[producer_id] = transaction
            if transaction.state is TransactionState.ONGOING:
                self._open[transaction] = None

    def new_producer_id(self) -> int:
        """A producer id that was never given out before."""
        producer_id = self._next_producer_id
        self._next_producer_id += 1
        self._store.set_value(_NEXT_PRODUCER_ID, self._next_producer_id)
        return producer_id

    def initialise(
        self, transactional_id: str, timeout_ms: int, producer_id: int, epoch: int, now_ms: int
    ) -> tuple[int, int]:
        """Producer id and epoch for a new producer of this id; the one before is fenced, its open transaction aborted.

        A producer that gives its own id and epoch asks for its next epoch, and is refused when it is fenced itself.
        """
        if not 0 < timeout_ms <= self._maximum_timeout_ms:
            raise Refusal(
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"a transaction time-out of {timeout_ms} ms; from 1 to {self._maximum_timeout_ms} are allowed",
            )
        transaction = self._ids.get(transactional_id)
        if transaction is None:
            transaction = Transaction(transactional_id, self.new_producer_id(), 0, timeout_ms, now_ms)
            self._ids[transactional_id] = self._by_producer[transaction.producer_id] = transaction
            self._store.changed(transaction)
            return transaction.producer_id, transaction.epoch
        if producer_id >= 0:
            if producer_id != transaction.producer_id or epoch not in (
                transaction.epoch,
                transaction.bumped_from,
            ):
                raise Refusal(ErrorCode.PRODUCER_FENCED)
            if epoch == transaction.bumped_from:
                return transaction.producer_id, transaction.epoch
        was = transaction.epoch
        self._bump(transaction)
        if transaction.state is TransactionState.ONGOING:
            self._end(transaction, commit=False, now_ms=now_ms)
        if was >= _LAST_EPOCH:
            del self._by_producer[transaction.producer_id]
            transaction.producer_id, transaction.epoch = self.new_producer_id(), 0
            self._by_producer[transaction.producer_id] = transaction
        transaction.bumped_from = was if producer_id >= 0 else -1
        transaction.state = TransactionState.EMPTY
        transaction.timeout_ms, transaction.touched_ms = timeout_ms, now_ms
        self._store.changed(transaction)
        return transaction.producer_id, transaction.epoch

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partitions: Iterable[Partition],
        now_ms: int,
    ) -> None:
        """Take these partitions into the producer's transaction, which begins if none is open."""
        transaction = self._owned(transactional_id, producer_id, epoch)
        self._begin(transaction, now_ms)
        transaction.partitions.update(dict.fromkeys(partitions))

    def add_group(
        self, transactional_id: str, producer_id: int, epoch: int, group_id: str, now_ms: int
    ) -> None:
        """Take a group's offsets into the producer's transaction, which begins if none is open."""
        transaction = self._owned(transactional_id, producer_id, epoch)
        self._begin(transaction, now_ms)
        transaction.groups.add(group_id)

    def check_offsets(
        self, transactional_id: str, producer_id: int, epoch: int, group_id: str
    ) -> Transaction:
        """The open transaction that may commit offsets of this group."""
        transaction = self._owned(transactional_id, producer_id, epoch)
        if transaction.state is not TransactionState.ONGOING or group_id not in transaction.groups:
            raise Refusal(ErrorCode.INVALID_TXN_STATE, f"group {group_id} is not part of the transaction")
        return transaction

    def add_offset(
        self, transaction: Transaction, group_id: str, topic: str, number: int, offset: CommittedOffset
    ) -> None:
        """Keep an offset until the transaction ends."""
        transaction.offsets[group_id, topic, number] = offset
        self._store.changed(transaction)

    def end(self, transactional_id: str, producer_id: int, epoch: int, *, commit: bool, now_ms: int) -> None:
        """Commit or abort the producer's transaction; a repeat of the same is answered alike."""
        transaction = self._owned(transactional_id, producer_id, epoch)
        if transaction.state is not TransactionState.ONGOING:
            if transaction.state is (TransactionState.COMMITTED if commit else TransactionState.ABORTED):
                return
            raise Refusal(
                ErrorCode.INVALID_TXN_STATE,
                f"the transaction of {transactional_id} is {transaction.state}, so it cannot be "
                + ("committed" if commit else "aborted"),
            )
        self._end(transaction, commit=commit, now_ms=now_ms)

    def check_produce(self, producer_id: int, epoch: int, partition: Partition) -> None:
        """Refuse a transactional batch outside its producer's open transaction."""
        transaction = self._by_producer.get(producer_id)
        if transaction is not None and transaction.epoch != epoch:
            raise Refusal(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} has epoch {epoch}; the epoch of {transaction.id} is {transaction.epoch}",
            )
        if transaction is None or partition not in transaction.partitions:
            raise Refusal(ErrorCode.INVALID_TXN_STATE, "the partition is not part of an open transaction")

    def has_pending_offset(self, group_id: str, topic: str, number: int) -> bool:
        """Whether an open transaction is about to commit an offset here."""
        return any((group_id, topic, number) in each.offsets for each in self._open)

    def abort_overdue(self, now_ms: int) -> list[str]:
        """Abort what is past its time-out, fencing its producer; the ids concerned."""
        overdue = [each for each in self._open if now_ms - each.started_ms > each.timeout_ms]
        for transaction in overdue:
            self._bump(transaction)
            self._end(transaction, commit=False, now_ms=now_ms)
        return [each.id for each in overdue]

    def expire(self, untouched_since_ms: int) -> None:
        """Forget ids that have been idle for long."""
        for transaction in list(self._ids.values()):
            if (
                transaction.touched_ms < untouched_since_ms
                and transaction.state is not TransactionState.ONGOING
            ):
                del self._ids[transaction.id], self._by_producer[transaction.producer_id]
                self._store.execute("delete from transactional_ids where id = ?", (transaction.id,))

    def _owned(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction:
        transaction = self._ids.get(transactional_id)
        if transaction is None or transaction.producer_id != producer_id:
            raise Refusal(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"{transactional_id} does not belong to producer {producer_id}",
            )
        if transaction.epoch != epoch:
            raise Refusal(
                ErrorCode.PRODUCER_FENCED,
                f"producer {producer_id} has epoch {epoch}; the epoch of {transactional_id} is {transaction.epoch}",
            )
        return transaction

    def _bump(self, transaction: Transaction) -> None:
        transaction.epoch += 1
        transaction.bumped_from = -1
        self._store.changed(transaction)

    def _begin(self, transaction: Transaction, now_ms: int) -> None:
        if transaction.state is not TransactionState.ONGOING:
            transaction.state, transaction.started_ms = TransactionState.ONGOING, now_ms
            self._open[transaction] = None
        transaction.touched_ms = now_ms
        self._store.changed(transaction)

    def _end(self, transaction: Transaction, *, commit: bool, now_ms: int) -> None:
        for partition in transaction.partitions:
            if not partition.deleted:
                partition.append_marker(
                    transaction.producer_id, transaction.epoch, commit=commit, now_ms=now_ms
                )
        if commit:
            for (group_id, topic, number), offset in transaction.offsets.items():
                if self._topics.find(topic) is not None:
                    self._offsets.commit(group_id, topic, number, offset, now_ms)
        transaction.partitions, transaction.groups, transaction.offsets = {}, set(), {}
        transaction.state = TransactionState.COMMITTED if commit else TransactionState.ABORTED
        transaction.touched_ms = now_ms
        del self._open[transaction]
        self._store.changed(transaction)
