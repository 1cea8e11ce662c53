"""Under which conditions a benchmark runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Conditions:
    """`bootstrap` is the address of the broker called `broker`; both are empty for what needs none.

    `quick` shows within seconds that a benchmark works; its figures are no measurement.
    """

    quick: bool = False
    broker: str = ""
    bootstrap: str = ""

    def rounds(self, *, quick: int, full: int) -> int:
        """How many rounds, or how much of anything."""
        return quick if self.quick else full
