"""A circuit breaker: after failures in a row handlers rest, then one attempt shows whether they work again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal

State = Literal["closed", "open", "half-open"]


class Breaker:
    """Counts failed attempts in a row. While it is open no attempt begins, and the agent announces itself unhealthy.

    `pause` is in seconds; `on_change` is told each new state.
    """

    def __init__(
        self,
        *,
        failures: int,
        pause: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_change: Callable[[State], None] = lambda _: None,
    ) -> None:
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._sleep = sleep
        self._on_change = on_change
        self._failures = 0
        self._opened_at = 0.0
        self._state: State = "closed"
        self._probed = asyncio.Event()

    @property
    def state(self) -> State:
        """Closed: attempts begin. Open: none does. Half-open: one is under way and decides."""
        return self._state

    async def admit(self) -> None:
        """Return when an attempt may begin; each must be followed by `succeeded`, `failed` or `abandoned`."""
        while self._state != "closed":
            if self._state == "half-open":
                await self._probed.wait()
                continue
            left = self._opened_at + self._pause - self._clock()
            if left > 0:
                await self._sleep(left)
            elif self._state == "open":
                self._probed.clear()
                self._become("half-open")
                return

    def succeeded(self) -> None:
        """The attempt worked, or failed for a reason in the message itself."""
        self._failures = 0
        if self._state == "half-open":
            self._probed.set()
            self._become("closed")

    def failed(self) -> None:
        """The attempt failed."""
        self._failures += 1
        if self._state == "half-open" or (self._state == "closed" and self._failures >= self._limit):
            self._opened_at = self._clock()
            self._probed.set()
            self._become("open")

    def abandoned(self) -> None:
        """The attempt was cancelled and says nothing."""
        if self._state == "half-open":
            self._opened_at = self._clock() - self._pause
            self._probed.set()
            self._become("open")

    def _become(self, state: State) -> None:
        self._state = state
        self._on_change(state)
