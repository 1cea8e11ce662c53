"""One running protocol: everything the engine knows of it, as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from strabo_runtime.engine.inputs import Agents
from strabo_runtime.expressions import Variables
from strabo_runtime.expressions.types import Json

Status = Literal["running", "success", "failure"]
Change: TypeAlias = tuple[str, Json]
"""A recorded change: a field's path (`state`, `variables.x`, `variables.x+` for an append, `roles.R`, ...) and its new value."""


@dataclass(frozen=True, slots=True)
class Timer:
    """Something that falls due. `key` is unique in the instance: `timeout`, `deadline`, or `timer:<name>`; ties fire by `order`."""

    key: str
    due: int
    order: int
    event: str | None = None
    payload: Json = None


@dataclass(frozen=True, slots=True)
class Debt:
    """An agent's open `expects` of the current state (index into it); `due` None never lapses."""

    agent: str
    role: str
    expectation: int
    since: int
    due: int | None
    reminders_sent: int = 0
    next_reminder: int | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """A step that failed: its input's id, when, and why."""

    input_id: str
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Instance:
    """`revision` counts taken steps; `now` is the last step's; times are milliseconds since the epoch.

    `seen` holds the last 1,000 input ids (hash of the id → hash of id and content), oldest first. `turns` counts the uses of
    `Role[any]`. `last_deliveries` keeps, for agents that an `expects` may remind, the last message delivered to them.
    """

    id: str
    protocol: str
    version: str
    machine_hash: str
    status: Status
    state: str
    revision: int
    starter: str
    started_at: int
    now: int
    variables: Variables
    roles: Mapping[str, Agents]
    starting: Json = None
    pending: tuple[Debt, ...] = ()
    timers: tuple[Timer, ...] = ()
    seen: tuple[tuple[int, int], ...] = ()
    turns: Mapping[str, int] = field(default_factory=dict)
    last_deliveries: Mapping[str, Json] = field(default_factory=dict)
    incidents: tuple[Incident, ...] = ()
    labels: Mapping[str, Json] = field(default_factory=dict)
    result: Json = None
    error: str | None = None
