"""Actions as their author wrote them, and the effects of timers, debts and violated constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from strabo_runtime.engine.machine import Reach
from strabo_runtime.language.diagnostics import Span
from strabo_runtime.language.nodes import Fragment, Name, Node, ScalarNode, Value

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
class ReplaceSilentSyntax:
    """`replace`, of a debt."""


@dataclass(frozen=True, slots=True)
class RejectSyntax:
    """`reject`."""


@dataclass(frozen=True, slots=True)
class WarnSyntax:
    """`warn`."""


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


@dataclass(frozen=True, slots=True)
class TellParentSyntax:
    """`emit` with `to: parent`."""

    event: Name
    payload: Node | None
    span: Span


@dataclass(frozen=True, slots=True)
class ChildAgentsSyntax:
    """An entry of `start_protocol`'s `roles`: a role of this protocol, or `agents` by id."""

    child_role: Name
    role: Name | None
    agents: Node | None


@dataclass(frozen=True, slots=True)
class StartProtocolSyntax:
    """`start_protocol`. `name` is its `as`, by default the protocol's name."""

    protocol: Name
    version: Name | None
    name: Name
    inputs: Node | None
    roles: tuple[ChildAgentsSyntax, ...]
    detach: bool


@dataclass(frozen=True, slots=True)
class CancelProtocolSyntax:
    """`cancel_protocol`. `by_protocol`: the name is that of a protocol, which is its `as` by default."""

    name: Name
    by_protocol: bool


@dataclass(frozen=True, slots=True)
class BindSyntax:
    """`bind`: one of `agents` and `count`."""

    role: Name
    agents: Node | None
    count: ScalarNode | None


@dataclass(frozen=True, slots=True)
class UnbindSyntax:
    """`unbind`."""

    role: Name
    agents: Node | None


@dataclass(frozen=True, slots=True)
class ReplaceSyntax:
    """`replace`."""

    role: Name
    agents: Node | None
    count: ScalarNode | None


@dataclass(frozen=True, slots=True)
class CompensateSyntax:
    """`compensate`."""

    span: Span


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """A registered function by its name, its arguments by theirs; `into` names a variable.

    `arguments` None: they could not be read, for `body` is no mapping. Whether that matters depends on whether there is
    such a function at all.
    """

    function: Name
    arguments: tuple[tuple[Name, Node], ...] | None
    into: Name | None
    body: Node


@dataclass(frozen=True, slots=True)
class ForEachSyntax:
    """An action with `for_each`."""

    items: ScalarNode
    action: ActionSyntax


ActionSyntax: TypeAlias = (
    SetVariableSyntax
    | AppendSyntax
    | SendSyntax
    | RaiseSyntax
    | TellParentSyntax
    | StartTimerSyntax
    | CancelTimerSyntax
    | FailSyntax
    | LogSyntax
    | StartProtocolSyntax
    | CancelProtocolSyntax
    | BindSyntax
    | UnbindSyntax
    | ReplaceSyntax
    | CompensateSyntax
    | CallSyntax
    | ForEachSyntax
)
"""An `emit` is a RaiseSyntax, or a TellParentSyntax."""
