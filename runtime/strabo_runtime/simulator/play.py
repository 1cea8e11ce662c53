"""Random play: many runs, seeded, and what became of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Reply, Step
from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.simulator.coverage import Coverage, Reach, coverage_lines
from strabo_runtime.simulator.deck import Playbook
from strabo_runtime.simulator.player import Player, Run
from strabo_runtime.simulator.story import tell

_SHOWN_RUNS = 5
_SHOWN_KINDS = 20
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that should not be: a step error, or a run that never ends. `run` is the first in which it showed."""

    text: str
    count: int
    run: int


@dataclass(frozen=True, slots=True)
class PlayReport:
    """What random play found. `endings` and `refusals` count; `longest` lists the runs with most steps."""

    protocol: str
    runs: int
    seed: int
    endings: Mapping[str, int]
    refusals: Mapping[str, int]
    findings: tuple[Finding, ...]
    longest: tuple[Run, ...]
    coverage: Coverage
    steps: int

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "protocol": self.protocol,
            "runs": self.runs,
            "seed": self.seed,
            "steps": self.steps,
            "endings": dict(self.endings),
            "refusals": dict(self.refusals),
            "findings": [
                {"text": found.text, "count": found.count, "run": found.run} for found in self.findings
            ],
            "longest": [
                {"run": run.number, "ending": run.ending, "steps": run.steps, "inputs": run.inputs}
                for run in self.longest
            ],
            "coverage": self.coverage.to_json(),
        }


_CHILD_ID = re.compile(r"run-\d+(?::\d+:child:\d+)+")
"""Differs from run to run where the finding is the same."""


@dataclass(slots=True)
class _Tally:
    endings: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    found: dict[str, tuple[int, int]] = field(default_factory=dict)
    longest: list[Run] = field(default_factory=list)
    steps: int = 0

    def run(self, run: Run) -> None:
        """Take in how a run went."""
        self.endings[run.ending] += 1
        for error in run.errors:
            self._find(f"a step failed: {_CHILD_ID.sub('a child', error)}", run.number)
        if run.endless:
            self._find(run.ending, run.number)
        self.longest = sorted((*self.longest, run), key=lambda one: (-one.steps, one.number))[:_SHOWN_RUNS]

    def step(self, made: Step) -> None:
        """Take in one step."""
        self.steps += made.verdict == "taken"
        if made.rejection is not None:
            self._refuse(made.rejection)
            return
        for output in made.outputs:
            if isinstance(output, Reply) and output.rejection is not None:
                self._refuse(output.rejection)

    def _refuse(self, rejection: Rejection) -> None:
        names = ", ".join(rejection.constraints)
        self.refusals[f"{rejection.by}{' ' + names if names else ''}"] += 1

    def nothing_began(self) -> None:
        """Take in that no run came as far as a first step."""
        self._find("no run began: no start was found that the protocol takes", 1)

    def _find(self, text: str, run: int) -> None:
        clipped = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
        count, first = self.found.get(clipped, (0, run))
        self.found[clipped] = (count + 1, first)


def play(machines: Machine | Iterable[Machine], *, runs: int, seed: int) -> PlayReport:
    """Play `runs` instances of the first machine; the others are the protocols of its children.

    The same seed plays the same runs.
    """
    book = Playbook((machines,) if isinstance(machines, Machine) else machines)
    reach = Reach(book.first)
    tally = _Tally()
    for number in range(1, runs + 1):
        player = Player(book, seed, number)
        tally.run(player.play())
        for made in player.host.steps:
            tally.step(made)
            known = made.after or made.before
            if known is not None and known.machine_hash == book.first.hash:
                reach.note(made)
    if runs and not tally.steps:
        tally.nothing_began()
    return PlayReport(
        book.first.name,
        runs,
        seed,
        dict(tally.endings.most_common()),
        dict(tally.refusals.most_common()),
        tuple(Finding(text, count, first) for text, (count, first) in tally.found.items()),
        tuple(tally.longest),
        reach.result(),
        tally.steps,
    )


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """One run again, with its story: a line a step, each with its instance."""

    run: Run
    story: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """For programs."""
        run = self.run
        return {
            "run": run.number,
            "ending": run.ending,
            "steps": run.steps,
            "inputs": run.inputs,
            "errors": list(run.errors),
            "story": list(self.story),
        }


def play_run(machines: Machine | Iterable[Machine], *, seed: int, run: int) -> PlayedRun:
    """Play one of the runs that `play` plays with this seed."""
    book = Playbook((machines,) if isinstance(machines, Machine) else machines)
    player = Player(book, seed, run)
    played = player.play()
    several = len(player.host.instances) > 1
    return PlayedRun(played, tuple(_line(made, several) for made in player.host.steps))


def _line(made: Step, several: bool) -> str:
    known = made.after or made.before
    name = "" if known is None or not several else f"[{known.id}] "
    return name + tell(made)


def render_play(report: PlayReport) -> str:
    """The report for a terminal."""
    lines = [f"{report.protocol}: {report.runs} runs, seed {report.seed}, {report.steps} steps", "endings:"]
    lines += _counted(report.endings)
    if report.refusals:
        lines.append("refusals:")
        lines += _counted(report.refusals)
    lines.append("longest runs:")
    lines += [
        f"  run {run.number}: {run.steps} steps, {run.inputs} inputs, {run.ending}" for run in report.longest
    ]
    lines += coverage_lines(report.coverage)
    if report.findings:
        lines.append("findings:")
        lines += [
            f"  {found.count:>6}  {found.text}  (again: --seed {report.seed} --run {found.run})"
            for found in report.findings[:_SHOWN_KINDS]
        ]
        if len(report.findings) > _SHOWN_KINDS:
            lines.append(f"          and {len(report.findings) - _SHOWN_KINDS} further ones")
    return "\n".join(lines)


def render_run(played: PlayedRun) -> str:
    """A run's story for a terminal."""
    run = played.run
    lines = [*played.story, f"run {run.number}: {run.steps} steps, {run.inputs} inputs, {run.ending}"]
    return "\n".join([*lines, *(f"a step failed: {error}" for error in run.errors)])


def _counted(counts: Mapping[str, int]) -> list[str]:
    lines = [f"  {count:>6}  {what}" for what, count in list(counts.items())[:_SHOWN_KINDS]]
    rest = sum(list(counts.values())[_SHOWN_KINDS:])
    return [*lines, f"  {rest:>6}  others"] if rest else lines
