"""A protocol as its author wrote it: the frozen tree that the parser gives, every name with its place in the file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from strabo_runtime.engine.machine import FinalOutcome, Limits, Phase, PlayedBy, Reach, Unexpected
from strabo_runtime.expressions.types import Type
from strabo_runtime.language.diagnostics import Span
from strabo_runtime.language.nodes import Fragment, Node, ScalarNode, Value


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where it stands."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TypeSyntax:
    """A type as written. `references` are the names it uses, which `types` or `message_types` must declare."""

    type: Type
    references: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RoleDefinition:
    """An entry of `participants`. `maximum` None is unbounded; `count` is a number or an expression."""

    name: Name
    description: str
    played_by: PlayedBy
    count: int | ScalarNode | None
    minimum: int
    maximum: int | None
    capabilities: tuple[str, ...]


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
    """An entry of `message_types`. `sensitive` holds dotted paths into the payload."""

    name: Name
    description: str
    senders: tuple[Name, ...]
    to: tuple[AddresseeSyntax, ...]
    payload: TypeSyntax
    unexpected: Unexpected | None
    sensitive: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """An entry of `events`."""

    name: Name
    payload: TypeSyntax | None


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


# -- effects ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RaiseSyntax:
    """`event: X`, with a payload where one may be given."""

    event: Name
    payload: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class GoToSyntax:
    """`to: State`."""

    state: Name


@dataclass(frozen=True, slots=True)
class FailSyntax:
    """`fail: text`; a constraint's bare `fail` has no reason of its own."""

    reason: Node | None


@dataclass(frozen=True, slots=True)
class SkipSyntax:
    """`skip`."""


@dataclass(frozen=True, slots=True)
class RejectSyntax:
    """`reject`."""


@dataclass(frozen=True, slots=True)
class WarnSyntax:
    """`warn`."""


TimerEffectSyntax: TypeAlias = RaiseSyntax | GoToSyntax | FailSyntax
DebtEffectSyntax: TypeAlias = SkipSyntax | RaiseSyntax | GoToSyntax


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


# -- actions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetVariableSyntax:
    """`set_variable`."""

    name: Name
    value: Node


@dataclass(frozen=True, slots=True)
class AppendSyntax:
    """`append_to_list`."""

    name: Name
    value: Node


@dataclass(frozen=True, slots=True)
class RecipientsSyntax:
    """One entry of an action's `to`: a role, or `agents` by id; `except_` ids are left out."""

    role: Name | None
    reach: Reach
    agents: Value | None
    except_: Fragment | None
    span: Span


@dataclass(frozen=True, slots=True)
class SendSyntax:
    """`send`, and `broadcast`, which is `send` to all of a role."""

    message: Name
    payload: Node | None
    to: tuple[RecipientsSyntax, ...]
    broadcast: bool
    span: Span


@dataclass(frozen=True, slots=True)
class StartTimerSyntax:
    """`start_timer`."""

    name: Name
    duration: Node | None
    at: Node | None
    effect: RaiseSyntax


@dataclass(frozen=True, slots=True)
class CancelTimerSyntax:
    """`cancel_timer`."""

    name: Name


@dataclass(frozen=True, slots=True)
class LogSyntax:
    """`log`."""

    text: Node


ActionSyntax: TypeAlias = (
    SetVariableSyntax
    | AppendSyntax
    | SendSyntax
    | RaiseSyntax
    | StartTimerSyntax
    | CancelTimerSyntax
    | FailSyntax
    | LogSyntax
)
"""An `emit` is a RaiseSyntax."""

ViolationSyntax: TypeAlias = RejectSyntax | WarnSyntax | FailSyntax | RaiseSyntax | SendSyntax


# -- behaviour --------------------------------------------------------------------------------------------------------


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


TriggerSyntax: TypeAlias = MessageTriggerSyntax | EventTriggerSyntax


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
