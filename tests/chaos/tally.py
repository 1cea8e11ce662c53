"""A steady load of tallies (tally.yaml), written to the inbox by hand: no agents are needed to drive it."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from strabo_topics.settings import KafkaSettings
from tests.chaos.records import Sender, envelope

PROTOCOL_FILE = Path(__file__).with_name("tally.yaml")
GOAL = 30


class TallyLoad:
    """Starts tallies and adds to them until told to finish; some inputs are repeated, refused, or for nobody."""

    def __init__(self, settings: KafkaSettings, partitions: int, seed: int, *, every: float = 0.01) -> None:
        self.started = 0
        self._settings = settings
        self._partitions = partitions
        self._random = random.Random(seed)
        self._every = every
        self._finishing = False
        self._sums: dict[str, int] = {}
        self._sent = 0

    def finish(self) -> None:
        """Start nothing new; `run` returns once every tally has reached its goal."""
        self._finishing = True

    async def run(self) -> None:
        """Write one input after another."""
        async with Sender(self._settings, self._partitions) as sender:
            while not self._finishing or self._sums:
                await self._one(sender)
                await asyncio.sleep(0 if self._finishing else self._every)

    async def _one(self, sender: Sender) -> None:
        now = time.time_ns() // 1_000_000
        if not self._finishing and (len(self._sums) < 10 or self._random.random() < 0.05):
            instance_id = f"tally-{self.started}"
            self.started += 1
            self._sums[instance_id] = 0
            opened = envelope(
                instance_id, f"{instance_id}:open", "Open", "caller", {"goal": GOAL}, now, start_of="Tally"
            )
            for _ in range(self._repeats()):
                await sender.send(opened)
            return
        self._sent += 1
        instance_id = self._random.choice(list(self._sums)) if self._random.random() < 0.97 else "nobody"
        number = self._random.choice((1, 2, 3, 5, 9, 12))
        added = envelope(
            instance_id,
            f"add-{self._sent}",
            "Add",
            "caller",
            {"number": number},
            now,
            wants_reply=number == 5,
        )
        repeats = self._repeats()
        futures = [await sender.send(added) for _ in range(repeats)]
        if number <= 9 and instance_id in self._sums:
            self._sums[instance_id] += number
            if self._sums[instance_id] >= GOAL:
                await asyncio.gather(*futures)
                del self._sums[instance_id]

    def _repeats(self) -> int:
        return 2 if self._random.random() < 0.1 else 1
