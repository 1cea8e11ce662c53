"""The offsets that consumer groups have committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from strabo_broker.store import Store


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A position, with the leader epoch and the text that its committer gave."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class Offsets:
    """Committed offsets, kept in the store alone: they are read seldom, and written a few at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def commit(self, group_id: str, topic: str, number: int, offset: CommittedOffset, now_ms: int) -> None:
        self._store.execute(
            "insert or replace into committed_offsets values (?, ?, ?, ?, ?, ?, ?)",
            (group_id, topic, number, offset.offset, offset.leader_epoch, offset.metadata, now_ms),
        )

    def find(self, group_id: str, topic: str, number: int) -> CommittedOffset | None:
        for row in self._store.query(
            'select "offset", leader_epoch, metadata from committed_offsets'
            " where group_id = ? and topic = ? and number = ?",
            (group_id, topic, number),
        ):
            return CommittedOffset(*row)
        return None

    def of_group(self, group_id: str) -> Iterator[tuple[Any, ...]]:
        """Topic and partition of every offset that the group has committed."""
        yield from self._store.query(
            "select topic, number from committed_offsets where group_id = ? order by topic, number",
            (group_id,),
        )

    def groups(self) -> list[str]:
        """The groups that have committed anything."""
        return [group for (group,) in self._store.query("select distinct group_id from committed_offsets")]

    def delete_group(self, group_id: str) -> None:
        self._store.execute("delete from committed_offsets where group_id = ?", (group_id,))

    def expire(self, live_groups: frozenset[str], committed_before_ms: int) -> None:
        """Forget what groups without members committed long ago."""
        for (group_id,) in list(
            self._store.query(
                "select group_id from committed_offsets group by group_id having max(committed_ms) < ?",
                (committed_before_ms,),
            )
        ):
            if group_id not in live_groups:
                self.delete_group(group_id)
