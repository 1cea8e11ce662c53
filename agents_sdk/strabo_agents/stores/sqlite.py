"""A store in one SQLite file: an agent's memory across restarts and kills, for one replica.

WAL with `synchronous=NORMAL`: what is committed survives the death of the process. After a power cut the newest
commits may be gone; their messages are then handled again, under the same ids. One thread does all the work, and
commits in one transaction whatever has gathered meanwhile: a commit a message would halve the throughput.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from strabo_agents.errors import StoreError, StoreInUse, StoreUnavailable
from strabo_agents.messages import Outgoing
from strabo_agents.stores.leases import LeaseTable
from strabo_agents.stores.store import Claim, Handled, Held, Lease

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], Any]

BATCH_LIMIT = 500
FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS handled (
    message_id TEXT PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL, sent INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unsent ON handled (at) WHERE sent = 0;
CREATE INDEX IF NOT EXISTS age ON handled (at);
CREATE TABLE IF NOT EXISTS outbox (
    message_id TEXT NOT NULL, position INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    key BLOB, value BLOB NOT NULL, headers TEXT NOT NULL, PRIMARY KEY (message_id, position)
) WITHOUT ROWID;
"""


class SqliteStore:
    """Handled messages in the SQLite file `path`, which this process holds for itself while it is open.

    Leases live in memory: as no other process can open the file, a lease never outlives its holder.
    """

    exclusive = True

    def __init__(
        self,
        path: Path,
        *,
        lease: float = 30.0,
        patience: float = 2.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._patience = patience
        self._clock = clock
        self._leases = LeaseTable(lease)
        self._writer: _Writer | None = None

    async def open(self) -> None:
        """See `Store.open`; waits `patience` seconds for a predecessor that is just ending."""
        writer = _Writer(self._path, asyncio.get_running_loop())
        writer.start()
        try:
            await writer.do(lambda _: None, patience=self._patience)
        except BaseException:
            writer.stop()
            raise
        self._writer = writer

    async def claim(self, message_id: str, digest: bytes) -> Claim:
        """See `Store.claim`."""
        # The lease first: a message that is finished between the look and the claim must not be handled again.
        claim = self._leases.claim(message_id, digest)
        if isinstance(claim, Held):
            return claim
        try:
            found = await self._do(lambda connection: _find(connection, message_id))
        except BaseException:
            self._leases.release(claim)
            raise
        if found is None or found[0] != digest:
            return claim
        self._leases.release(claim)
        return found[1]

    async def renew(self, lease: Lease) -> bool:
        """See `Store.renew`."""
        return self._leases.renew(lease)

    async def finish(self, lease: Lease, outbox: Sequence[Outgoing]) -> None:
        """See `Store.finish`."""
        self._leases.check(lease)
        now = self._clock()
        await self._do(lambda connection: _write(connection, lease, outbox, now))
        self._leases.release(lease)

    async def mark_sent(self, message_id: str) -> None:
        """See `Store.mark_sent`."""
        statement = "UPDATE handled SET sent = 1 WHERE message_id = ?"
        await self._do(lambda connection: connection.execute(statement, (message_id,)) and None)

    async def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        self._leases.release(lease)

    async def handled(self, message_id: str) -> Handled | None:
        """See `Store.handled`."""
        found = await self._do(lambda connection: _find(connection, message_id))
        return None if found is None else found[1]

    async def unsent(self) -> Sequence[tuple[str, Handled]]:
        """See `Store.unsent`."""
        return await self._do(_unsent)

    async def forget(self, age: float) -> int:
        """See `Store.forget`."""
        limit = self._clock() - age
        return await self._do(lambda connection: _forget(connection, limit))

    async def close(self) -> None:
        """See `Store.close`."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.stop()
            await asyncio.to_thread(writer.join)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._writer is None:
            raise StoreUnavailable(f"{self._path}: the store is not open")
        return await self._writer.do(work)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Work for the thread; `patience` is how long it may wait for the file's lock, in seconds."""

    work: Work
    future: asyncio.Future[Any]
    patience: float


class _Writer(threading.Thread):
    """The thread that owns the connection: takes pieces of work in order and commits them in groups."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(name=f"store {path.name}", daemon=True)
        self._path = path
        self._loop = loop
        self._queue: queue.SimpleQueue[_Piece | None] = queue.SimpleQueue()
        self._connection: sqlite3.Connection | None = None

    async def do(self, work: Callable[[sqlite3.Connection], T], *, patience: float = 0.0) -> T:
        """The result of `work`, once it is committed."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Piece(work, future, patience))
        return await future

    def stop(self) -> None:
        """End the thread once everything queued is done."""
        self._queue.put(None)

    def run(self) -> None:
        """Work until stopped."""
        stopping = False
        while not stopping:
            batch = [self._queue.get()]
            while len(batch) < BATCH_LIMIT:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            stopping = None in batch
            self._run_batch([piece for piece in batch if piece is not None])
        if self._connection is not None:
            self._connection.close()

    def _run_batch(self, batch: Sequence[_Piece]) -> None:
        if not batch:
            return
        results: Sequence[Any] = ()
        failure: BaseException | None = None
        try:
            connection = self._connected(max(piece.patience for piece in batch))
            connection.execute("BEGIN IMMEDIATE")
            results = [piece.work(connection) for piece in batch]
            connection.execute("COMMIT")
        except BaseException as error:
            failure = self._failure(error)
        # One call into the loop a batch: waking it costs more than the work itself. It may be closed by now.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_settle, batch, results, failure)

    def _connected(self, patience: float) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=patience, isolation_level=None)
            try:
                # Exclusive mode keeps the file's lock, taken by the first write, until the connection ends.
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                self._check_format(connection)
                connection.executescript(
                    f"BEGIN EXCLUSIVE; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT;"
                )
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _check_format(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found > FORMAT:
            raise StoreError(
                f"{self._path} was written by a newer version (format {found}): upgrade this agent"
            )

    def _failure(self, error: BaseException) -> BaseException:
        connection = self._connection
        if connection is not None and connection.in_transaction:
            try:
                connection.rollback()
            except sqlite3.Error:
                # The disk is gone: a new connection finds out what is there. This thread has to live for that.
                self._connection = None
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return StoreInUse(
                f"{self._path} is in use: another process runs this agent; with SQLite an agent has one replica, "
                "give the other an id of its own"
            )
        if isinstance(error, sqlite3.Error | OSError):
            return StoreUnavailable(f"{self._path}: {error}")
        return error


def _settle(batch: Sequence[_Piece], results: Sequence[Any], failure: BaseException | None) -> None:
    """Tell those who wait, in the loop's thread."""
    for number, piece in enumerate(batch):
        if piece.future.done():
            continue
        if failure is None:
            piece.future.set_result(results[number])
        else:
            piece.future.set_exception(failure)


def _find(connection: sqlite3.Connection, message_id: str) -> tuple[bytes, Handled] | None:
    row = connection.execute(
        "SELECT digest, sent FROM handled WHERE message_id = ?", (message_id,)
    ).fetchone()
    return None if row is None else (row[0], Handled(_outbox(connection, message_id), bool(row[1])))


def _outbox(connection: sqlite3.Connection, message_id: str) -> tuple[Outgoing, ...]:
    rows = connection.execute(
        "SELECT topic, partition, key, value, headers FROM outbox WHERE message_id = ? ORDER BY position",
        (message_id,),
    )
    return tuple(
        Outgoing(
            topic, partition, key, value, tuple((name, text.encode()) for name, text in json.loads(headers))
        )
        for topic, partition, key, value, headers in rows
    )


def _write(connection: sqlite3.Connection, lease: Lease, outbox: Sequence[Outgoing], now: float) -> None:
    connection.execute("DELETE FROM outbox WHERE message_id = ?", (lease.message_id,))
    connection.execute(
        "INSERT OR REPLACE INTO handled (message_id, digest, at, sent) VALUES (?, ?, ?, ?)",
        (lease.message_id, lease.digest, now, not outbox),
    )
    connection.executemany(
        "INSERT INTO outbox (message_id, position, topic, partition, key, value, headers) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                lease.message_id,
                position,
                record.topic,
                record.partition,
                record.key,
                record.value,
                _headers(record),
            )
            for position, record in enumerate(outbox)
        ],
    )


def _headers(record: Outgoing) -> str:
    return json.dumps([(name, value.decode()) for name, value in record.headers])


def _unsent(connection: sqlite3.Connection) -> list[tuple[str, Handled]]:
    rows = connection.execute("SELECT message_id FROM handled WHERE sent = 0 ORDER BY at").fetchall()
    return [(message_id, Handled(_outbox(connection, message_id), False)) for (message_id,) in rows]


def _forget(connection: sqlite3.Connection, limit: float) -> int:
    old = "SELECT message_id FROM handled WHERE sent = 1 AND at < ?"
    connection.execute(f"DELETE FROM outbox WHERE message_id IN ({old})", (limit,))
    return connection.execute("DELETE FROM handled WHERE sent = 1 AND at < ?", (limit,)).rowcount
