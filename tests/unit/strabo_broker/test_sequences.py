"""Producers' sequences: repeats are known, gaps and fenced producers refused."""

from __future__ import annotations

import pytest

from strabo_broker.batches import BatchHeader, read_header
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.sequences import (
    REMEMBERED_BATCHES,
    ProducerState,
    after_batch,
    after_marker,
    check_sequence,
    find_repeat,
)
from tests.unit.strabo_broker.building import batch


def header(sequence: int, *, count: int = 1, epoch: int = 0, transactional: bool = False) -> BatchHeader:
    pairs = [(None, b"v")] * count
    return read_header(
        batch(*pairs, producer_id=1, epoch=epoch, sequence=sequence, transactional=transactional)
    )


def state_after(*appended: BatchHeader) -> ProducerState:
    state: ProducerState | None = None
    for offset, each in enumerate(appended):
        check_sequence(state, each)
        state = after_batch(state, each, offset * 10, -1, 1_000)
    assert state is not None
    return state


def code_of(state: ProducerState, refused: BatchHeader) -> ErrorCode:
    with pytest.raises(Refusal) as refusal:
        check_sequence(state, refused)
    return refusal.value.code


def test_batches_that_follow_each_other_are_taken() -> None:
    state_after(header(0, count=3), header(3, count=2), header(5))


def test_a_producer_of_which_nothing_is_known_may_begin_anywhere() -> None:
    check_sequence(None, header(41))


def test_a_gap_is_refused() -> None:
    assert code_of(state_after(header(0)), header(2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_newer_epoch_begins_at_zero() -> None:
    state = state_after(header(0))
    assert code_of(state, header(1, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    check_sequence(state, header(0, epoch=1))


def test_an_older_epoch_is_fenced() -> None:
    assert code_of(state_after(header(0, epoch=3)), header(1, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_repeat_among_the_last_five_batches_is_known_with_its_offset() -> None:
    state = state_after(*(header(sequence) for sequence in range(7)))
    found = [find_repeat(state, header(sequence)) for sequence in range(7)]
    assert [each.base_offset for each in found if each is not None] == [20, 30, 40, 50, 60]
    assert len(state.batches) == REMEMBERED_BATCHES


def test_a_batch_with_the_same_start_and_another_length_is_no_repeat() -> None:
    assert find_repeat(state_after(header(0, count=2)), header(0, count=3)) is None


def test_a_repeat_of_another_epoch_is_none() -> None:
    assert find_repeat(state_after(header(0)), header(0, epoch=1)) is None


def test_after_the_highest_sequence_comes_zero() -> None:
    state = state_after(header((1 << 31) - 2, count=2))
    check_sequence(state, header(0))


def test_a_batch_that_spans_the_highest_sequence_is_followed_by_what_is_left() -> None:
    state = state_after(header((1 << 31) - 1, count=3))
    check_sequence(state, header(2))


def test_a_transaction_begins_with_its_first_batch_and_ends_with_its_marker() -> None:
    state = state_after(header(0, transactional=True), header(1, transactional=True))
    assert state.first_offset == 0
    assert after_marker(state, 0, 2_000).first_offset is None


def test_sequences_go_on_after_a_marker_of_the_same_epoch_and_restart_after_a_newer_one() -> None:
    state = state_after(header(0), header(1))
    check_sequence(after_marker(state, 0, 2_000), header(2))
    check_sequence(after_marker(state, 1, 2_000), header(0, epoch=1))


def test_a_state_is_read_as_it_was_saved() -> None:
    state = state_after(header(0, transactional=True), header(1, count=4, transactional=True))
    assert ProducerState.decode(state.encode()) == state
    assert ProducerState.decode(ProducerState(3).encode()) == ProducerState(3)
