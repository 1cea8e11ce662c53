"""What every store must do, and what only some do."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from strabo_agents.errors import LeaseLost, StoreError, StoreInUse, StoreUnavailable
from strabo_agents.messages import Outgoing
from strabo_agents.stores import Handled, Held, Lease, MemoryStore, SqliteStore, Store

DIGEST = b"12345678"
OUTBOX = [
    Outgoing("ns.inbox", 1, b"i1", b"first", (("ce_id", b"a"),)),
    Outgoing("ns.inbox", 1, None, b"second"),
]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "a" / "store.sqlite")
    await made.open()
    yield made
    await made.close()


async def claimed(store: Store, message_id: str = "m1") -> Lease:
    claim = await store.claim(message_id, DIGEST)
    assert isinstance(claim, Lease)
    return claim


async def test_a_new_message_is_given_under_a_lease(store: Store) -> None:
    assert (await claimed(store)).message_id == "m1"


async def test_a_message_under_lease_is_held(store: Store) -> None:
    await claimed(store)

    again = await store.claim("m1", DIGEST)

    assert isinstance(again, Held)
    assert again.retry_after > 0


async def test_a_released_message_can_be_claimed_again(store: Store) -> None:
    await store.release(await claimed(store))

    await claimed(store)


async def test_a_finished_message_gives_its_outbox_in_the_same_bytes(store: Store) -> None:
    await store.finish(await claimed(store), OUTBOX)

    assert await store.claim("m1", DIGEST) == Handled(tuple(OUTBOX), sent=False)


async def test_another_message_under_an_old_id_is_not_taken_for_the_old_one(store: Store) -> None:
    await store.finish(await claimed(store), OUTBOX)

    other = await store.claim("m1", b"other...")
    assert isinstance(other, Lease)
    await store.finish(other, OUTBOX[:1])

    assert await store.claim("m1", b"other...") == Handled(tuple(OUTBOX[:1]), sent=False)


async def test_a_finished_message_is_unsent_until_it_is_marked(store: Store) -> None:
    await store.finish(await claimed(store), OUTBOX)
    assert await store.unsent() == [("m1", Handled(tuple(OUTBOX), sent=False))]

    await store.mark_sent("m1")

    assert await store.unsent() == []
    assert await store.handled("m1") == Handled(tuple(OUTBOX), sent=True)


async def test_a_message_not_finished_is_not_handled(store: Store) -> None:
    await claimed(store)

    assert await store.handled("m1") is None


async def test_a_lease_that_was_released_finishes_nothing(store: Store) -> None:
    lease = await claimed(store)
    await store.release(lease)

    with pytest.raises(LeaseLost):
        await store.finish(lease, OUTBOX)

    assert await store.handled("m1") is None
    assert not await store.renew(lease)


async def test_a_lapsed_lease_goes_to_who_asks_next() -> None:
    now = 0.0
    store = MemoryStore(lease=10.0, clock=lambda: now)
    first = await claimed(store)
    now = 10.0
    second = await claimed(store)

    assert not await store.renew(first)
    with pytest.raises(LeaseLost):
        await store.finish(first, OUTBOX)
    await store.finish(second, [])
    assert await store.claim("m1", DIGEST) == Handled((), sent=True)


async def test_a_renewed_lease_lasts() -> None:
    now = 0.0
    store = MemoryStore(lease=10.0, clock=lambda: now)
    lease = await claimed(store)
    now = 9.0
    assert await store.renew(lease)
    now = 18.0

    assert isinstance(await store.claim("m1", DIGEST), Held)


async def test_only_old_and_sent_messages_are_forgotten(tmp_path: Path) -> None:
    now = 0.0
    memory = MemoryStore(clock=lambda: now)
    sqlite = SqliteStore(tmp_path / "store.sqlite", clock=lambda: now)
    for store in (memory, sqlite):
        now = 0.0
        await store.open()
        for name in ("old", "unsent"):
            await store.finish(await claimed(store, name), OUTBOX)
        await store.mark_sent("old")
        now = 100.0
        await store.finish(await claimed(store, "new"), OUTBOX)
        await store.mark_sent("new")

        assert await store.forget(50.0) == 1

        assert await store.handled("old") is None
        assert await store.handled("unsent") is not None
        assert await store.handled("new") is not None
        await store.close()


async def test_a_closed_sqlite_store_remembers(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "store.sqlite")
    await first.open()
    await first.finish(await claimed(first), OUTBOX)
    await claimed(first, "m2")
    await first.close()

    second = SqliteStore(tmp_path / "store.sqlite")
    await second.open()

    assert await second.claim("m1", DIGEST) == Handled(tuple(OUTBOX), sent=False)
    await claimed(second, "m2")
    await second.close()


async def test_a_second_replica_is_refused_while_the_first_has_the_file(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "store.sqlite")
    await first.open()

    with pytest.raises(StoreInUse, match="another process runs this agent"):
        await SqliteStore(tmp_path / "store.sqlite", patience=0.05).open()

    await first.close()
    second = SqliteStore(tmp_path / "store.sqlite")
    await second.open()
    await second.close()


async def test_a_file_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreUnavailable, match="file"):
        await SqliteStore(tmp_path / "file" / "store.sqlite").open()


async def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(StoreError, match="newer version"):
        await SqliteStore(path).open()


async def test_a_file_that_is_no_database_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text("not a database at all, but long enough to be read as one" * 100)

    with pytest.raises(StoreUnavailable, match="not a database"):
        await SqliteStore(path).open()


async def test_many_messages_are_committed_in_groups(tmp_path: Path) -> None:
    import asyncio

    store = SqliteStore(tmp_path / "store.sqlite")
    await store.open()

    async def handle(number: int) -> None:
        await store.finish(await claimed(store, f"m{number}"), OUTBOX)
        await store.mark_sent(f"m{number}")

    await asyncio.gather(*(handle(number) for number in range(300)))

    assert await store.unsent() == []
    await store.close()


async def test_a_message_that_nothing_was_sent_for_is_forgotten_too(store: Store) -> None:
    await store.finish(await claimed(store), [])

    assert await store.unsent() == []
    assert await store.forget(-1.0) == 1


async def test_a_store_whose_disk_fails_does_not_answer_and_then_does_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite")
    await store.open()
    assert store._writer is not None
    inner = store._writer._connection
    assert inner is not None
    store._writer._connection = cast(sqlite3.Connection, _Failing(inner))

    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailable):
            await store.handled("m1")
        await store.finish(await claimed(store), OUTBOX)
    await store.close()


class _Failing:
    """A connection over a disk that is gone."""

    in_transaction = True

    def __init__(self, inner: sqlite3.Connection) -> None:
        self._inner = inner

    def execute(self, _statement: str) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    def rollback(self) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    def close(self) -> None:
        self._inner.close()
