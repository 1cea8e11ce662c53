"""What the engine would otherwise search for at every step, derived once from a machine's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from strabo_runtime.engine.identity import engine_agent
from strabo_runtime.expressions import Expression, PayloadValidator, Template

if TYPE_CHECKING:
    from strabo_runtime.engine.inputs import Agents
    from strabo_runtime.engine.machine import Constraint, Machine, Phase

NO_MESSAGE = ""
"""The key, among message types, of a step that no message began."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Derived tables.

    `before`, `after` and `always` map the message type that began a step (or NO_MESSAGE) to the constraints to
    check. `engine_bindings` holds who plays each engine role. `speaks_for` names the engine role that sends a type;
    `inward` holds, for types addressed to engine roles alone, their recipients. `from_roles` holds, by transition and
    trigger key, the roles that its triggers are limited to; those of a child's end, the outcomes. `event_validators`
    check what children send, by event; there are none in a protocol that starts no children. `asked_again` are the
    roles whose agents may be sent a request once more. `reads_starting` is false where no expression reads the starting
    message after the start, so that instances need not keep it; `reads_children` and `reads_instance` are false where
    none reads those, so that steps need not make them.
    """

    before: Mapping[str, tuple[Constraint, ...]]
    after: Mapping[str, tuple[Constraint, ...]]
    always: Mapping[str, tuple[Constraint, ...]]
    engine_roles: frozenset[str]
    engine_bindings: Mapping[str, Agents]
    speaks_for: Mapping[str, str]
    inward: Mapping[str, Agents]
    from_roles: Mapping[tuple[int, str | None], frozenset[str]]
    event_validators: Mapping[str, PayloadValidator]
    asked_again: frozenset[str]
    nobody_owes: Mapping[str, Agents]
    reads_starting: bool
    reads_children: bool
    reads_instance: bool


def build_lookup(machine: Machine) -> Lookup:
    """The derived tables of a machine."""
    engine_roles = frozenset(role.name for role in machine.roles.values() if role.played_by == "engine")
    return Lookup(
        before=_by_message(machine, "before"),
        after=_by_message(machine, "after"),
        always=_by_message(machine, "always"),
        engine_roles=engine_roles,
        engine_bindings={role: (engine_agent(role),) for role in sorted(engine_roles)},
        speaks_for={
            kind.name: next((role for role in kind.senders if role in engine_roles), kind.senders[0])
            for kind in machine.messages.values()
        },
        inward={
            kind.name: tuple(dict.fromkeys(engine_agent(addressee.role) for addressee in kind.to))
            for kind in machine.messages.values()
            if all(addressee.role in engine_roles for addressee in kind.to)
        },
        from_roles=_from_roles(machine),
        event_validators=_event_validators(machine),
        asked_again=frozenset(
            expectation.role
            for state in machine.states.values()
            for expectation in state.expects
            if expectation.asks_again
        ),
        nobody_owes=dict.fromkeys(machine.roles, ()),
        reads_starting=any("starting" in text for text in _texts(_after_the_start(machine))),
        reads_children=any("children" in text for text in _texts(_whole(machine))),
        reads_instance=any("instance" in text for text in _texts(_whole(machine))),
    )


def _by_message(machine: Machine, phase: Phase) -> dict[str, tuple[Constraint, ...]]:
    return {
        key: tuple(
            constraint
            for constraint in machine.constraints
            if constraint.phase == phase and (not constraint.messages or key in constraint.messages)
        )
        for key in (NO_MESSAGE, *machine.messages)
    }


def _from_roles(machine: Machine) -> dict[tuple[int, str | None], frozenset[str]]:
    from strabo_runtime.engine.machine import child_key  # which imports this module

    roles: dict[tuple[int, str | None], set[str | None]] = {}
    for transition in machine.transitions:
        for trigger in transition.triggers:
            message, child = getattr(trigger, "message", None), getattr(trigger, "child", None)
            if message is not None:
                limit = getattr(trigger, "role", None)
            elif child is not None:
                message, limit = child_key(child), getattr(trigger, "outcome", None)
            else:
                continue
            roles.setdefault((transition.index, message), set()).add(limit)
    return {
        place: frozenset(role for role in named if role is not None)
        for place, named in roles.items()
        if None not in named
    }


def _event_validators(machine: Machine) -> dict[str, PayloadValidator]:
    """Children are of other definitions, so what they send need not be what this one declares."""
    from strabo_runtime.engine.machine import StartProtocol  # which imports this module

    parts = (*machine.transitions, *machine.states.values())
    if not any(isinstance(part, StartProtocol) for part in _parts(parts)):
        return {}
    return {
        event.name: PayloadValidator(event.payload, machine.types)
        for event in machine.events.values()
        if event.payload is not None
    }


def _after_the_start(machine: Machine) -> tuple[object, ...]:
    """Everything whose expressions may be evaluated once the instance has begun."""
    return (
        tuple(machine.states.values()),
        machine.transitions,
        machine.constraints,
        machine.deadline,
        tuple(machine.labels.values()),
        tuple(machine.result.values()),
    )


def _whole(machine: Machine) -> tuple[object, ...]:
    return (*_after_the_start(machine), tuple(variable.initial for variable in machine.variables.values()))


def _texts(part: object) -> Iterator[str]:
    for inner in _parts(part):
        if isinstance(inner, Expression):
            yield inner.text
        elif isinstance(inner, Template):
            yield repr(inner.source)


def _parts(part: object) -> Iterator[object]:
    """The part itself and everything in it."""
    if isinstance(part, tuple):
        for item in part:
            yield from _parts(item)
    else:
        yield part
        if is_dataclass(part):
            for field in fields(part):
                yield from _parts(getattr(part, field.name))
