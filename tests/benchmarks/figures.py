"""What a benchmark finds: figures, each beside its baseline of the same run, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `baseline` has the same unit; `ratio` is the value as a share of it."""

    name: str
    value: float
    unit: str
    baseline: float
    ratio: float

    def to_json(self) -> dict[str, float | str]:
        """The form of the figure in `bench.json`, where its name is the key."""
        return {"value": self.value, "unit": self.unit, "baseline": self.baseline, "ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure should be at least, or at most."""

    bound: Literal["at least", "at most"]
    value: float

    def is_met(self, value: float) -> bool:
        """Whether a value is as good as it should be."""
        return value >= self.value if self.bound == "at least" else value <= self.value


AIMS = {
    "engine_steps_per_s": Aim("at least", 25_000),
    "growth_ratio": Aim("at most", 1.05),
    "replay_steps_per_s": Aim("at least", 100_000),
    "load_ms_worst": Aim("at most", 50),
    "instance_bytes": Aim("at most", 2_048),
    "worker_ratio_embedded": Aim("at least", 0.5),
    "worker_ratio_kafka": Aim("at least", 0.5),
    "delivery_p50_ms_kafka": Aim("at most", 6),
    "delivery_p99_ms_kafka": Aim("at most", 40),
}


def paired(name: str, unit: str, pairs: Sequence[tuple[float, float]]) -> Figure:
    """The figure of several rounds, each a value and its baseline taken right after one another.

    The median of the paired ratios counts: a neighbour on the machine slows both sides of a round, but not
    all rounds alike.
    """
    return Figure(
        name,
        median(value for value, _ in pairs),
        unit,
        median(baseline for _, baseline in pairs),
        median(value / baseline for value, baseline in pairs),
    )


def share(name: str, of: str, pairs: Sequence[tuple[float, float]]) -> Figure:
    """The ratio of several rounds as a figure of its own, whose baseline is 1."""
    ratio = median(value / baseline for value, baseline in pairs)
    return Figure(name, ratio, of, 1.0, ratio)


def table(figures: Sequence[Figure]) -> str:
    """The figures as lines of text, with what each should be."""
    rows = [("figure", "value", "unit", "baseline", "ratio", "aim")]
    for figure in figures:
        aim = AIMS.get(figure.name)
        text = "" if aim is None else f"{aim.bound} {_number(aim.value)}: {_verdict(aim, figure)}"
        rows.append(
            (
                figure.name,
                _number(figure.value),
                figure.unit,
                _number(figure.baseline),
                f"{figure.ratio:.3g}",
                text,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    numeric = {1, 3, 4}
    return [
        text.rjust(width) if column in numeric else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _verdict(aim: Aim, figure: Figure) -> str:
    return "met" if aim.is_met(figure.value) else "missed"
