"""The kinds of change between two versions, and a change as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from strabo_runtime.expressions.types import Json
from strabo_runtime.language.diagnostics import Span
from strabo_runtime.language.diff.places import Places, Way

Audience: TypeAlias = Literal["instances", "agents", "callers"]
AUDIENCES: tuple[Audience, ...] = ("instances", "agents", "callers")

# The manual's table is made of these, and a test holds both together.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "protocol-renamed": "The protocol has another name.",
        "same-version": "The content differs and the version does not.",
        "role-added": "A role that somebody must play is new.",
        "optional-role-added": "A role that may stay empty, or that the engine or a person plays, is new.",
        "role-removed": "A role is gone.",
        "played-by-changed": "A role is played by another kind.",
        "minimum-raised": "A role needs more agents.",
        "minimum-lowered": "A role needs fewer agents.",
        "maximum-lowered": "A role takes fewer agents.",
        "maximum-raised": "A role takes more agents.",
        "count-changed": "Another number of agents is sought.",
        "capability-added": "An agent must be able to do more.",
        "capability-removed": "An agent need not be able to do as much.",
        "role-opened": "Agents may join a role by sending.",
        "role-closed": "Agents may no longer join a role by sending.",
        "message-added": "A message type is new.",
        "message-removed": "A message type is gone.",
        "sender-added": "Another role may send a message.",
        "sender-removed": "A role may no longer send a message.",
        "recipient-added": "A message reaches another role.",
        "recipient-removed": "A message no longer reaches a role.",
        "reach-changed": "A message reaches one, any or all of a role where it was otherwise.",
        "field-added": "A field is new, and required.",
        "optional-field-added": "A field is new, and optional.",
        "field-removed": "A field is gone.",
        "field-required": "A field that could be left out is required.",
        "field-optional": "A field that was required may be left out.",
        "type-widened": "A type holds more values.",
        "type-narrowed": "A type holds fewer values.",
        "type-changed": "A type holds other values.",
        "schema-changed": "The JSON Schema of a payload is another.",
        "unexpected-stricter": "What no transition takes is refused where it was not.",
        "unexpected-milder": "What no transition takes is ignored or kept where it was refused.",
        "sensitive-changed": "Other fields are masked.",
        "event-added": "A declared event is new.",
        "event-removed": "A declared event is gone.",
        "parent-event-added": "An event for the parent is new.",
        "parent-event-removed": "An event for the parent is no longer raised.",
        "input-added": "An input is new, and required.",
        "optional-input-added": "An input is new, and has a default.",
        "input-removed": "An input is gone.",
        "input-required": "An input that could be left out is required.",
        "default-changed": "An input has another default.",
        "variable-added": "A variable is new.",
        "variable-removed": "A variable is gone.",
        "initial-changed": "A variable begins with another value.",
        "result-added": "An entry of the result is new.",
        "result-removed": "An entry of the result is gone.",
        "result-changed": "An entry of the result is computed otherwise.",
        "label-added": "A label is new.",
        "label-removed": "A label is gone.",
        "label-changed": "A label is computed otherwise.",
        "state-added": "A state is new.",
        "state-removed": "A state is gone.",
        "outcome-changed": "A state is final where it was not, or ends otherwise.",
        "initial-state-changed": "An instance begins in another state.",
        "start-added": "Another message starts an instance.",
        "start-removed": "A message no longer starts an instance.",
        "expects-added": "A state expects a message that it did not.",
        "expects-removed": "A state no longer expects a message.",
        "expects-moved": "The entries of `expects` stand in another order.",
        "expects-changed": "What is owed has another time, reminder or consequence.",
        "timeout-added": "A state has a timeout.",
        "timeout-removed": "A state has no timeout any more.",
        "timeout-changed": "A state's timeout is another.",
        "timer-added": "A timer of a new name is started.",
        "timer-removed": "A timer of this name is no longer started.",
        "deadline-added": "The protocol has a deadline.",
        "deadline-removed": "The protocol has no deadline any more.",
        "deadline-changed": "The deadline is another.",
        "taken": "A state takes a message, an event or a child's end that it did not.",
        "not-taken": "A state no longer takes a message, an event or a child's end, or no longer moves on by itself.",
        "condition-changed": "A transition has another condition.",
        "condition-removed": "A transition has no condition any more.",
        "target-changed": "A transition leads elsewhere.",
        "priority-changed": "Transitions are tried in another order.",
        "actions-changed": "What is done is another.",
        "no-longer-sent": "A message of the engine is not sent any more.",
        "constraint-added": "A constraint is new.",
        "constraint-removed": "A constraint is gone.",
        "constraint-changed": "A constraint is another expression, phase, or for more messages.",
        "constraint-narrowed": "A constraint is for fewer messages.",
        "constraint-stricter": "A violation has a graver consequence.",
        "constraint-milder": "A violation is only recorded.",
        "child-added": "Children of a new name are started.",
        "child-removed": "Children of this name are no longer started.",
        "child-changed": "Children of a name are of another protocol or version.",
        "function-changed": "A registered function has another version.",
        "limit-lowered": "A limit is lower.",
        "limit-raised": "A limit is higher.",
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `breaks` is empty where it breaks nobody; `span` is its place in the new file."""

    kind: str
    breaks: tuple[Audience, ...]
    span: Span
    what: str
    why: str

    def to_json(self) -> dict[str, Json]:
        """The change for tools."""
        return {
            "kind": self.kind,
            "breaks": list(self.breaks),
            **self.span.to_json(),
            "what": self.what,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every change from one version to the other, in the order of the new file."""

    old: str
    new: str
    changes: tuple[Change, ...]

    @property
    def breaks(self) -> tuple[Audience, ...]:
        """Whom the new version breaks."""
        return tuple(one for one in AUDIENCES if any(one in change.breaks for change in self.changes))

    def to_json(self) -> dict[str, Json]:
        """The comparison for tools."""
        return {
            "old": self.old,
            "new": self.new,
            "breaks": list(self.breaks),
            "changes": [change.to_json() for change in self.changes],
        }


class Findings:
    """Collects changes; places are looked up in the new file."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._found: dict[Change, None] = {}

    def add(self, kind: str, way: Way, what: str, why: str, breaks: Iterable[Audience] = ()) -> None:
        """Notes a change at the place that `way` leads to, or as near to it as the new file has one."""
        assert kind in KINDS, kind
        broken = set(breaks)
        ordered = tuple(one for one in AUDIENCES if one in broken)
        self._found[Change(kind, ordered, self._places.span(way), what, why)] = None

    def changes(self) -> tuple[Change, ...]:
        """Everything noted, in the order of the file."""
        return tuple(sorted(self._found, key=lambda change: (change.span.line, change.span.column)))
