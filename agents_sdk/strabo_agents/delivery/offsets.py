"""Up to where a partition is done: the offset before which nothing is in anyone's hands."""

from __future__ import annotations

from collections import deque


class Offsets:
    """The records of one partition that were taken, in order of their offsets, and those of them that are done."""

    def __init__(self, position: int) -> None:
        self._next = position
        self._taken: deque[int] = deque()
        self._done: set[int] = set()

    @property
    def position(self) -> int:
        """The first offset that is not done: what may be committed."""
        return self._taken[0] if self._taken else self._next

    def take(self, offset: int) -> None:
        """The record at `offset` is in hand; offsets only grow."""
        self._taken.append(offset)
        self._next = offset + 1

    def skip(self, offset: int) -> None:
        """The record at `offset` needs nothing."""
        self._next = offset + 1

    def done(self, offset: int) -> None:
        """The record at `offset` is done."""
        self._done.add(offset)
        while self._taken and self._taken[0] in self._done:
            self._done.discard(self._taken.popleft())
