"""The broker's SQLite file: its tables, and one commit for everything that happened in a turn of the event loop.

Whoever changes something writes it (or marks it as changed) at once and answers only after `settled()`. The commit
runs as the next thing on the loop, so all requests of one turn share it, and no answer leaves before what it tells is
durable.

A batch's key is its partition's id and its base offset in one number, so that the table needs no second index and each
partition's batches lie together:

    key = partition id << 40 | base offset         (8 million partitions of 10^12 records)
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from strabo_broker.errors import DataDirUnreadable, DataDirUnwritable, StorageFailed

FILE_NAME: Final = "broker.sqlite"
OFFSET_BITS: Final = 40
_OFFSET_MASK: Final = (1 << OFFSET_BITS) - 1
_FORMAT: Final = 2
_APPLICATION: Final = 0x53545242  # "STRB"
_WAL_SOFT_BYTES: Final = 16 << 20
_WAL_HARD_BYTES: Final = 64 << 20

_SCHEMA: Final = """
create table meta (name text primary key, value) without rowid;
create table topics (id integer primary key autoincrement, name text not null unique, created_ms integer not null);
create table topic_configs (
    topic_id integer, name text, value text not null, primary key (topic_id, name)
) without rowid;
create table partitions (
    id integer primary key autoincrement, topic_id integer not null, number integer not null,
    log_start integer not null default 0, next_offset integer not null default 0,
    size integer not null default 0, cleaned_to integer not null default 0,
    unique (topic_id, number)
);
create table batches (
    key integer primary key, last_offset integer not null, maximum_timestamp integer not null,
    delete_horizon_ms integer, data blob not null
);
create table producers (
    partition_id integer, producer_id integer, state blob not null, primary key (partition_id, producer_id)
) without rowid;
create table aborted_transactions (
    partition_id integer, last_offset integer, producer_id integer not null, first_offset integer not null,
    primary key (partition_id, last_offset)
) without rowid;
create table committed_offsets (
    group_id text, topic text, number integer, "offset" integer not null, leader_epoch integer not null,
    metadata text not null, committed_ms integer not null, primary key (group_id, topic, number)
) without rowid;
create table groups (id text primary key, state text not null) without rowid;
create table transactional_ids (
    id text primary key, producer_id integer not null, epoch integer not null, state text not null
) without rowid;
create table deleted_partitions (id integer primary key);
"""


class Saved(Protocol):
    """Something that writes its present state when the turn's changes are committed."""

    def save(self, store: Store) -> None: ...


