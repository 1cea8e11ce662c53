"""The newest batches of all partitions, in memory up to a bound; the oldest appended leaves first."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Final

_TRIM_AT: Final = 256
_OVERHEAD_BYTES: Final = (
    256  # what Python needs for one batch besides its bytes; small batches are mostly that
)


class Tail:
    """The newest batches of one partition: an unbroken run up to the log's end, possibly empty."""

    __slots__ = ("_bases", "_batches", "_head", "_lasts")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._lasts: list[int] = []
        self._batches: list[bytes] = []
        self._head = (
            0  # entries before it are gone; the lists are trimmed now and then, since that moves everything
        )

    def append(self, base_offset: int, last_offset: int, batch: bytes) -> None:
        self._bases.append(base_offset)
        self._lasts.append(last_offset)
        self._batches.append(batch)

    def holds(self, offset: int) -> bool:
        """Whether everything from `offset` on is here."""
        return self._head < len(self._bases) and self._bases[self._head] <= offset

    def batches_from(self, offset: int) -> Iterator[tuple[int, int, bytes]]:
        """Base offset, last offset and bytes of each batch from the one that holds `offset` (or the next) on."""
        start = bisect_right(self._bases, offset, lo=self._head) - 1
        if start < self._head or self._lasts[start] < offset:
            start += 1
        for index in range(start, len(self._bases)):
            yield self._bases[index], self._lasts[index], self._batches[index]

    def oldest(self) -> int | None:
        """The base offset of the oldest batch here."""
        return self._bases[self._head] if self._head < len(self._bases) else None

    def drop_oldest(self) -> None:
        self._batches[self._head] = b""
        self._head += 1
        if self._head >= _TRIM_AT and self._head * 2 >= len(self._bases):
            del self._bases[: self._head], self._lasts[: self._head], self._batches[: self._head]
            self._head = 0

    def clear(self) -> None:
        self._bases.clear()
        self._lasts.clear()
        self._batches.clear()
        self._head = 0


class TailCache:
    """What all tails hold together, kept under a bound."""

    def __init__(self, maximum_bytes: int) -> None:
        self._maximum = maximum_bytes
        self._size = 0
        self._order: deque[tuple[Tail, int, int]] = deque()

    def append(self, tail: Tail, base_offset: int, last_offset: int, batch: bytes) -> None:
        """Add the newest batch of a partition."""
        tail.append(base_offset, last_offset, batch)
        size = len(batch) + _OVERHEAD_BYTES
        self._order.append((tail, base_offset, size))
        self._size += size
        while self._size > self._maximum:
            old, base, freed = self._order.popleft()
            self._size -= freed
            if old.oldest() == base:  # else the tail was cleared since
                old.drop_oldest()
