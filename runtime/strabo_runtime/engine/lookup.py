"""What the engine would otherwise search for at every step, derived once from a machine's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from strabo_runtime.engine.identity import engine_agent
from strabo_runtime.expressions import Expression, Template

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
    message type, the roles that its triggers are limited to. `reminded` are the roles that an `expects` may remind.
    `reads_starting` is false where no expression reads the starting message after the start, so that instances need
    not keep it.
    """

    before: Mapping[str, tuple[Constraint, ...]]
    after: Mapping[str, tuple[Constraint, ...]]
    always: Mapping[str, tuple[Constraint, ...]]
    engine_roles: frozenset[str]
    engine_bindings: Mapping[str, Agents]
    speaks_for: Mapping[str, str]
    inward: Mapping[str, Agents]
    from_roles: Mapping[tuple[int, str | None], frozenset[str]]
    reminded: frozenset[str]
    nobody_owes: Mapping[str, Agents]
    reads_starting: bool


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
        reminded=frozenset(
            expectation.role
            for state in machine.states.values()
            for expectation in state.expects
            if expectation.remind is not None
        ),
        nobody_owes=dict.fromkeys(machine.roles, ()),
        reads_starting=_reads_starting(machine),
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
    roles: dict[tuple[int, str | None], set[str | None]] = {}
    for transition in machine.transitions:
        for trigger in transition.triggers:
            message = getattr(trigger, "message", None)
            if message is not None:
                roles.setdefault((transition.index, message), set()).add(getattr(trigger, "role", None))
    return {
        place: frozenset(role for role in named if role is not None)
        for place, named in roles.items()
        if None not in named
    }


def _reads_starting(machine: Machine) -> bool:
    """Whether the word occurs in any expression that may be evaluated after the start."""
    parts = (
        tuple(machine.states.values()),
        machine.transitions,
        machine.constraints,
        machine.deadline,
        tuple(machine.labels.values()),
        tuple(machine.result.values()),
    )
    return any("starting" in text for text in _texts(parts))


def _texts(part: object) -> Iterator[str]:
    if isinstance(part, Expression):
        yield part.text
    elif isinstance(part, Template):
        yield repr(part.source)
    elif isinstance(part, tuple):
        for item in part:
            yield from _texts(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _texts(getattr(part, field.name))
