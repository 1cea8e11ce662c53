"""What steps have reached of a protocol: its states, its transitions, its constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from strabo_runtime.engine.inputs import Message, Start
from strabo_runtime.engine.machine import Constraint, EventTrigger, Machine, MessageTrigger, Transition
from strabo_runtime.engine.outputs import Step


@dataclass(frozen=True, slots=True)
class Coverage:
    """What nothing reached. A constraint is reached when it is checked, and tried when it is violated as well."""

    states: tuple[str, ...]
    transitions: tuple[str, ...]
    constraints: tuple[str, ...]
    never_violated: tuple[str, ...]
    totals: Mapping[str, int]

    @property
    def complete(self) -> bool:
        """Whether every state, transition and constraint was reached."""
        return not (self.states or self.transitions or self.constraints)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "unreached": {
                "states": list(self.states),
                "transitions": list(self.transitions),
                "constraints": list(self.constraints),
            },
            "never_violated": list(self.never_violated),
            "totals": dict(self.totals),
        }


def cover(machine: Machine, steps: Iterable[Step]) -> Coverage:
    """What these steps have not reached."""
    states: set[str] = set()
    transitions: set[int] = set()
    checked: set[str] = set()
    violated: set[str] = set()
    for made in steps:
        violated.update(made.violations)
        if made.verdict in ("duplicate", "ignored", "failed"):
            continue
        for micro_step in made.micro_steps:
            states.update((micro_step.source, micro_step.target))
            if micro_step.transition is not None:
                transitions.add(micro_step.transition)
        checked.update(_checked(machine, made))
    constraints = [constraint.name for constraint in machine.constraints]
    return Coverage(
        tuple(name for name in machine.states if name not in states),
        tuple(name_of(found) for found in machine.transitions if found.index not in transitions),
        tuple(name for name in constraints if name not in checked | violated),
        tuple(name for name in constraints if name in checked and name not in violated),
        {
            "states": len(machine.states),
            "transitions": len(machine.transitions),
            "constraints": len(constraints),
        },
    )


def _checked(machine: Machine, made: Step) -> set[str]:
    """The constraints that this step evaluated: all of a phase together, once it came so far."""
    message = made.input if isinstance(made.input, Message) else None
    if isinstance(made.input, Start):
        message = made.input.message
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


def _cause(trigger: MessageTrigger | EventTrigger) -> str:
    if isinstance(trigger, EventTrigger):
        return f"the event {trigger.event}"
    return trigger.message if trigger.role is None else f"{trigger.message} from {trigger.role}"
