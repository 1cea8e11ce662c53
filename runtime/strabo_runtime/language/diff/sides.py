"""The two versions that are compared, each as a compiled table and as a file with places."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from strabo_runtime.engine.machine import (
    Action,
    Emit,
    ForEach,
    Machine,
    MessageTrigger,
    Send,
    StartProtocol,
    StartTimer,
)
from strabo_runtime.language.diff.kinds import Audience, Findings
from strabo_runtime.language.diff.places import Places
from strabo_runtime.language.diff.type_changes import TypeChange


@dataclass(frozen=True)
class Side:
    """One version."""

    machine: Machine
    places: Places

    @cached_property
    def starters(self) -> frozenset[str]:
        """The message types that the first state takes: who sends one may thereby start an instance."""
        machine = self.machine
        return frozenset(
            name for name in machine.messages if machine.table.get((machine.initial, name)) is not None
        )

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Every action, those inside others included."""
        machine = self.machine
        found: list[Action] = []
        for state in machine.states.values():
            found += [*state.on_entry, *state.on_exit]
        for transition in machine.transitions:
            found += [*transition.actions, *transition.compensation]
        for constraint in machine.constraints:
            if isinstance(constraint.on_violation, Send):
                found.append(constraint.on_violation)
        return tuple(inner for action in found for inner in _with_inner(action))

    @property
    def sent(self) -> frozenset[str]:
        """The message types that the engine sends."""
        return frozenset(action.message for action in self.actions if isinstance(action, Send))

    @property
    def told_to_parent(self) -> frozenset[str]:
        """The events that reach the parent."""
        return frozenset(
            action.event for action in self.actions if isinstance(action, Emit) and action.to_parent
        )

    @property
    def timers(self) -> frozenset[str]:
        """The names of the timers that actions start."""
        return frozenset(action.name for action in self.actions if isinstance(action, StartTimer))

    @property
    def children(self) -> dict[str, set[tuple[str, str | None]]]:
        """By the name of the children, the protocols and versions that are started under it."""
        found: dict[str, set[tuple[str, str | None]]] = {}
        for action in self.actions:
            if isinstance(action, StartProtocol):
                found.setdefault(action.name, set()).add((action.protocol, action.version))
        return found

    def outside_senders(self, message: str) -> frozenset[str]:
        """The roles of agents and people that may send a message."""
        return frozenset(role for role in self.machine.messages[message].senders if self.is_outside(role))

    def outside_recipients(self, message: str) -> frozenset[str]:
        """The roles of agents and people that a message may reach."""
        return frozenset(
            entry.role for entry in self.machine.messages[message].to if self.is_outside(entry.role)
        )

    def is_outside(self, role: str) -> bool:
        """Whether agents or people play the role."""
        return self.machine.roles[role].played_by != "engine"

    def accepted_roles(self, state: str, message: str) -> frozenset[str]:
        """The roles whose message of this type some transition of the state takes."""
        roles: set[str] = set()
        for transition in self.machine.table.get((state, message), ()):
            for trigger in transition.triggers:
                if isinstance(trigger, MessageTrigger) and trigger.message == message:
                    roles |= {trigger.role} if trigger.role is not None else self.outside_senders(message)
        return frozenset(roles)


@dataclass(frozen=True, slots=True)
class Pair:
    """Both versions, and what was found."""

    old: Side
    new: Side
    findings: Findings

    def type_changes(
        self,
        way: tuple[str | int, ...],
        changes: Iterable[TypeChange],
        narrowed: Iterable[Audience],
        widened: Iterable[Audience],
        reasons: tuple[str, str, str],
    ) -> None:
        """Notes differences of types, whose paths begin with what has the type.

        `reasons` say why a narrower one breaks, why a wider one does, and why nobody is broken.
        """
        narrowed, widened = tuple(narrowed), tuple(widened)
        for change in changes:
            breaks = (*(narrowed if change.narrows else ()), *(widened if change.widens else ()))
            why = [
                reason
                for reason, applies in (
                    (reasons[0], change.narrows and narrowed),
                    (reasons[1], change.widens and widened),
                )
                if applies
            ]
            fields = tuple(part for part in change.path if part not in ("[]", "{}"))
            place = (*way, *fields[1:])
            self.findings.add(change.kind, place, change.what, "; ".join(why) or reasons[2], breaks)


def _with_inner(action: Action) -> Iterator[Action]:
    if isinstance(action, ForEach):
        yield from _with_inner(action.action)
    else:
        yield action


def only(names: Iterable[str], others: Container[str]) -> list[str]:
    """The names that the others do not hold."""
    return [name for name in names if name not in others]
