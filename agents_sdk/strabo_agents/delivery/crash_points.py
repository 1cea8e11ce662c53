"""The moments of a delivery at which a process may die with something at stake.

Tests kill the process at each of them and count what came of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

CrashPoint: TypeAlias = Literal["claimed", "handled", "stored", "produced", "marked", "committed"]
"""Under lease; the handler has run; done-mark and outbox are written; Kafka has the outbox; it is marked as sent;
the position is committed.
"""

CRASH_POINTS: tuple[CrashPoint, ...] = get_args(CrashPoint)

Checkpoint: TypeAlias = Callable[[CrashPoint], None]


def pass_by(point: CrashPoint) -> None:
    """Nothing happens at a crash point outside of tests."""
