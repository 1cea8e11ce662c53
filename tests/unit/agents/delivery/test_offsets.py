"""A position moves only past what is done without a gap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strabo_agents.delivery.offsets import Offsets


def test_a_position_stays_at_the_first_that_is_not_done() -> None:
    offsets = Offsets(5)
    for offset in (5, 6, 8):
        offsets.take(offset)

    offsets.done(6)
    assert offsets.position == 5
    offsets.done(5)
    assert offsets.position == 8
    offsets.done(8)
    assert offsets.position == 9


def test_skipped_records_move_it_when_nothing_is_in_hand() -> None:
    offsets = Offsets(0)
    offsets.skip(3)
    assert offsets.position == 4

    offsets.take(4)
    offsets.skip(5)
    assert offsets.position == 4


@given(st.permutations(range(8)), st.integers(0, 8))
def test_it_never_passes_what_is_in_hand(order: list[int], finished: int) -> None:
    offsets = Offsets(0)
    for offset in range(8):
        offsets.take(offset)
    for offset in order[:finished]:
        offsets.done(offset)

    left = set(range(8)) - set(order[:finished])
    assert offsets.position == min(left, default=8)
