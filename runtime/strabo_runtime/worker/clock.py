"""This machine's time, and the broker's as this worker knows it: never later than it really is."""

from __future__ import annotations

import time
from collections import deque

from strabo_runtime.worker.errors import ClockSkewed

SAMPLES = 64
SAMPLES_KEPT_MS = 120_000


class Clock:
    """Bounds the broker's clock by the stamps that it gives to what this worker appends.

    A stamp was given before its acknowledgement arrived, so at that moment the broker's clock showed at least the
    stamp. The best of the latest samples is kept; that the estimate never runs ahead is what timers rely on. It
    goes on by the monotonic clock, since this machine's own time may be set; and not for long, since the broker's may
    be set too.
    """

    def __init__(self, tolerance: int) -> None:
        """`tolerance` is the greatest difference allowed between the two clocks, in milliseconds."""
        self._tolerance = tolerance
        self._samples: deque[tuple[int, int]] = deque(maxlen=SAMPLES)

    def now(self) -> int:
        """This machine's time, in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def ticks(self) -> int:
        """Milliseconds that only ever go forward."""
        return time.monotonic_ns() // 1_000_000

    def broker_at_least(self) -> int | None:
        """A time that the broker's clock has reached; None before the first stamp."""
        samples, ticks = self._samples, self.ticks()
        while len(samples) > 1 and samples[0][0] < ticks - SAMPLES_KEPT_MS:
            samples.popleft()
        return ticks + max(ahead for _taken_at, ahead in samples) if samples else None

    def observe(self, sent: int, stamped: int) -> None:
        """Learn from a stamp that has just arrived, for what was sent at `sent` of `now`. Raises `ClockSkewed`."""
        if stamped < 0:
            return
        behind = max(0, stamped - self.now())
        ahead = max(0, sent - stamped)
        if max(behind, ahead) > self._tolerance:
            raise ClockSkewed(
                f"this machine's clock is {max(behind, ahead) / 1000:.1f} s {'ahead of' if ahead else 'behind'} the "
                f"broker's, more than the {self._tolerance / 1000:g} s allowed: set it right (an NTP service keeps it "
                "so), then start the worker again"
            )
        ticks = self.ticks()
        self._samples.append((ticks, stamped - ticks))
