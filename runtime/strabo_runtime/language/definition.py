"""A protocol as its author wrote it: the frozen tree that the parser gives, every name with its place in the file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from strabo_runtime.engine.machine import FinalOutcome, Limits, Phase, PlayedBy, Reach, Unexpected
from strabo_runtime.expressions.types import Type
from strabo_runtime.language.action_syntax import (
    ActionSyntax,
    FailSyntax,
    GoToSyntax,
    RaiseSyntax,
    RejectSyntax,
    ReplaceSilentSyntax,
    SendSyntax,
    SkipSyntax,
    WarnSyntax,
)
from strabo_runtime.language.diagnostics import Span
from strabo_runtime.language.nodes import MappingNode, Name, Node, ScalarNode


@dataclass(frozen=True, slots=True)
class TypeSyntax:
    """A type as written. `references` are the names it uses, which `types` or `message_types` must declare."""

    type: Type
    references: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RoleDefinition:
    """An entry of `participants`. `maximum` None is unbounded; `count` is a number or an expression.

    A bound that is not written, beside a `count` that is an expression, is what the count gives.
    """

    name: Name
    description: str
    played_by: PlayedBy
    count: int | ScalarNode | None
    minimum: int
    maximum: int | None
    capabilities: tuple[str, ...]
    open: bool
    minimum_is_count: bool
    maximum_is_count: bool


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """An entry of `types`."""

    name: Name
    syntax: TypeSyntax


@dataclass(frozen=True, slots=True)
class AddresseeSyntax:
    """An entry of a message type's `to`."""

    role: Name
    reach: Reach


@dataclass(frozen=True, slots=True)
class MessageDefinition:
    """An entry of `message_types`. `sensitive` holds dotted paths into the payload.

    With a `schema`, `payload` is what expressions can know of it.
    """

    name: Name
    description: str
    senders: tuple[Name, ...]
    to: tuple[AddresseeSyntax, ...]
    payload: TypeSyntax
    unexpected: Unexpected | None
    sensitive: tuple[Name, ...]
    schema: MappingNode | None = None


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """An entry of `events`."""

    name: Name
    payload: TypeSyntax | None


@dataclass(frozen=True, slots=True)
class InputDefinition:
    """An entry of `inputs`; `default` None is none: the starter gives it, unless its type is optional."""

    name: Name
    syntax: TypeSyntax
    default: Node | None


@dataclass(frozen=True, slots=True)
class VariableDefinition:
    """An entry of `variables`; `initial` None is null."""

    name: Name
    syntax: TypeSyntax
    initial: Node | None


@dataclass(frozen=True, slots=True)
class ValueDefinition:
    """An entry of `labels` or `result`."""

    name: Name
    value: Node


# -- behaviour --------------------------------------------------------------------------------------------------------


TimerEffectSyntax: TypeAlias = RaiseSyntax | GoToSyntax | FailSyntax
DebtEffectSyntax: TypeAlias = SkipSyntax | ReplaceSilentSyntax | RaiseSyntax | GoToSyntax
ViolationSyntax: TypeAlias = RejectSyntax | WarnSyntax | FailSyntax | RaiseSyntax | SendSyntax


@dataclass(frozen=True, slots=True)
class TimerDefinition:
    """A `timeout` or `deadline`: one of `after` and `at`."""

    after: Node | None
    at: Node | None
    effect: TimerEffectSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class ReminderDefinition:
    """`remind`."""

    every: Node
    times: int


@dataclass(frozen=True, slots=True)
class ExpectationDefinition:
    """An entry of `expects`: a role, or the expression that lists agents, owes one of the messages."""

    messages: tuple[Name, ...]
    role: Name | None
    agents: Node | None
    within: Node | None
    remind: ReminderDefinition | None
    on_timeout: DebtEffectSyntax | None
    span: Span


@dataclass(frozen=True, slots=True)
class StateDefinition:
    """An entry of `states`."""

    name: Name
    description: str
    final: FinalOutcome | None
    timeout: TimerDefinition | None
    expects: tuple[ExpectationDefinition, ...]
    on_entry: tuple[ActionSyntax, ...]
    on_exit: tuple[ActionSyntax, ...]


@dataclass(frozen=True, slots=True)
class MessageTriggerSyntax:
    """`{message: T, from: Role}`."""

    message: Name
    role: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class EventTriggerSyntax:
    """`{event: E}`."""

    event: Name
    span: Span


@dataclass(frozen=True, slots=True)
class ChildTriggerSyntax:
    """`{child: NAME, outcome: …}`."""

    child: Name
    outcome: FinalOutcome | None
    span: Span


TriggerSyntax: TypeAlias = MessageTriggerSyntax | EventTriggerSyntax | ChildTriggerSyntax


@dataclass(frozen=True, slots=True)
class TransitionDefinition:
    """An entry of `transitions`; `sources` empty is `*`. `index` counts from 0 in document order.

    `triggers_known` is false where a trigger could not be read: what the transition's expressions see is then unknown.
    """

    index: int
    sources: tuple[Name, ...]
    target: Name | None
    triggers: tuple[TriggerSyntax, ...]
    triggers_known: bool
    condition: ScalarNode | None
    actions: tuple[ActionSyntax, ...]
    reenter: bool
    compensation: tuple[ActionSyntax, ...]
    description: str
    span: Span


@dataclass(frozen=True, slots=True)
class ConstraintDefinition:
    """An entry of `constraints`; `messages` empty is every step."""

    name: Name
    description: ScalarNode | None
    expression: ScalarNode
    messages: tuple[Name, ...]
    phase: Phase
    on_violation: ViolationSyntax


@dataclass(frozen=True)
class ProtocolDefinition:
    """A whole file. `events` None: the file has no such section, and any event may be raised."""

    source: str
    filename: str
    name: Name
    version: Name
    description: str
    roles: tuple[RoleDefinition, ...]
    types: tuple[TypeDefinition, ...]
    messages: tuple[MessageDefinition, ...]
    events: tuple[EventDefinition, ...] | None
    inputs: tuple[InputDefinition, ...]
    variables: tuple[VariableDefinition, ...]
    labels: tuple[ValueDefinition, ...]
    states: tuple[StateDefinition, ...]
    transitions: tuple[TransitionDefinition, ...]
    constraints: tuple[ConstraintDefinition, ...]
    deadline: TimerDefinition | None
    result: tuple[ValueDefinition, ...]
    unexpected: Unexpected
    limits: Limits

    @cached_property
    def hash(self) -> str:
        """16 hex digits (SHA-256) over the file's text: what an instance is pinned to."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]