class Store:
    """The one writer of the broker's file. Every method runs on the event loop's thread but `checkpoint`."""

    def __init__(self, data_dir: Path, *, synchronous: str) -> None:
        self._path = data_dir / FILE_NAME
        self._log = data_dir / f"{FILE_NAME}-wal"
        self._changed: dict[Saved, None] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._scheduled = False
        self.failure: StorageFailed | None = None
        try:
            self._database = self._open(synchronous)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise DataDirUnwritable(f"{self._path} cannot be opened for writing: {error}") from None
            raise DataDirUnreadable(f"{self._path} is not a broker's log, or is damaged: {error}") from None

    def _open(self, synchronous: str) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, isolation_level=None, cached_statements=64)
        database.execute("pragma journal_mode = wal")
        database.execute(f"pragma synchronous = {synchronous}")
        # Checkpoints are run by `checkpoint`, off the loop: one inside a commit would hold up every answer.
        database.execute("pragma wal_autocheckpoint = 0")
        database.execute("pragma temp_store = memory")
        database.execute("pragma cache_size = -16384")
        (application,) = database.execute("pragma application_id").fetchone()
        (version,) = database.execute("pragma user_version").fetchone()
        if (application, version) == (0, 0):
            database.executescript(
                f"begin; {_SCHEMA} pragma application_id = {_APPLICATION}; pragma user_version = {_FORMAT}; commit;"
            )
        elif application != _APPLICATION or version != _FORMAT:
            database.close()
            raise DataDirUnreadable(
                f"{self._path} is of format {version}, which this version cannot read; use another data folder"
            )
        return database

    def execute(self, statement: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Run a statement that changes something, as part of this turn's commit."""
        self._schedule()
        try:
            return self._database.execute(statement, tuple(values))
        except sqlite3.Error as error:
            raise self._fail(error) from None

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row, as part of this turn's commit."""
        self._schedule()
        try:
            self._database.executemany(statement, rows)
        except sqlite3.Error as error:
            raise self._fail(error) from None

    def query(self, statement: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement finds, this turn's changes included."""
        try:
            yield from self._database.execute(statement, tuple(values))
        except sqlite3.Error as error:
            raise self._fail(error) from None

    def _fail(self, error: sqlite3.Error) -> StorageFailed:
        """Note that memory may be ahead of the disk: the broker stops, never to answer from what may be lost."""
        self.failure = self.failure or StorageFailed(f"{self._path} cannot be used any more: {error}")
        return self.failure

    def changed(self, what: Saved) -> None:
        """Note that `what` is to be saved with this turn's commit, however often it changes until then."""
        self._changed[what] = None
        self._schedule()

    async def settled(self) -> None:
        """Wait until everything written so far is committed; StorageFailed when it cannot be."""
        if self.failure is not None:
            raise self.failure
        if not self._scheduled:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _schedule(self) -> None:
        if self.failure is not None:
            raise self.failure
        if not self._database.in_transaction:
            try:
                self._database.execute("begin immediate")
            except sqlite3.Error as error:
                raise self._fail(error) from None
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.commit)

    def commit(self) -> None:
        """Commit this turn's changes now."""
        self._scheduled = True
        try:
            changed, self._changed = self._changed, {}
            for each in changed:
                each.save(self)
            if self._database.in_transaction:
                self._database.execute("commit")
        except sqlite3.Error as error:
            self._fail(error)
        except StorageFailed:
            pass  # noted already
        self._scheduled = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if waiter.done():
                continue
            if self.failure is not None:
                waiter.set_exception(self.failure)
            else:
                waiter.set_result(None)

    async def checkpoint(self) -> None:
        """Move what is committed from the write-ahead log into the file, so that the log stays small."""
        if self._log_size() < _WAL_SOFT_BYTES:
            return
        await asyncio.to_thread(self._checkpoint_aside)
        if self._log_size() >= _WAL_HARD_BYTES and not self._database.in_transaction:
            # Under steady load the log never empties by itself; the little that came since is moved at once.
            self._database.execute("pragma wal_checkpoint(truncate)")

    def _checkpoint_aside(self) -> None:
        aside = sqlite3.connect(self._path, isolation_level=None)
        try:
            aside.execute("pragma wal_checkpoint(passive)")
        finally:
            aside.close()

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def close(self) -> None:
        """Commit what is left and close the file."""
        if self.failure is None:
            self.commit()
        self._database.close()

    # Values of the whole broker.

    def value(self, name: str) -> Any:
        """A value of the whole broker, or None."""
        for (value,) in self.query("select value from meta where name = ?", (name,)):
            return value
        return None

    def set_value(self, name: str, value: str | int) -> None:
        self.execute("insert or replace into meta values (?, ?)", (name, value))

    # Batches of one partition.

    def insert_batch(
        self, partition_id: int, base_offset: int, last_offset: int, maximum_timestamp: int, batch: bytes
    ) -> None:
        self.execute(
            "insert into batches values (?, ?, ?, null, ?)",
            (partition_id << OFFSET_BITS | base_offset, last_offset, maximum_timestamp, batch),
        )

    def batches_from(self, partition_id: int, offset: int) -> Iterator[tuple[int, int, bytes]]:
        """Base offset, last offset and bytes of each batch from the one that holds `offset` (or the next) on."""
        start, end = self.key_range(partition_id, offset)
        # The batch that holds the offset may begin before it.
        for key, last_offset in self.query(
            "select key, last_offset from batches where key between ? and ? order by key desc limit 1",
            (partition_id << OFFSET_BITS, start),
        ):
            if last_offset >= offset:
                start = key
        for key, last_offset, batch in self.query(
            "select key, last_offset, data from batches where key between ? and ? order by key", (start, end)
        ):
            yield key & _OFFSET_MASK, last_offset, batch

    @staticmethod
    def key_range(partition_id: int, from_offset: int, below: int = 1 << OFFSET_BITS) -> tuple[int, int]:
        """The first and the last key of a partition's batches whose base offset is in [from_offset, below)."""
        return partition_id << OFFSET_BITS | from_offset, (partition_id << OFFSET_BITS) + below - 1

    @staticmethod
    def offset_of(key: int) -> int:
        """The base offset in a batch's key."""
        return key & _OFFSET_MASK
