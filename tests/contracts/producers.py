"""Producers that send each request when they are told to, and nothing by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from tests.contracts.wire import (
    GROUP_COORDINATOR,
    PATIENCE_S,
    TRANSACTION_COORDINATOR,
    Code,
    Log,
    Wire,
    batch,
    find_coordinator,
)

# "Not yet": every client tries these again.
TRANSIENT = {
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_COORDINATOR,
    Code.CONCURRENT_TRANSACTIONS,
}


def settled(ask: Callable[[], tuple[int, Any]]) -> tuple[int, Any]:
    """Ask until the answer is no transient error."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        code, answer = ask()
        if code not in TRANSIENT or time.monotonic() > deadline:
            return code, answer
        time.sleep(0.01)


def new_producer_id(wire: Wire) -> int:
    """An id; Apache Kafka answers "loading" while it fetches its next block of ids."""

    def ask() -> tuple[int, Any]:
        answer = wire.ask(InitProducerIdRequest(None, 60_000))
        return answer.error_code, answer

    code, answer = settled(ask)
    assert (code, answer.producer_epoch) == (Code.NONE, 0)
    return int(answer.producer_id)


class IdempotentProducer:
    """An idempotent producer that numbers its batches as it is told."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.producer_id = new_producer_id(log.wire)

    def send(self, sequence: int, *values: bytes, epoch: int = 0) -> tuple[int, int]:
        records = batch(values, producer_id=self.producer_id, epoch=epoch, sequence=sequence)
        return self.log.produce(records)


class TransactionalProducer:
    """One start of a transactional id; another instance with the same id fences this one."""

    def __init__(self, wire: Wire, transactional_id: str, timeout_ms: int = 30_000) -> None:
        self.wire, self.transactional_id, self.timeout_ms = wire, transactional_id, timeout_ms
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    def start(self) -> int:
        """Take the id over: earlier holders are fenced, their open transaction ends; returns the error code."""
        find_coordinator(self.wire, self.transactional_id, TRANSACTION_COORDINATOR)
        request = InitProducerIdRequest(self.transactional_id, self.timeout_ms)

        def ask() -> tuple[int, Any]:
            answer = self.wire.ask(request)
            return answer.error_code, answer

        code, answer = settled(ask)
        if code == Code.NONE:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
        return code

    def add(self, *logs: Log) -> int:
        """Make partitions part of the transaction; returns the first error code that is not 0."""
        topics = [(log.topic, [log.partition]) for log in logs]
        request = AddPartitionsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, topics)

        def ask() -> tuple[int, Any]:
            answer = self.wire.ask(request)
            codes = [code for _topic, parts in answer.errors for _partition, code in parts]
            return next((code for code in codes if code), 0), answer

        return settled(ask)[0]

    def send(self, log: Log, *values: bytes, key: bytes | None = None) -> tuple[int, int]:
        """Write to a partition that was added; returns the error code and the first offset."""
        place = (log.topic, log.partition)
        sequence = self._sequences.get(place, 0)
        records = batch(
            values,
            key=key,
            producer_id=self.producer_id,
            epoch=self.epoch,
            sequence=sequence,
            transactional=True,
        )
        code, offset = log.produce(records, transactional_id=self.transactional_id)
        if code == Code.NONE:
            self._sequences[place] = sequence + len(values)
        return code, offset

    def write(self, log: Log, *values: bytes, key: bytes | None = None) -> int:
        """Add a partition and write to it; returns the first offset."""
        assert self.add(log) == Code.NONE
        code, offset = self.send(log, *values, key=key)
        assert code == Code.NONE
        return offset

    def end(self, *, commit: bool) -> int:
        """Commit or abort; returns the error code."""
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, commit)

        def ask() -> tuple[int, Any]:
            answer = self.wire.ask(request)
            return answer.error_code, answer

        return settled(ask)[0]

    def commit(self) -> None:
        assert self.end(commit=True) == Code.NONE

    def abort(self) -> None:
        assert self.end(commit=False) == Code.NONE

    def add_offsets(self, group: str) -> int:
        """Make a group's positions part of the transaction; returns the error code."""
        find_coordinator(self.wire, group, GROUP_COORDINATOR)
        request = AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group)

        def ask() -> tuple[int, Any]:
            answer = self.wire.ask(request)
            return answer.error_code, answer

        return settled(ask)[0]

    def commit_offset(self, group: str, log: Log, offset: int) -> int:
        """Set a group's position when the transaction commits; returns the error code."""
        topics = [(log.topic, [(log.partition, offset, "")])]
        request = TxnOffsetCommitRequest(self.transactional_id, group, self.producer_id, self.epoch, topics)

        def ask() -> tuple[int, Any]:
            answer = self.wire.ask(request)
            return answer.errors[0][1][0][1], answer

        return settled(ask)[0]
