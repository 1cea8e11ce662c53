"""The dedup window: at least the last thousand input ids of an instance, and when the forgotten ones were sent.

A window is an immutable value. Successive windows share one append-only log and differ in which stretch of it they
see, so remembering an id costs the same at the 2,000th step as at the 10th, and a window that was put aside (a step
that was never committed) stays what it was: whoever appends to it again first copies its stretch. The log keeps all but
its last block as the text that the stored form consists of, so that storing an old instance costs little more than
storing a young one.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from strabo_runtime.engine.rejection import Rejection

CAPACITY = 1000
_ENTRY = struct.Struct("<QQQq")
_WIDTH = _ENTRY.size
_LIMIT = 2**63 - 1
FULL_REFUSALS = 100
"""For so many of the newest inputs a refusal is kept word for word; of older ones only its kind and constraints."""
_SLACK = CAPACITY // 4
"""How many forgotten entries a log may still hold: fewer are copied more often, more take memory."""
_BLOCK = 24
"""Entries a block; the bytes of a block are a multiple of three, so that its text needs no padding.

A window forgets a block at a time: it holds a thousand inputs, and up to 23 more.
"""
_BLOCK_BYTES = _BLOCK * _WIDTH

Row: TypeAlias = tuple[int, int, int, int, Rejection | None]
"""The fields of an entry."""


class Entry(NamedTuple):
    """One remembered input: its id, content and sender as eight bytes each, when it was sent, how it was answered."""

    key: int
    digest: int
    sender: int
    sent_at: int
    refusal: Rejection | None


class _Log:
    """The shared log. `base` is the sequence number of its first entry, `end` the one after its last.

    Windows begin where a block of their log does.
    """

    __slots__ = ("base", "blocks", "end", "index", "refusals", "tail")

    def __init__(self, base: int) -> None:
        self.base = base
        self.end = base
        self.index: dict[int, int] = {}
        self.blocks: list[str] = []
        self.tail = bytearray()
        self.refusals: dict[int, Rejection] = {}

    def append(self, row: Row) -> None:
        key, digest, sender, sent_at, refusal = row
        sequence = self.end
        self.index[key] = sequence
        if refusal is not None:
            self.refusals[sequence] = refusal
        self.tail += _ENTRY.pack(key, digest, sender, sent_at)
        self.end = sequence + 1
        if len(self.tail) == _BLOCK_BYTES:
            self.blocks.append(_text(self.tail))
            self.tail = bytearray()

    def bytes_of(self, block: int) -> bytes | bytearray:
        return a2b_base64(self.blocks[block]) if block < len(self.blocks) else self.tail

    def read(self, sequence: int) -> Entry:
        block, place = divmod(sequence - self.base, _BLOCK)
        key, digest, sender, sent_at = _ENTRY.unpack_from(self.bytes_of(block), place * _WIDTH)
        return Entry(key, digest, sender, sent_at, self.refusals.get(sequence))

    def newest_sent(self, block: int) -> dict[int, int]:
        """When each sender of a block's entries sent the newest of them."""
        newest: dict[int, int] = {}
        for _, _, sender, sent_at in _ENTRY.iter_unpack(self.bytes_of(block)):
            newest[sender] = max(sent_at, newest.get(sender, sent_at))
        return newest

    def texts(self, first: int, last: int) -> list[str]:
        """A stretch that begins with a block as texts, one a block; the last one may be cut."""
        low = (first - self.base) // _BLOCK
        high, rest = divmod(last - self.base, _BLOCK)
        texts = self.blocks[low:high]
        if rest:
            texts.append(_text(self.bytes_of(high)[: rest * _WIDTH]))
        return texts


def _text(packed: bytes | bytearray) -> str:
    return b2a_base64(packed, newline=False).decode("ascii")


class Seen:
    """The remembered inputs, oldest first."""

    __slots__ = ("_first", "_last", "_log", "_newest", "forgotten")

    def __init__(
        self, log: _Log, first: int, last: int, forgotten: Mapping[int, int], newest: Row | None = None
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
        log, last = self._log, self._last
        if log.end != last or key in log.index or last - log.base >= CAPACITY + _SLACK + _BLOCK:
            log = self._copy()
        if not -_LIMIT <= sent_at <= _LIMIT:
            sent_at = _LIMIT if sent_at > 0 else -_LIMIT
        row = (key, digest, sender, sent_at, refusal)
        log.append(row)
        first, forgotten = self._first, self.forgotten
        if last + 1 - first == CAPACITY + _BLOCK:
            block = log.newest_sent((first - log.base) // _BLOCK)
            forgotten = {
                **forgotten,
                **{who: max(sent, forgotten.get(who, sent)) for who, sent in block.items()},
            }
            first += _BLOCK
        return Seen(log, first, last + 1, forgotten, row)

    def newest(self) -> Row:
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
        skipped, whole = (first - shared.base) // _BLOCK, (last - shared.base) // _BLOCK
        log = _Log(first)
        log.blocks = shared.blocks[skipped:whole]
        log.tail = bytearray(shared.bytes_of(whole)[: (last - shared.base) % _BLOCK * _WIDTH])
        log.end = last
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

    def packed(self) -> list[str]:
        """The entries without their refusals, as texts."""
        return self._log.texts(self._first, self._last)

    def refusals(self) -> dict[int, Rejection]:
        """The refusals, by place in the window."""
        found = self._log.refusals.items()
        return {
            place - self._first: self._aged(place, refusal)
            for place, refusal in found
            if self._first <= place < self._last
        }

    @classmethod
    def unpack(
        cls, packed: str | Iterable[str], refusals: Mapping[int, Rejection], forgotten: Mapping[int, int]
    ) -> Seen:
        """The window of a stored form, which was one text before it was several. Raises ValueError where it is none."""
        stored = [
            b64decode(text, validate=True) for text in ([packed] if isinstance(packed, str) else packed)
        ]
        log = _Log(0)
        for block in stored:
            if len(block) % _WIDTH:
                raise ValueError(
                    f"the remembered ids are {len(block)} bytes, which is no multiple of {_WIDTH}"
                )
            for key, digest, sender, sent_at in _ENTRY.iter_unpack(block):
                log.append((key, digest, sender, sent_at, refusals.get(log.end)))
        return cls(log, 0, log.end, dict(forgotten))
