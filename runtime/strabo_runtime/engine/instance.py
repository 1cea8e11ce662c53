"""One running protocol: everything the engine knows of it, as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from strabo_runtime.engine.inputs import Agents, Message, Parent
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions import MessageFacts, Variables
from strabo_runtime.expressions.types import Json
from strabo_runtime.frozen import quick_init

Status = Literal["running", "success", "failure"]
Change: TypeAlias = tuple[str, Json]
"""A recorded change: a field's path (`state`, `variables.x`, `variables.x+` for an append, `roles.R`, ...)
and its new value."""


NOTHING: Mapping[str, Any] = {}
"""The empty mapping that instances share: mappings are replaced, never changed, and three empty ones take 192 bytes."""


@dataclass(frozen=True, slots=True)
class Timer:
    """Something that falls due.

    `key` is unique in the instance: `timeout`, `deadline`, or `timer:<name>`; ties fire by `order`.
    """

    key: str
    due: int
    order: int
    event: str | None = None
    payload: Json = None


@dataclass(frozen=True, slots=True)
class Debt:
    """An agent's open `expects` of the current state (index into it); `due` None never lapses.

    `request` is the id of the delivery that a reminder sends again, `every` the time between two reminders,
    `replacements` how many agents were already replaced over this debt.
    """

    agent: str
    role: str
    expectation: int
    since: int
    due: int | None = None
    order: int = 0
    request: str | None = None
    every: int | None = None
    reminders_sent: int = 0
    next_reminder: int | None = None
    replacements: int = 0


@dataclass(frozen=True, slots=True)
class Incident:
    """A step that failed: its input's id, when, and why."""

    input_id: str
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Child:
    """A child, from its start on; `name` is its `as`. A failed one has no result. `version` None: as published."""

    id: str
    name: str
    protocol: str
    version: str | None
    status: Status = "running"
    result: Json = None
    error: str | None = None
    detached: bool = False
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Compensation:
    """What undoes a transition that was taken: its index, and its actions with every expression evaluated."""

    transition: int
    actions: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A question to the agent directory that is not answered yet. `silent` are agents whose debts await the answer."""

    id: str
    role: str
    count: int
    silent: Agents = ()


@quick_init
@dataclass(frozen=True, slots=True)
class Instance:
    """`revision` counts taken steps; `now` is the last step's; times are milliseconds since the epoch.

    `start` fingerprints the start (64 bits for its id, then 64 for its content), which is never forgotten; `seen` holds
    the last 1,000 inputs after it. `starting` is kept only where the protocol reads it. `turns` says, by role, at which
    place `Role[any]` goes on. `last_deliveries` names, for agents whose `expects` may have to ask again, the last
    message delivered to them, and `deliveries` holds those messages. `quorum_lost` lists the roles whose loss was
    announced. `timers_set` counts the timers and debts ever armed, for their order. `size_bound` is never less than the
    bytes of the stored form without `seen` and `incidents`; it only spares measuring.

    `children` are in start order. `deferred` are messages in arrival order, and `retry` is the place of the one to be
    tried next (None: none is due to be tried). `compensations` are the kept ones, oldest first. `requests` are the bind
    requests under way; `dropped` holds, by role, the agents that silence or a replacement cost their role.
    `counts` is what `count` gave at the start, by role, for those whose bounds it sets.
    """

    id: str
    protocol: str
    version: str
    machine_hash: str
    status: Status
    state: str
    revision: int
    starter: str
    start: int
    started_at: int
    now: int
    variables: Variables
    roles: Mapping[str, Agents]
    seen: Seen
    starting: MessageFacts | None = None
    pending: tuple[Debt, ...] = ()
    timers: tuple[Timer, ...] = ()
    timers_set: int = 0
    turns: Mapping[str, int] = field(default_factory=lambda: NOTHING)
    deliveries: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    last_deliveries: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    quorum_lost: tuple[str, ...] = ()
    incidents: tuple[Incident, ...] = ()
    labels: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    result: Json = None
    error: str | None = None
    size_bound: int = field(default=0, compare=False)
    parent: Parent | None = None
    children: tuple[Child, ...] = ()
    deferred: tuple[Message, ...] = ()
    retry: int | None = None
    compensations: tuple[Compensation, ...] = ()
    requests: tuple[OpenRequest, ...] = ()
    dropped: Mapping[str, Agents] = field(default_factory=lambda: NOTHING)
    counts: Mapping[str, int] = field(default_factory=lambda: NOTHING)
