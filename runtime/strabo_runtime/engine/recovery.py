"""Recovery: recorded changes applied to an instance, without evaluating anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from strabo_runtime.engine.changes import KEPT_INCIDENTS
from strabo_runtime.engine.errors import UnreadableState
from strabo_runtime.engine.inputs import Agents, Message
from strabo_runtime.engine.instance import Change, Child, Compensation, Incident, Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.snapshot import (
    decode_compensations,
    decode_debts,
    decode_instance,
    decode_rejection,
    decode_requests,
    decode_timers,
    measured_size,
)
from strabo_runtime.engine.stored_inputs import decode_message
from strabo_runtime.expressions import Variables
from strabo_runtime.expressions.types import Json


def apply_changes(machine: Machine, before: Instance | None, changes: Iterable[Change]) -> Instance:
    """The instance after one recorded step. Raises UnreadableState."""
    after = recover(machine, before, (tuple(changes),))
    if after is None:
        raise UnreadableState(f"a new instance of {machine.name} {machine.version} has no recorded changes")
    return after


def recover(machine: Machine, before: Instance | None, steps: Iterable[Sequence[Change]]) -> Instance | None:
    """The instance after many recorded steps, None where nothing was recorded of it. Raises UnreadableState.

    What many steps touch is thawed once and frozen once, so this is much cheaper than one step after the other.
    """
    draft: _Draft | None = None if before is None else _Draft(before)
    try:
        for changes in steps:
            if draft is None:
                if changes:
                    draft = _Draft(_begun(machine, changes))
            else:
                draft.apply(changes)
        return None if draft is None else draft.frozen()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableState(
            f"recorded changes of {machine.name} {machine.version} cannot be applied: {type(error).__name__}: {error}"
        ) from error


def _begun(machine: Machine, changes: Sequence[Change]) -> Instance:
    ((path, stored),) = changes
    if path != "instance" or not isinstance(stored, dict):
        raise ValueError(f"a new instance cannot begin with the change {path!r}")
    return decode_instance(machine, stored)


class _Draft:
    """An instance that changes are being applied to. What the instance before shares is copied before it is changed."""

    __slots__ = (
        "_before",
        "_children",
        "_compensations",
        "_deferred",
        "_deliveries",
        "_dropped",
        "_fields",
        "_incidents",
        "_owned",
        "_roles",
        "_seen",
        "_variables",
    )

    def __init__(self, before: Instance) -> None:
        self._before = before
        self._fields: dict[str, Any] = {}
        self._seen = before.seen
        self._variables: dict[str, Json] | None = None
        self._owned: dict[str, list[Json]] = {}
        self._roles: dict[str, Agents] | None = None
        self._dropped: dict[str, Agents] | None = None
        self._incidents: list[Incident] | None = None
        self._deliveries: dict[str, Json] | None = None
        self._children: list[Child] | None = None
        self._compensations: list[Compensation] | None = None
        self._deferred: dict[str, Message] | None = None

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply the changes of one step."""
        fields = self._fields
        for path, value in changes:
            if path in _REPLACED:
                fields[path] = value
            elif path.startswith("variables."):
                self._change_variable(path[10:], value)
            else:
                change = _CHANGES.get(path)
                if change is not None:
                    change(self, value)
                elif path.startswith("roles."):
                    if self._roles is None:
                        self._roles = dict(self._before.roles)
                    self._roles[path[6:]] = tuple(cast("list[str]", value))
                elif path.startswith("dropped."):
                    if self._dropped is None:
                        self._dropped = dict(self._before.dropped)
                    self._dropped[path[8:]] = tuple(cast("list[str]", value))
                else:
                    raise ValueError(f"{path!r} is no change that is known")

    def _change_variable(self, name: str, value: Json) -> None:
        if self._variables is None:
            self._variables = self._before.variables.to_json()
        if not name.endswith("+"):
            self._variables[name] = value
            self._owned.pop(name, None)
            return
        name = name[:-1]
        owned = self._owned.get(name)
        if owned is None:
            held = self._variables[name]
            owned = self._owned[name] = list(held) if isinstance(held, list) else []
            self._variables[name] = owned
        owned.append(value)

    def remember(self, value: Any) -> None:
        """One more remembered input."""
        key, digest, sender, sent_at, refusal = value
        rejection = None if refusal is None else decode_rejection(refusal)
        self._seen = self._seen.remember(key, digest, sender, sent_at, rejection)

    def add_incident(self, value: Any) -> None:
        """One more incident."""
        if self._incidents is None:
            self._incidents = list(self._before.incidents)
        self._incidents.append(Incident(*value))
        del self._incidents[:-KEPT_INCIDENTS]

    def change_deliveries(self, value: Any) -> None:
        """The deliveries that are gone, and those that are new."""
        gone, new = value
        if self._deliveries is None:
            self._deliveries = dict(self._before.deliveries)
        for made in gone:
            self._deliveries.pop(made, None)
        self._deliveries.update(new)

    def change_children(self, value: Any) -> None:
        """Children at their places."""
        if self._children is None:
            self._children = list(self._before.children)
        for place, row in value:
            if place == len(self._children):
                self._children.append(Child(*row))
            else:
                self._children[place] = Child(*row)

    def change_compensations(self, value: Any) -> None:
        """How many of the oldest compensations stay, and the new ones."""
        staying, rows = value
        if self._compensations is None:
            self._compensations = list(self._before.compensations)
        del self._compensations[staying:]
        self._compensations += decode_compensations(rows)

    def change_deferred(self, value: Any) -> None:
        """The deferred messages that are gone, and those that are new."""
        gone, new = value
        if self._deferred is None:
            self._deferred = {message.id: message for message in self._before.deferred}
        for message_id in gone:
            self._deferred.pop(message_id, None)
        for row in new:
            message = decode_message(row)
            self._deferred[message.id] = message

    def frozen(self) -> Instance:
        """The instance with all that was applied."""
        fields = {
            name: value if (decode := _REPLACED[name]) is None else decode(value)
            for name, value in self._fields.items()
        }
        if self._seen is not self._before.seen:
            fields["seen"] = self._seen
        if self._variables is not None:
            fields["variables"] = Variables.of(self._variables)
        if self._children is not None:
            fields["children"] = tuple(self._children)
        if self._compensations is not None:
            fields["compensations"] = tuple(self._compensations)
        if self._deferred is not None:
            fields["deferred"] = tuple(self._deferred.values())
        if self._incidents is not None:
            fields["incidents"] = tuple(self._incidents)
        mappings = {"roles": self._roles, "dropped": self._dropped, "deliveries": self._deliveries}
        fields |= {name: value for name, value in mappings.items() if value is not None}
        after = replace(self._before, **fields)
        return replace(after, size_bound=measured_size(after))


_REPLACED: Mapping[str, Callable[[Any], Any] | None] = {
    "revision": None,
    "now": None,
    "state": None,
    "status": None,
    "error": None,
    "result": None,
    "timers_set": None,
    "retry": None,
    "turns": None,
    "last_deliveries": None,
    "labels": None,
    "quorum_lost": tuple,
    "timers": decode_timers,
    "pending": decode_debts,
    "requests": decode_requests,
}
"""The fields that a change replaces whole, and what gives their value back; only the last one needs it."""

_CHANGES: Mapping[str, Callable[[_Draft, Any], None]] = {
    "seen+": _Draft.remember,
    "incidents+": _Draft.add_incident,
    "deliveries": _Draft.change_deliveries,
    "children": _Draft.change_children,
    "compensations": _Draft.change_compensations,
    "deferred": _Draft.change_deferred,
}
