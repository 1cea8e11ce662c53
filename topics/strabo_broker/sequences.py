"""What one partition remembers of one producer: epoch and last sequences, so that a repeat is known for a repeat.

The rules are Apache Kafka's (ProducerAppendInfo, ProducerStateManager): the last five batches are remembered, because a
producer may have five requests in flight; after the sequence 2^31-1 comes 0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from strabo_broker.batches import BatchHeader
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal

REMEMBERED_BATCHES: Final = 5
_SEQUENCES: Final = 1 << 31
_HEAD: Final = struct.Struct(">hqqB")
_BATCH: Final = struct.Struct(">iiqq")
_NO_TRANSACTION: Final = -1


@dataclass(frozen=True, slots=True)
class AppendedBatch:
    """A batch that a producer appended: its sequences, its first offset, and the time that the broker gave it."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    append_time: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """One producer in one partition. `first_offset` is where its open transaction begins, or None."""

    epoch: int
    batches: tuple[AppendedBatch, ...] = ()
    first_offset: int | None = None
    touched_ms: int = 0

    def encode(self) -> bytes:
        first = _NO_TRANSACTION if self.first_offset is None else self.first_offset
        parts = [_HEAD.pack(self.epoch, first, self.touched_ms, len(self.batches))]
        parts += (
            _BATCH.pack(each.first_sequence, each.last_sequence, each.base_offset, each.append_time)
            for each in self.batches
        )
        return b"".join(parts)

    @staticmethod
    def decode(encoded: bytes) -> ProducerState:
        epoch, first, touched, count = _HEAD.unpack_from(encoded)
        batches = tuple(
            AppendedBatch(*_BATCH.unpack_from(encoded, _HEAD.size + index * _BATCH.size))
            for index in range(count)
        )
        return ProducerState(epoch, batches, None if first == _NO_TRANSACTION else first, touched)


def find_repeat(state: ProducerState | None, header: BatchHeader) -> AppendedBatch | None:
    """The earlier append of the same batch, if it is among those remembered."""
    if state is None or state.epoch != header.producer_epoch:
        return None
    last = _last_sequence(header)
    for each in state.batches:
        if each.first_sequence == header.base_sequence and each.last_sequence == last:
            return each
    return None


def check_sequence(state: ProducerState | None, header: BatchHeader) -> None:
    """Refuse a batch of a fenced producer, or one that does not follow the producer's last batch."""
    if state is None:
        return  # nothing is known of it (its records may have been deleted): any sequence may begin
    if header.producer_epoch < state.epoch:
        raise Refusal(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {header.producer_id} has epoch {header.producer_epoch}; the partition knows epoch {state.epoch}",
        )
    if header.producer_epoch > state.epoch or not state.batches:
        expected = 0
    else:
        expected = (state.batches[-1].last_sequence + 1) % _SEQUENCES
    if header.base_sequence != expected:
        raise Refusal(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {header.producer_id} sent sequence {header.base_sequence}; {expected} comes next",
        )


def after_batch(
    state: ProducerState | None, header: BatchHeader, base_offset: int, append_time: int, now_ms: int
) -> ProducerState:
    """The state once this batch is appended at `base_offset`."""
    appended = AppendedBatch(header.base_sequence, _last_sequence(header), base_offset, append_time)
    earlier: tuple[AppendedBatch, ...] = ()
    first_offset = None
    if state is not None:
        first_offset = state.first_offset
        if state.epoch == header.producer_epoch:
            earlier = state.batches[-(REMEMBERED_BATCHES - 1) :]
    if header.is_transactional and first_offset is None:
        first_offset = base_offset
    return ProducerState(header.producer_epoch, (*earlier, appended), first_offset, now_ms)


def after_marker(state: ProducerState | None, epoch: int, now_ms: int) -> ProducerState:
    """The state once the producer's transaction has ended; a newer epoch forgets the sequences of the older."""
    kept = state.batches if state is not None and state.epoch == epoch else ()
    return ProducerState(epoch, kept, None, now_ms)


def _last_sequence(header: BatchHeader) -> int:
    return (header.base_sequence + header.last_offset_delta) % _SEQUENCES
