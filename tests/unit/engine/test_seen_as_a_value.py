"""The dedup window is a value: two are equal when they remember, and have forgotten, the same."""

from __future__ import annotations

import pytest

from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.engine.window import CAPACITY, Entry, Seen

NO = Rejection("constraint", "no", ("c",), ("d",))


def window(*digests: int, sent_at: int = 1000, refusal: Rejection | None = None) -> Seen:
    seen = Seen.empty()
    for key, digest in enumerate(digests):
        seen = seen.remember(key, digest, 1, sent_at, refusal)
    return seen


def test_windows_that_remember_the_same_are_equal() -> None:
    assert window(5, 6) == window(5, 6)


@pytest.mark.parametrize(
    "other",
    [window(5), window(5, 7), window(5, 5), window(5, 6, sent_at=1001), window(5, 6, 7)],
    ids=["shorter", "greater", "less", "later", "longer"],
)
def test_windows_that_remember_something_else_are_not(other: Seen) -> None:
    assert window(5, 6) != other
    assert other != window(5, 6)


def test_windows_with_other_answers_are_not_equal() -> None:
    assert window(5, refusal=NO) != window(5)
    assert window(5) != window(5, refusal=NO)


def test_a_window_equals_nothing_else() -> None:
    assert window(5) != (window(5).entries(),)


def test_each_of_two_windows_goes_on_for_itself_long_after_they_parted() -> None:
    one = other = window(5)
    for number in range(1, 3 * CAPACITY):
        one = one.remember(number, number, 1, 1000 + number, NO if number % 50 == 0 else None)
        other = other.remember(number, number + 1, 2, 2000 + number, None)
    assert one.find(3 * CAPACITY - 1) == Entry(2999, 2999, 1, 3999, None)
    assert [entry.digest for entry in one.entries()][-3:] == [2997, 2998, 2999]
    assert [entry.digest for entry in other.entries()][-3:] == [2998, 2999, 3000]
    assert len(one) == len(other)
    assert (set(one.forgotten), set(other.forgotten)) == ({1}, {1, 2})


@pytest.mark.parametrize("apart", [0, 10_000], ids=["the same inputs", "other inputs"])
@pytest.mark.parametrize("parted", [1, 23, 24, 25, 100, CAPACITY, CAPACITY + 50])
def test_a_window_goes_on_from_an_earlier_one_that_another_went_on_from(parted: int, apart: int) -> None:
    earlier = window(*range(parted), refusal=NO)
    one = other = earlier
    for number in range(parted, parted + 100):
        one = one.remember(number, number, 1, 1000, NO)
    for number in range(parted, parted + 100):
        other = other.remember(number + apart, number + 7, 2, 2000, None)
    alone = window(*range(parted), refusal=NO)
    for number in range(parted, parted + 100):
        alone = alone.remember(number + apart, number + 7, 2, 2000, None)
    assert other == alone
    assert other.find(parted + 50 + apart) == Entry(parted + 50 + apart, parted + 57, 2, 2000, None)
    assert other.packed() == alone.packed()
    assert other.refusals() == alone.refusals()
    assert earlier == window(*range(parted), refusal=NO)


@pytest.mark.parametrize(("sent_at", "kept"), [(2**63, 2**63 - 1), (-(2**63), -(2**63) + 1), (7, 7)])
def test_a_time_is_kept_within_64_bits(sent_at: int, kept: int) -> None:
    entry = window(5, sent_at=sent_at).find(0)
    assert entry is not None
    assert entry.sent_at == kept
