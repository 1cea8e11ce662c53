"""The dedup window: the last thousand input ids of an instance, and when the forgotten ones were sent.

A window is an immutable value. Successive windows share one append-only log and differ in which stretch of it they
see, so remembering an id costs the same at the 2,000th step as at the 10th, and a window that was put aside (a step
that was never committed) stays what it was: whoever appends to it again first copies its stretch.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import NamedTuple

from strabo_runtime.engine.rejection import Rejection

CAPACITY = 1000
_ENTRY = struct.Struct("<QQQq")
_WIDTH = _ENTRY.size
_LIMIT = 2**63 - 1
FULL_REFUSALS = 100
"""For so many of the newest inputs a refusal is kept word for word; of older ones only its kind and constraints."""
_SLACK = CAPACITY // 4
"""How many forgotten entries a log may still hold: fewer are copied more often, more take memory."""


class Entry(NamedTuple):
    """One remembered input: its id, content and sender as eight bytes each, when it was sent, how it was answered."""

    key: int
    digest: int
    sender: int
    sent_at: int
    refusal: Rejection | None


class _Log:
    """The shared log. `base` is the sequence number of its first entry, `end` the one after its last."""

    __slots__ = ("base", "end", "index", "packed", "refusals")

    def __init__(self, base: int) -> None:
        self.base = base
        self.end = base
        self.index: dict[int, int] = {}
        self.packed = bytearray()
        self.refusals: dict[int, Rejection] = {}

    def append(self, entry: Entry) -> None:
        self.index[entry.key] = self.end
        self.packed += _ENTRY.pack(entry.key, entry.digest, entry.sender, entry.sent_at)
        if entry.refusal is not None:
            self.refusals[self.end] = entry.refusal
        self.end += 1

    def read(self, sequence: int) -> Entry:
        key, digest, sender, sent_at = _ENTRY.unpack_from(self.packed, (sequence - self.base) * _WIDTH)
        return Entry(key, digest, sender, sent_at, self.refusals.get(sequence))


class Seen:
    """The remembered inputs, oldest first."""

    __slots__ = ("_first", "_last", "_log", "_newest", "forgotten")

    def __init__(
        self, log: _Log, first: int, last: int, forgotten: Mapping[int, int], newest: Entry | None = None
    ) -> None:
        self._log = log
        self._first = first
        self._last = last
        self.forgotten = forgotten
        self._newest = newest

    @classmethod
    def empty(cls) -> Seen:
        """A window that has seen nothing."""
        return cls(_Log(0), 0, 0, {})

    def __len__(self) -> int:
        return self._last - self._first

    def find(self, key: int) -> Entry | None:
        """The remembered input of this key, if it still is remembered."""
        sequence = self._log.index.get(key)
        if sequence is None or not self._first <= sequence < self._last:
            return None
        return self._read(sequence)

    def is_stale(self, sender: int, sent_at: int) -> bool:
        """Whether an unknown input may be one that was forgotten: this sender sent a forgotten one then or later."""
        newest = self.forgotten.get(sender)
        return newest is not None and sent_at <= newest

    def remember(self, key: int, digest: int, sender: int, sent_at: int, refusal: Rejection | None) -> Seen:
        """The window with one more input, which must not be in it."""
        log = self._log
        if log.end != self._last or key in log.index or log.end - log.base >= CAPACITY + _SLACK:
            log = self._copy()
        if not -_LIMIT <= sent_at <= _LIMIT:
            sent_at = _LIMIT if sent_at > 0 else -_LIMIT
        entry = Entry(key, digest, sender, sent_at, refusal)
        log.append(entry)
        first, forgotten = self._first, self.forgotten
        if log.end - first > CAPACITY:
            oldest = log.read(first)
            known = forgotten.get(oldest.sender)
            if known is None or known < oldest.sent_at:
                forgotten = {**forgotten, oldest.sender: oldest.sent_at}
            first += 1
        return Seen(log, first, log.end, forgotten, entry)

    def newest(self) -> Entry:
        """The input remembered last; there must be one."""
        return self._newest or self._log.read(self._last - 1)

    def entries(self) -> tuple[Entry, ...]:
        """What is remembered, oldest first."""
        return tuple(self._read(sequence) for sequence in range(self._first, self._last))

    def _read(self, sequence: int) -> Entry:
        entry = self._log.read(sequence)
        refusal = entry.refusal
        return entry if refusal is None else entry._replace(refusal=self._aged(sequence, refusal))

    def _aged(self, sequence: int, refusal: Rejection) -> Rejection:
        """What is still known of a refusal: an agent that is refused a lot must not fill the state with texts."""
        if sequence >= self._last - FULL_REFUSALS:
            return refusal
        return Rejection(refusal.by, "refused before, for the same reason", refusal.constraints)

    def _copy(self) -> _Log:
        """A log of its own, with this stretch alone."""
        shared, first, last = self._log, self._first, self._last
        log = _Log(first)
        log.end = last
        log.packed = shared.packed[(first - shared.base) * _WIDTH : (last - shared.base) * _WIDTH]
        log.index = {key: place for key, place in shared.index.items() if first <= place < last}
        log.refusals = {place: refusal for place, refusal in shared.refusals.items() if first <= place < last}
        return log

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seen):
            return NotImplemented
        return self.forgotten == other.forgotten and self.entries() == other.entries()

    __hash__ = None  # type: ignore[assignment]  # a value, but never a key

    def __repr__(self) -> str:
        return f"Seen({len(self)} inputs)"

    # -- the stored form ----------------------------------------------------------------------------------------------

    def packed(self) -> str:
        """The entries without their refusals, as text."""
        base = self._log.base
        stretch = self._log.packed[(self._first - base) * _WIDTH : (self._last - base) * _WIDTH]
        return b64encode(stretch).decode("ascii")

    def refusals(self) -> dict[int, Rejection]:
        """The refusals, by place in the window."""
        found = self._log.refusals.items()
        return {
            place - self._first: self._aged(place, refusal)
            for place, refusal in found
            if self._first <= place < self._last
        }

    @classmethod
    def unpack(cls, packed: str, refusals: Mapping[int, Rejection], forgotten: Mapping[int, int]) -> Seen:
        """The window of a stored form. Raises ValueError where it is none."""
        stored = b64decode(packed, validate=True)
        if len(stored) % _WIDTH:
            raise ValueError(f"the remembered ids are {len(stored)} bytes, which is no multiple of {_WIDTH}")
        log = _Log(0)
        for place, (key, digest, sender, sent_at) in enumerate(_ENTRY.iter_unpack(stored)):
            log.append(Entry(key, digest, sender, sent_at, refusals.get(place)))
        return cls(log, 0, log.end, dict(forgotten))
