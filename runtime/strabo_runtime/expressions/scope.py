"""The values that expressions read in one step: a snapshot of variables as a value, and the step's own view of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from strabo_runtime.expressions.facts import Agents, ChildFacts, EventFacts, InstanceFacts, MessageFacts
from strabo_runtime.expressions.time import instant
from strabo_runtime.expressions.types import Json

NO_CHILDREN: Mapping[str, list[Json]] = {}
"""No child was started: a name that is missing stands for an empty list."""


class Variables:
    """An instance's variables in stored form. Immutable; two are equal when their JSON is."""

    __slots__ = ("_json",)

    def __init__(self, json: Mapping[str, Json]) -> None:
        self._json = json

    @classmethod
    def of(cls, json: Mapping[str, Json]) -> Variables:
        """The variables with these stored values. The mapping is copied; the values are shared and must not change."""
        return cls(dict(json))

    @property
    def json(self) -> Mapping[str, Json]:
        """Name → stored value; not to be changed."""
        return self._json

    def to_json(self) -> dict[str, Json]:
        """A new dict of the stored values."""
        return dict(self._json)

    def __eq__(self, other: object) -> bool:
        return self._json == other._json if isinstance(other, Variables) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Variables({self._json!r})"


class Scope:
    """What expressions see during one step. The engine owns it and changes it between evaluations.

    `children` maps a child's `as` to `{"id", "status", "result", "error"}` in start order; `child` is the one whose end
    the step takes; `each` is the item that a `for_each` stands at. These three are set as attributes.

    Stored values are never changed in place: a list that is appended to becomes a new list, so that the instance before
    the step keeps its own.
    """

    __slots__ = (
        "_now",
        "_snapshot",
        "child",
        "children",
        "each",
        "event",
        "instance",
        "message",
        "now_ms",
        "pending",
        "roles",
        "starting",
        "values",
    )

    def __init__(
        self,
        variables: Variables,
        *,
        now: int,
        instance: InstanceFacts,
        roles: Mapping[str, Agents],
        pending: Mapping[str, Agents],
        message: MessageFacts | None = None,
        event: EventFacts | None = None,
        starting: MessageFacts | None = None,
    ) -> None:
        self._snapshot: Variables | None = variables
        self.values: Mapping[str, Json] = variables.json
        self.now_ms = now
        self._now: datetime | None = None
        self.instance = instance
        self.roles = roles
        self.pending = pending
        self.message = message
        self.event = event
        self.starting = starting
        self.child: ChildFacts | None = None
        self.children: Mapping[str, list[Json]] = NO_CHILDREN
        self.each: Json = None

    @property
    def variables(self) -> Variables:
        """What the variables hold now, as a value."""
        if self._snapshot is None:
            self._snapshot = Variables(self.values)
        return self._snapshot

    @property
    def now(self) -> datetime:
        """The step's recorded time."""
        if self._now is None:
            self._now = instant(self.now_ms)
        return self._now

    def set_variable(self, name: str, value: Json) -> None:
        """Give a variable a new value, which is shared from now on and must stay as it is."""
        self._writable()[name] = value

    def append(self, name: str, value: Json) -> None:
        """Append to a list variable; one that is null becomes a list of one."""
        values = self._writable()
        held = values.get(name)
        values[name] = [*held, value] if isinstance(held, list) else [value]

    def update(
        self,
        *,
        now: int | None = None,
        instance: InstanceFacts | None = None,
        roles: Mapping[str, Agents] | None = None,
        pending: Mapping[str, Agents] | None = None,
        message: MessageFacts | None = None,
        event: EventFacts | None = None,
        starting: MessageFacts | None = None,
    ) -> None:
        """Replace some of the facts; None leaves a fact as it is."""
        if now is not None:
            self.now_ms, self._now = now, None
        if instance is not None:
            self.instance = instance
        if roles is not None:
            self.roles = roles
        if pending is not None:
            self.pending = pending
        if message is not None:
            self.message = message
        if event is not None:
            self.event = event
        if starting is not None:
            self.starting = starting

    def _writable(self) -> dict[str, Json]:
        """The values as a dict of this scope's own: copied once after each snapshot."""
        if self._snapshot is not None or not isinstance(self.values, dict):
            self.values = dict(self.values)
            self._snapshot = None
        return self.values
