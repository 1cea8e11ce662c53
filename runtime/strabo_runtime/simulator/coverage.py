"""What steps have reached of a protocol: its states, transitions, constraints and compensations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from strabo_runtime.engine.compensation import compensated
from strabo_runtime.engine.inputs import Message, Retry, Start
from strabo_runtime.engine.machine import (
    ChildTrigger,
    Constraint,
    EventTrigger,
    Machine,
    MessageTrigger,
    Transition,
    Trigger,
)
from strabo_runtime.engine.outputs import Step
from strabo_runtime.simulator.story import find_deferred


@dataclass(frozen=True, slots=True)
class Coverage:
    """What nothing reached.

    A constraint is reached when it is checked, and tried when it is violated as well. A compensation is reached when it
    runs. `never_deferred` are the message types whose own policy is `defer` and that nobody ever had to defer.
    """

    states: tuple[str, ...]
    transitions: tuple[str, ...]
    constraints: tuple[str, ...]
    compensations: tuple[str, ...]
    never_violated: tuple[str, ...]
    never_deferred: tuple[str, ...]
    totals: Mapping[str, int]

    @property
    def unreached(self) -> dict[str, tuple[str, ...]]:
        """What was not reached, by kind."""
        return {
            "states": self.states,
            "transitions": self.transitions,
            "constraints": self.constraints,
            "compensations": self.compensations,
        }

    @property
    def complete(self) -> bool:
        """Whether every state, transition, constraint and compensation was reached."""
        return not any(self.unreached.values())

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "unreached": {kind: list(names) for kind, names in self.unreached.items()},
            "never_violated": list(self.never_violated),
            "never_deferred": list(self.never_deferred),
            "totals": dict(self.totals),
        }


class Reach:
    """Gathers what steps of one machine reach, a step at a time."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._states: set[str] = set()
        self._transitions: set[int] = set()
        self._checked: set[str] = set()
        self._violated: set[str] = set()
        self._undone = tuple(found for found in machine.transitions if found.compensation)
        self._compensated: set[int] = set()
        self._deferred: set[str] = set()

    def note(self, made: Step) -> None:
        """Take in one step."""
        self._violated.update(made.violations)
        if made.rejection is not None:
            # A start that is refused leaves no instance, and names what it violated in its refusal alone.
            self._violated.update(made.rejection.constraints)
        if made.verdict == "deferred" and isinstance(made.input, Message):
            self._deferred.add(made.input.type)
        if made.verdict in ("duplicate", "ignored", "failed"):
            return
        for micro_step in made.micro_steps:
            self._states.update((micro_step.source, micro_step.target))
            if micro_step.transition is not None:
                self._transitions.add(micro_step.transition)
        self._checked.update(_checked(self._machine, made))
        self._compensated.update(
            found.index for found in self._undone if compensated(found.index) in made.notes
        )

    def result(self) -> Coverage:
        """What was not reached so far."""
        machine = self._machine
        constraints = [constraint.name for constraint in machine.constraints]
        return Coverage(
            tuple(name for name in machine.states if name not in self._states),
            tuple(name_of(found) for found in machine.transitions if found.index not in self._transitions),
            tuple(name for name in constraints if name not in self._checked | self._violated),
            tuple(name_of(found) for found in self._undone if found.index not in self._compensated),
            tuple(name for name in constraints if name in self._checked and name not in self._violated),
            tuple(
                kind.name
                for kind in machine.messages.values()
                if kind.unexpected == "defer" and kind.name not in self._deferred
            ),
            {
                "states": len(machine.states),
                "transitions": len(machine.transitions),
                "constraints": len(constraints),
                "compensations": len(self._undone),
            },
        )


def cover(machine: Machine, steps: Iterable[Step]) -> Coverage:
    """What these steps have not reached."""
    reach = Reach(machine)
    for made in steps:
        reach.note(made)
    return reach.result()


def coverage_lines(coverage: Coverage) -> list[str]:
    """The coverage for a terminal."""
    lines: list[str] = []
    for what, names in coverage.unreached.items():
        if names:
            lines.append(f"{what} that nothing reached ({len(names)} of {coverage.totals[what]}):")
            lines += [f"  {name}" for name in names]
    if not lines:
        totals = ", ".join(f"{count} {what}" for what, count in coverage.totals.items() if count)
        lines.append(f"everything was reached: {totals}")
    if coverage.never_violated:
        lines.append(
            f"constraints that held whenever they were checked: {', '.join(coverage.never_violated)}"
        )
    if coverage.never_deferred:
        lines.append(f"messages that never had to be deferred: {', '.join(coverage.never_deferred)}")
    return lines


def _checked(machine: Machine, made: Step) -> set[str]:
    """The constraints that this step evaluated: all of a phase together, once it came so far."""
    message: Message | None = None
    match made.input:
        case Message():
            message = made.input
        case Start():
            message = made.input.message
        case Retry():
            message = find_deferred(made.before, made.input.message)
    cause = "" if message is None else message.type
    phases: tuple[Mapping[str, tuple[Constraint, ...]], ...]
    if made.verdict == "taken":
        phases = (machine.lookup.before, machine.lookup.after, machine.lookup.always)
    elif made.rejection is not None and made.rejection.by == "constraint":
        phases = (machine.lookup.before,)
    else:
        return set()
    return {constraint.name for phase in phases for constraint in phase.get(cause, ())}


def name_of(transition: Transition) -> str:
    """A transition in words: `from -> to on what`."""
    source = ", ".join(transition.sources) or "*"
    target = transition.target or "(stays)"
    causes = " or ".join(_cause(trigger) for trigger in transition.triggers)
    when = f" on {causes}" if causes else ""
    condition = f" if {transition.condition.text}" if transition.condition is not None else ""
    return f"{transition.index + 1}: {source} -> {target}{when}{condition}"


def _cause(trigger: Trigger) -> str:
    match trigger:
        case EventTrigger(event=event):
            return f"the event {event}"
        case ChildTrigger(child=child, outcome=outcome):
            return f"the end of the child {child}" + ("" if outcome is None else f" with {outcome}")
        case MessageTrigger(message=message, role=role):
            return message if role is None else f"{message} from {role}"
        case _:
            assert_never(trigger)
