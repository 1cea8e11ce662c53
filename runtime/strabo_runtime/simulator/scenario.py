"""Scenarios as values: who takes part, what is sent, how time passes, and what must then hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import FinalOutcome
from strabo_runtime.engine.rejection import RefusedBy
from strabo_runtime.expressions.types import Json
from strabo_runtime.language import Diagnostic, Span

START_WITHOUT_MESSAGE: Final = "start"
"""What stands for the message in the refusal of a start that had none."""


@dataclass(frozen=True, slots=True)
class SendStep:
    """An agent sends a message; the first one starts the instance."""

    span: Span
    sender: str
    type: str
    payload: Json
    id: str | None = None
    to: Agents | None = None
    user: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class StartStep:
    """An instance is started, with agents that the starter names and inputs that it passes in."""

    span: Span
    message: SendStep | None
    roles: Mapping[str, Agents]
    inputs: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdvanceStep:
    """Time passes, in milliseconds."""

    span: Span
    by: int


@dataclass(frozen=True, slots=True)
class ChildStep:
    """The oldest running child of this name ends. A failed one has no result but an error."""

    span: Span
    name: str
    outcome: FinalOutcome
    result: Json = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ChildEventStep:
    """The oldest running child of this name emits an event to its parent."""

    span: Span
    name: str
    event: str
    payload: Json = None


@dataclass(frozen=True, slots=True)
class BindStep:
    """The directory answers the oldest open request of this role with these agents, perhaps none."""

    span: Span
    role: str
    agents: Agents


@dataclass(frozen=True, slots=True)
class CancelStep:
    """An operator asks the instance to end."""

    span: Span
    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal that is expected. A start without a message is refused as the message `start`."""

    sender: str
    message: str
    by: RefusedBy
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing that must hold, and where it is written."""

    span: Span
    value: Json


@dataclass(frozen=True, slots=True)
class ExpectStep:
    """What must hold now. What is None is not checked.

    `variables` and `result` map paths such as `winning_bid.solver_id` to values. `received` and `rejected` count since
    the expectation before.
    """

    span: Span
    state: Wanted | None = None
    status: Wanted | None = None
    variables: Mapping[str, Wanted] | None = None
    result: Mapping[str, Wanted] | None = None
    pending: Mapping[str, Wanted] | None = None
    timers: Wanted | None = None
    incidents: Wanted | None = None
    received: Mapping[str, Wanted] | None = None
    rejected: tuple[Span, tuple[Refusal, ...]] | None = None


ScenarioStep: TypeAlias = (
    SendStep | StartStep | AdvanceStep | ChildStep | ChildEventStep | BindStep | CancelStep | ExpectStep
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One unit test of a protocol. `roles` names the agents that there are, by role: what its directory knows."""

    name: str
    span: Span
    roles: Mapping[str, Agents]
    steps: tuple[ScenarioStep, ...]


@dataclass(frozen=True, slots=True)
class Scenarios:
    """What a scenario file holds; `diagnostics` says what is wrong with it."""

    scenarios: tuple[Scenario, ...]
    diagnostics: tuple[Diagnostic, ...]
    source: str
