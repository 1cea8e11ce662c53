"""The store: one commit a turn, answers after it, and a disk that refuses."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from strabo_broker.errors import DataDirUnreadable, StorageFailed
from strabo_broker.store import FILE_NAME, Store


def kept_outside(folder: Path, name: str) -> object:
    """A value as another process would find it: what is committed."""
    reader = sqlite3.connect(folder / FILE_NAME)
    try:
        row = reader.execute("select value from meta where name = ?", (name,)).fetchone()
    finally:
        reader.close()
    return row and row[0]


async def test_what_was_written_is_on_disk_once_it_has_settled(store: Store, tmp_path: Path) -> None:
    store.set_value("name", "value")
    assert kept_outside(tmp_path, "name") is None
    await store.settled()
    assert kept_outside(tmp_path, "name") == "value"


async def test_all_changes_of_a_turn_share_one_commit(store: Store) -> None:
    commits: list[str] = []
    store._database.set_trace_callback(
        lambda text: commits.append(text) if text.lower() == "commit" else None
    )

    async def write(name: str) -> None:
        store.set_value(name, name)
        await store.settled()

    await asyncio.gather(*(write(str(index)) for index in range(20)))
    assert len(commits) == 1


async def test_something_that_changed_often_in_a_turn_is_saved_once(store: Store) -> None:
    class Counted:
        saved = 0

        def save(self, _: Store) -> None:
            self.saved += 1

    counted = Counted()
    for _ in range(5):
        store.changed(counted)
    await store.settled()
    assert counted.saved == 1


async def test_a_waiter_that_gave_up_holds_up_nobody(store: Store) -> None:
    store.set_value("name", 1)
    gone, waits = asyncio.ensure_future(store.settled()), asyncio.ensure_future(store.settled())
    await asyncio.sleep(0)
    gone.cancel()
    await waits


async def test_a_disk_that_refuses_fails_everyone_from_then_on(store: Store) -> None:
    store._database.execute("pragma query_only = on")
    for _ in range(2):
        with pytest.raises(StorageFailed, match="cannot be used"):
            store.set_value("name", 1)
    with pytest.raises(StorageFailed):
        await store.settled()


async def test_a_commit_that_fails_tells_those_who_wait_and_refuses_later_writes(store: Store) -> None:
    class Refusing:
        def save(self, _: Store) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    store.changed(Refusing())
    with pytest.raises(StorageFailed, match="disk is full"):
        await store.settled()
    with pytest.raises(StorageFailed):
        store.set_value("name", 1)


@pytest.mark.parametrize("content", [b"not a database at all, but something else that is long enough" * 20])
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(DataDirUnreadable, match=FILE_NAME):
        Store(tmp_path, synchronous="off")


def test_a_log_of_a_later_format_is_refused(tmp_path: Path) -> None:
    Store(tmp_path, synchronous="off").close()
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("pragma user_version = 99")
    other.close()
    with pytest.raises(DataDirUnreadable, match="format 99"):
        Store(tmp_path, synchronous="off")


async def test_a_checkpoint_empties_a_long_write_ahead_log(store: Store, tmp_path: Path) -> None:
    wal = tmp_path / f"{FILE_NAME}-wal"
    for offset in range(70):
        store.insert_batch(1, offset, offset, 0, bytes(1 << 20))
        await store.settled()
    assert wal.stat().st_size > 64 << 20
    await store.checkpoint()
    assert wal.stat().st_size == 0
