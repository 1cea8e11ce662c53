"""Runs a scenario on the engine, and compares what came of it with what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from strabo_runtime.engine.inputs import Agents, Message, Start, TimerDue
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Delivery, Step
from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.expressions.types import Json
from strabo_runtime.language import Span
from strabo_runtime.simulator.host import Host
from strabo_runtime.simulator.scenario import (
    AdvanceStep,
    ExpectStep,
    Refusal,
    Scenario,
    SendStep,
    StartStep,
    Wanted,
)
from strabo_runtime.simulator.story import tell

_INSTANCE = "scenario"
_ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that was expected and is not so."""

    span: Span
    what: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What came of a scenario. It stops at the first expectation that does not hold; `story` tells how it got there."""

    name: str
    span: Span
    mismatches: tuple[Mismatch, ...]
    story: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.mismatches


def run_scenario(machine: Machine, scenario: Scenario) -> ScenarioResult:
    """Run one scenario from the start of its clock."""
    run = _Run(machine, scenario.roles)
    mismatches: list[Mismatch] = []
    for scenario_step in scenario.steps:
        match scenario_step:
            case SendStep():
                run.send(scenario_step)
            case StartStep():
                run.start(scenario_step)
            case AdvanceStep(by=by):
                run.host.advance(run.host.clock.now + by)
            case ExpectStep():
                mismatches = run.compare(scenario_step)
                if mismatches:
                    break
    story = tuple(tell(made) for made in run.host.steps)
    return ScenarioResult(scenario.name, scenario.span, tuple(mismatches), story, tuple(run.host.steps))


class _Run:
    """One scenario under way; what was received and refused counts since the last expectation."""

    def __init__(self, machine: Machine, roles: Mapping[str, Agents]) -> None:
        self._people = {
            role: agents for role, agents in roles.items() if machine.roles[role].played_by == "human"
        }
        self.host = Host(machine, roles, on_step=self._note)
        self._start: tuple[str, Mapping[str, Agents]] | None = None
        self._received: dict[str, list[str]] = {}
        self._rejected: list[tuple[str, str, Rejection]] = []
        self._failed_starts = 0

    def send(self, send: SendStep) -> None:
        """A message; the first one, and one that repeats its id, is a start."""
        message = self._message(send)
        begun = self._start
        if _INSTANCE not in self.host.instances or (begun is not None and begun[0] == send.id):
            self._begin(message, self._people)
        else:
            self.host.send(_INSTANCE, message)

    def start(self, start: StartStep) -> None:
        """A start that is written out."""
        message = None if start.message is None else self._message(start.message)
        self._begin(message, {**self._people, **start.roles})

    def _begin(self, message: Message | None, named: Mapping[str, Agents]) -> None:
        made = self.host.start(_INSTANCE, message, named=named)
        if made.verdict == "taken":
            self._start = (made.input.id, named)

    def _message(self, send: SendStep) -> Message:
        return self.host.message(
            send.sender, send.type, send.payload, id=send.id, role=send.role, to=send.to, user=send.user
        )

    def _note(self, made: Step) -> None:
        given = made.input
        for output in made.outputs:
            if isinstance(output, Delivery):
                for agent in output.to:
                    self._received.setdefault(agent, []).append(output.type)
        if made.verdict == "failed" and made.after is None:
            self._failed_starts += 1
        if made.rejection is not None and not isinstance(given, TimerDue):
            message = given.message if isinstance(given, Start) else given
            sender = given.starter if isinstance(given, Start) else given.sender
            self._rejected.append((sender, "" if message is None else message.type, made.rejection))

    # -- comparing ----------------------------------------------------------------------------------------------------

    def compare(self, expect: ExpectStep) -> list[Mismatch]:
        """Everything that is not as expected, in the order in which it is written down here."""
        instance = self.host.instances.get(_INSTANCE)
        found: list[Mismatch] = []
        if instance is None:
            found += _without_instance(expect)
        else:
            found += _compare_instance(expect, instance)
        incidents = self._failed_starts + (0 if instance is None else len(instance.incidents))
        found += _differ(expect.incidents, "incidents", incidents)
        for agent, wanted in (expect.received or {}).items():
            found += _differ(wanted, f"received by {agent}", list(self._received.get(agent, [])))
        if expect.rejected is not None:
            found += self._compare_refusals(*expect.rejected)
        self._received.clear()
        self._rejected.clear()
        return found

    def _compare_refusals(self, span: Span, wanted: tuple[Refusal, ...]) -> list[Mismatch]:
        fits = len(wanted) == len(self._rejected) and all(
            _is_refusal(refusal, *found) for refusal, found in zip(wanted, self._rejected, strict=True)
        )
        if fits:
            return []
        expected = [
            _refusal_text(refusal.sender, refusal.message, refusal.by, refusal.constraint)
            for refusal in wanted
        ]
        found = [
            _refusal_text(sender, kind, rejection.by, ", ".join(rejection.constraints) or None)
            for sender, kind, rejection in self._rejected
        ]
        return [Mismatch(span, "rejected", "; ".join(expected) or "nothing", "; ".join(found) or "nothing")]


def _without_instance(expect: ExpectStep) -> list[Mismatch]:
    """A scenario whose start was refused can expect nothing of the instance."""
    wanted = [("state", expect.state), ("status", expect.status), ("timers", expect.timers)]
    for what, group in (
        ("variables", expect.variables),
        ("result", expect.result),
        ("pending", expect.pending),
    ):
        wanted += [(f"{what} {name}", one) for name, one in (group or {}).items()]
    return [
        Mismatch(one.span, what, _text(one.value), "there is no instance: it was not started")
        for what, one in wanted
        if one is not None
    ]


def _compare_instance(expect: ExpectStep, instance: Instance) -> list[Mismatch]:
    found = _differ(expect.state, "state", instance.state)
    found += _differ(expect.status, "status", instance.status)
    for path, wanted in (expect.variables or {}).items():
        found += _differ_at(wanted, f"variable {path}", dict(instance.variables.json), path)
    for path, wanted in (expect.result or {}).items():
        found += _differ_at(wanted, f"result {path}", instance.result, path)
    for role, wanted in (expect.pending or {}).items():
        owing = dict.fromkeys(debt.agent for debt in instance.pending if debt.role == role)
        found += _differ_unordered(wanted, f"pending {role}", list(owing))
    if expect.timers is not None:
        names = [timer.key.removeprefix("timer:") for timer in instance.timers]
        found += _differ_unordered(expect.timers, "timers", names)
    return found


def _differ(wanted: Wanted | None, what: str, found: Json) -> list[Mismatch]:
    if wanted is None or _equal(wanted.value, found):
        return []
    return [Mismatch(wanted.span, what, _text(wanted.value), _text(found))]


def _differ_unordered(wanted: Wanted, what: str, found: list[str]) -> list[Mismatch]:
    expected: list[Json] = wanted.value if isinstance(wanted.value, list) else [wanted.value]
    if sorted(map(str, expected)) == sorted(found):
        return []
    return [Mismatch(wanted.span, what, _text(expected), _text(list(found)))]


def _differ_at(wanted: Wanted, what: str, value: Json, path: str) -> list[Mismatch]:
    for part in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif wanted.value is None:
            return []
        else:
            return [Mismatch(wanted.span, what, _text(wanted.value), _ABSENT)]
    return _differ(wanted, what, value)


def _equal(wanted: Json, found: Json) -> bool:
    """Equality of JSON: 1 and 1.0 are the same number, `true` is none."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(_equal(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(map(_equal, wanted, found))
    return wanted == found


def _is_refusal(wanted: Refusal, sender: str, kind: str, rejection: Rejection) -> bool:
    return (
        wanted.sender == sender
        and wanted.message == kind
        and wanted.by == rejection.by
        and (wanted.constraint is None or wanted.constraint in rejection.constraints)
    )


def _refusal_text(sender: str, kind: str, by: str, constraint: str | None) -> str:
    return f"{kind} from {sender} by {by}" + (f" {constraint}" if constraint else "")


def _text(value: Json) -> str:
    return orjson.dumps(value).decode()
