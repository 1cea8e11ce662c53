"""Waiting before another attempt: longer each time, with jitter, without end."""

from __future__ import annotations

import asyncio
import random

FIRST_S = 0.02
LONGEST_S = 2.0


class Backoff:
    """Doubles from 20 ms to 2 s. The jitter keeps workers that failed together from coming back together."""

    def __init__(self, random_source: random.Random | None = None) -> None:
        self._random = random_source or random.Random()
        self._longest = FIRST_S

    def reset(self) -> None:
        """Begin again with the shortest wait: the last attempt worked."""
        self._longest = FIRST_S

    async def wait(self) -> None:
        """Wait between half and all of the present span."""
        span = self._longest
        self._longest = min(LONGEST_S, 2 * span)
        await asyncio.sleep(self._random.uniform(span / 2, span))
