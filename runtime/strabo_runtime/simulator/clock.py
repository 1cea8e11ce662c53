"""A clock that moves only when told to."""

from __future__ import annotations

from strabo_runtime.expressions import format_timestamp, parse_timestamp

START = parse_timestamp("2030-01-01T00:00:00Z")
"""Where a scenario's clock begins, in milliseconds since the epoch."""


class Clock:
    """Simulated time, in milliseconds since the epoch. It never goes back."""

    def __init__(self, now: int = START) -> None:
        self._now = now

    @property
    def now(self) -> int:
        """The time."""
        return self._now

    def move_to(self, time: int) -> None:
        """Let it be this time; an earlier one changes nothing."""
        self._now = max(self._now, time)

    def __str__(self) -> str:
        return format_timestamp(self._now)
