"""One blocking interface to clients of Kafka, so that a test can be written once for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

PATIENCE_S = 30.0
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Record:
    """A record to write, or one read: then it has an offset and a timestamp."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    timestamp_type: int | None = None
    partition: int = 0
    offset: int | None = None


class RefusedError(Exception):
    """The broker refused what a client asked; `code` is Kafka's error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"error {code}: {text}")
        self.code = code


def wait_for(what: str, condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait until a condition holds; fails with `what` did not happen."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen in {patience_s:g} s: {what}")
        time.sleep(0.02)


class Writer(Protocol):
    """A producer that lives on between writes."""

    def write(self, topic: str, records: Sequence[Record]) -> list[Record]:
        """Write records; returns them with what the broker said of offset and time (not with acks 0)."""

    def close(self) -> None: ...


class Transactions(Protocol):
    """A transactional producer."""

    def begin(self) -> None: ...
    def write(self, topic: str, records: Iterable[Record]) -> None:
        """Send within the transaction; returns when the broker has them all."""

    def commit_offsets(self, group: str, offsets: Mapping[Place, int]) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Member(Protocol):
    """A consumer in a group."""

    records: list[Record]

    def poll(self) -> None:
        """Let it read and take part in the group for a moment."""

    def assignment(self) -> set[Place]: ...
    def commit(self, offsets: Mapping[Place, int]) -> None: ...
    def close(self) -> None:
        """Leave the group in good order; a static member keeps its place."""


class Client(Protocol):
    """What the suite asks of a client library."""

    name: str

    def writer(self, *, acks: str = "all", compression: str = "none", idempotent: bool = False) -> Writer: ...

    def read(
        self, topic: str, *, partition: int = 0, start: int = 0, isolation: str = "read_committed"
    ) -> list[Record]:
        """All records from an offset to the end that a reader of this isolation has now."""

    def transactions(self, transactional_id: str, timeout_ms: int = 20_000) -> Transactions: ...

    def member(
        self,
        group: str,
        topics: list[str],
        *,
        instance_id: str | None = None,
        session_timeout_ms: int = 6_000,
    ) -> Member: ...

    def committed(self, group: str, places: Iterable[Place]) -> dict[Place, int | None]:
        """The positions that a group has committed."""

    def close(self) -> None: ...


def write(client: Client, topic: str, records: Sequence[Record], **how: Any) -> list[Record]:
    """Write records with a producer of their own."""
    writer = client.writer(**how)
    try:
        return writer.write(topic, records)
    finally:
        writer.close()
