"""What a demonstration with many auctions says in figures: rates and latency percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from strabo_runtime.step_view import StepView


@dataclass
class Figures:
    """Collects one view a step and the client's report; `lines` is the table."""

    steps: int = 0
    refused: int = 0
    _latencies_ms: list[float] = field(default_factory=list)
    _auctions: int = 0
    _seconds: float = 0.0

    def add(self, view: StepView) -> None:
        """Count one step; a message's latency runs from its sending to its step."""
        self.steps += 1
        self.refused += view.verdict == "rejected"
        if view.sent_at is not None:
            self._latencies_ms.append(max(0.0, view.now - view.sent_at))

    def finish(self, report: dict[str, Any]) -> None:
        """Take the client's report: how many auctions ended in how many seconds."""
        self._auctions = sum("result" in auction for auction in report["auctions"])
        self._seconds = float(report["seconds"])

    def lines(self) -> list[str]:
        """The table; rates are over the whole run, its bidding time included."""
        if not self._latencies_ms or self._seconds <= 0:
            return []
        p50, p90, p99 = (percentile(self._latencies_ms, share) for share in (0.50, 0.90, 0.99))
        return [
            f"rate     {self._auctions / self._seconds:.1f} auctions/s, {self.steps / self._seconds:.1f} steps/s "
            f"({self.steps} steps, {self.refused} of them refusals, in {self._seconds:.1f} s, bidding time included)",
            f"latency  sending to step: p50 {p50:.0f} ms, p90 {p90:.0f} ms, p99 {p99:.0f} ms",
        ]


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; `share` between 0 and 1, `values` not empty."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
