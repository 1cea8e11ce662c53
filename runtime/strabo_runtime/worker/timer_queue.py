"""When each instance next needs attention: one entry an instance, the earliest first."""

from __future__ import annotations

import heapq

SLACK = 1_000


class TimerQueue:
    """A heap of due times in milliseconds. Superseded entries stay in it until they come up, or are the most of it."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._due: dict[str, int] = {}

    def set(self, instance_id: str, due: int | None) -> None:
        """The instance's only entry from now on; None takes it out."""
        if due is None:
            self._due.pop(instance_id, None)
            self._shrink()
        elif self._due.get(instance_id) != due:
            self._due[instance_id] = due
            heapq.heappush(self._heap, (due, instance_id))
            self._shrink()

    def first(self) -> tuple[int, str] | None:
        """The earliest entry."""
        while self._heap:
            due, instance_id = self._heap[0]
            if self._due.get(instance_id) == due:
                return due, instance_id
            heapq.heappop(self._heap)
        return None

    def _shrink(self) -> None:
        # A deadline of days would keep the entry of an instance that has long ended.
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._heap = [(due, instance_id) for instance_id, due in self._due.items()]
            heapq.heapify(self._heap)
