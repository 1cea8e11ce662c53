"""The dedup window: a value that remembers a thousand inputs, and what it knows of those it forgot."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.engine.window import CAPACITY, FULL_REFUSALS, Seen

NO = Rejection("constraint", "no", ("c",), ("d",))


def filled(count: int, first: int = 0) -> Seen:
    seen = Seen.empty()
    for key in range(first, first + count):
        seen = seen.remember(key, key + 7, key % 3, 1000 + key, NO if key % 10 == 0 else None)
    return seen


def test_of_older_refusals_only_kind_and_constraints_are_kept() -> None:
    seen = filled(FULL_REFUSALS + 11)
    old, new = seen.find(10), seen.find(FULL_REFUSALS)
    assert old is not None
    assert new is not None
    assert old.refusal == Rejection("constraint", "refused before, for the same reason", ("c",))
    assert new.refusal == NO
    assert Seen.unpack(seen.packed(), seen.refusals(), seen.forgotten) == seen


def test_what_was_remembered_is_found_with_its_answer() -> None:
    seen = filled(30)
    entry = seen.find(20)
    assert entry is not None
    assert (entry.digest, entry.sender, entry.sent_at, entry.refusal) == (27, 2, 1020, NO)
    assert seen.find(30) is None


def test_it_remembers_the_last_thousand_and_when_the_forgotten_were_sent_by_sender() -> None:
    seen = filled(CAPACITY + 24)
    assert len(seen) == CAPACITY
    assert seen.find(23) is None
    assert seen.find(24) is not None
    assert seen.forgotten == {0: 1021, 1: 1022, 2: 1023}


def test_it_forgets_several_at_a_time_and_never_remembers_less_than_a_thousand() -> None:
    assert [len(filled(count)) for count in (999, 1000, 1023, 1024, 1047, 1048)] == [
        999,
        1000,
        1023,
        1000,
        1023,
        1000,
    ]


def test_an_older_message_of_a_sender_that_was_forgotten_changes_nothing() -> None:
    seen = Seen.empty()
    for key in range(CAPACITY + 24):
        seen = seen.remember(key, 0, 1, 5000 - key, None)
    assert seen.forgotten == {1: 5000}
    for key in range(CAPACITY + 24, CAPACITY + 48):
        seen = seen.remember(key, 0, 1, 0, None)
    assert seen.forgotten == {1: 5000}


def test_an_unknown_input_that_may_be_a_forgotten_one_is_stale() -> None:
    seen = filled(CAPACITY + 24)
    assert seen.is_stale(1, 1022)
    assert not seen.is_stale(1, 1023)
    assert not seen.is_stale(9, 0)


def test_a_window_stays_what_it_was_when_others_go_on_from_it() -> None:
    seen = filled(10)
    one = seen.remember(100, 1, 1, 1, None)
    other = seen.remember(101, 2, 2, 2, NO)
    assert (len(seen), len(one), len(other)) == (10, 11, 11)
    assert seen.find(100) is None
    assert one.find(101) is None
    assert other.find(100) is None
    assert one.entries()[:10] == other.entries()[:10] == seen.entries()


def test_many_more_inputs_than_it_remembers_do_not_pile_up() -> None:
    seen = filled(5 * CAPACITY)
    assert CAPACITY <= len(seen) < CAPACITY + 24
    assert len(seen._log.index) <= 2 * CAPACITY
    assert [entry.key for entry in seen.entries()][-CAPACITY:] == list(range(4 * CAPACITY, 5 * CAPACITY))


def test_the_stored_form_reads_back_equal() -> None:
    seen = filled(CAPACITY + 5)
    assert Seen.unpack(seen.packed(), seen.refusals(), seen.forgotten) == seen


@given(
    st.lists(
        st.tuples(
            st.integers(0, 40),
            st.integers(0, 2**64 - 1),
            st.integers(0, 2**64 - 1),
            st.integers(-(2**70), 2**70),
        ),
        max_size=60,
    ),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_branches_never_disturb_each_other(
    inputs: list[tuple[int, int, int, int]], branch_points: list[int]
) -> None:
    seen = Seen.empty()
    history: list[tuple[Seen, tuple[object, ...]]] = []
    for place, (key, digest, sender, sent_at) in enumerate(inputs):
        if place in branch_points and history:
            seen = history[len(history) // 2][0]
        if seen.find(key) is None:
            seen = seen.remember(key, digest, sender, sent_at, NO if digest % 2 else None)
        history.append((seen, seen.entries()))
    for past, entries in history:
        assert past.entries() == entries
