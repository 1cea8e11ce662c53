"""Work in order within an instance, at once across instances, so many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

ItemT = TypeVar("ItemT")


class Lanes(Generic[ItemT]):
    """Runs `work` on items: one after another within a lane, at most `concurrency` at a time over all.

    An error of `work` is a fault of the agent, not of a message: `failure` then holds the first, and nothing
    begins any more.
    """

    def __init__(self, work: Callable[[ItemT], Awaitable[None]], concurrency: int) -> None:
        self._work = work
        self._places = asyncio.Semaphore(concurrency)
        self._lanes: dict[Hashable, deque[ItemT]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self.pending = 0
        self.failure: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    def put(self, lane: Hashable, item: ItemT) -> None:
        """Queue the item at the end of its lane."""
        if self._closed:
            return
        self.pending += 1
        waiting = self._lanes.get(lane)
        if waiting is not None:
            waiting.append(item)
            return
        self._lanes[lane] = deque([item])
        task = asyncio.create_task(self._run(lane), name=f"lane {lane}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self, unwanted: Callable[[ItemT], bool]) -> None:
        """Take out of the queues what has not begun and is unwanted."""
        for waiting in self._lanes.values():
            kept = [item for item in waiting if not unwanted(item)]
            self.pending -= len(waiting) - len(kept)
            waiting.clear()
            waiting.extend(kept)

    async def idle(self) -> None:
        """Return once nothing is in hand; raises the `failure`."""
        while self._tasks and not self.failure.done():
            waited: set[asyncio.Future[Any]] = {*self._tasks, self.failure}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if self.failure.done():
            raise self.failure.result()

    async def close(self, patience: float) -> bool:
        """Begin nothing more, give what runs `patience` seconds, then cancel it; True when all ended by itself."""
        self._closed = True
        self.drop(lambda _: True)
        tasks = list(self._tasks)
        if not tasks:
            return True
        _, running = await asyncio.wait(tasks, timeout=patience)
        for task in running:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return not running

    async def _run(self, lane: Hashable) -> None:
        waiting = self._lanes[lane]
        try:
            while waiting:
                async with self._places:
                    if not waiting:
                        break
                    item = waiting.popleft()
                    try:
                        await self._work(item)
                    finally:
                        self.pending -= 1
        except Exception as error:
            self._fail(error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody asked this lane to end: what waits in it must not be forgotten in silence.
            ended = RuntimeError("work was cancelled by something that it awaited")
            ended.__cause__ = error
            self._fail(ended)
        finally:
            self.pending -= len(waiting)
            del self._lanes[lane]

    def _fail(self, error: Exception) -> None:
        self._closed = True
        if not self.failure.done():
            self.failure.set_result(error)
