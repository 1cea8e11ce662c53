"""The inbox partitions that the group gives to this worker at present."""

from __future__ import annotations

import asyncio

from strabo_runtime.worker.errors import Overtaken


class Assignment:
    """Changes with every rebalance; each change is a new generation, in which nothing of the old one may go on."""

    def __init__(self) -> None:
        self.partitions: frozenset[int] = frozenset()
        self.generation = 0
        self.changed = asyncio.Event()

    def change(self, partitions: frozenset[int]) -> None:
        """These are assigned from now on, and no others."""
        self.partitions = partitions
        self.generation += 1
        self.changed.set()

    def check(self, generation: int) -> None:
        """Raises `Overtaken` when this is no longer the generation."""
        if generation != self.generation:
            raise Overtaken(f"the assignment changed from generation {generation} to {self.generation}")
