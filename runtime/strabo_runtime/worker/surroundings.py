"""What all runners of a worker share: settings, clock, published protocols, agents, and the memory they may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strabo_runtime.worker.catalogue import Catalogue
from strabo_runtime.worker.clock import Clock
from strabo_runtime.worker.directory import Directory
from strabo_runtime.worker.settings import WorkerSettings, milliseconds


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`partitions` is the number of inbox partitions, `live_bytes` gives what the live instances of the worker take."""

    settings: WorkerSettings
    worker_id: str
    partitions: int
    clock: Clock
    catalogue: Catalogue
    directory: Directory
    live_bytes: Callable[[], int]

    def is_overloaded(self) -> bool:
        """Whether new starts are to be refused."""
        return self.live_bytes() >= self.settings.worker_max_live_bytes

    @property
    def stubs_kept_for(self) -> int | None:
        """How many milliseconds a finished instance is remembered; None: for ever."""
        kept = self.settings.inbox_retention
        return None if kept is None else milliseconds(kept)
