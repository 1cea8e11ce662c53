"""The newest batches in memory: found by offset, and dropped oldest first across partitions."""

from __future__ import annotations

from strabo_broker.cache import Tail, TailCache


def held(tail: Tail, offset: int) -> list[int]:
    return [base for base, _, _ in tail.batches_from(offset)]


def test_a_batch_is_found_by_any_of_its_offsets() -> None:
    tail = Tail()
    for base, last in ((0, 0), (1, 3), (6, 7)):
        tail.append(base, last, b"x")
    assert [held(tail, offset) for offset in (0, 2, 4, 7, 8)] == [[0, 1, 6], [1, 6], [6], [6], []]


def test_what_is_older_than_the_oldest_is_not_held() -> None:
    tail = Tail()
    assert not tail.holds(0)
    tail.append(5, 6, b"x")
    assert tail.holds(5) and tail.holds(9) and not tail.holds(4)


def test_the_oldest_of_all_partitions_goes_first() -> None:
    cache, first, second = TailCache(3_000), Tail(), Tail()
    for index in range(10):
        cache.append((first, second)[index % 2], index, index, bytes(744))
    assert (held(first, 0), held(second, 0)) == ([8], [7, 9])


def test_a_cleared_tail_goes_on_with_what_is_appended_next() -> None:
    cache, tail = TailCache(3_000), Tail()
    for index in range(3):
        cache.append(tail, index, index, bytes(744))
    tail.clear()
    for index in range(3, 8):
        cache.append(tail, index, index, bytes(744))
        assert held(tail, 3)[-1] == index
    assert held(tail, 0) == [5, 6, 7]


def test_dropping_thousands_keeps_the_rest_in_order() -> None:
    tail = Tail()
    for index in range(3_000):
        tail.append(index, index, b"x")
        if index >= 10:
            tail.drop_oldest()
    assert held(tail, 0) == list(range(2_990, 3_000))
