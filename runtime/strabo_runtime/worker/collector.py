"""Python's garbage collector, set for a process that holds many small values for long."""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 20_000, 50, 1_000


def settle() -> None:
    """Collect seldom, and never again look at what was loaded before.

    Instances are values without cycles, freed as soon as nothing holds them. With Python's own thresholds the
    collector went over all of them again and again: 14 % of a step, and a pause that grows with their number. For a
    process of its own, since it holds for all of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
