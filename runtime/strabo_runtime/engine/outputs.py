"""What one step gives to the world, and the step itself as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from strabo_runtime.engine.inputs import Agents, Input, Parent
from strabo_runtime.engine.instance import Change, Instance
from strabo_runtime.engine.rejection import RefusedBy, Rejection
from strabo_runtime.expressions.types import Json
from strabo_runtime.frozen import quick_init

__all__ = ["Delivery", "MicroStep", "Outcome", "Output", "RefusedBy", "Rejection", "Reply", "Step", "Verdict"]

Verdict = Literal["taken", "duplicate", "ignored", "deferred", "rejected", "failed"]


@quick_init
@dataclass(frozen=True, slots=True)
class Delivery:
    """One record on a role's topic: a message for `to`, agents of `role`.

    One broadcast is one delivery a role.
    """

    id: str
    role: str
    to: Agents
    type: str
    payload: Json
    sender: str
    sender_role: str
    sent_at: int
    in_reply_to: str | None = None
    reminder_of: str | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to the sender of one input, on the replies topic.

    Every start and message is answered, and a repeated one with the same id again; whoever sends the
    replies on may leave out the acceptances that nobody asked for.
    """

    id: str
    to: str
    kind: Literal["accepted", "rejected", "failed"]
    in_reply_to: str
    rejection: Rejection | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an instance, told to its starter; for a child (`to_parent`), to the instance `to`: a ChildFinished.

    A start of a child that is refused or fails gives one too, since the parent waits for it.
    """

    id: str
    to: str
    status: Literal["success", "failure"]
    state: str
    result: Json
    error: str | None
    to_parent: bool = False


@dataclass(frozen=True, slots=True)
class ChildStart:
    """A child to be started: its Start has this id, the instance id `to`, and `parent.instance_id` as starter."""

    id: str
    to: str
    protocol: str
    version: str | None
    named: Mapping[str, Agents]
    inputs: Mapping[str, Json]
    parent: Parent


@dataclass(frozen=True, slots=True)
class ChildCancel:
    """A child, the instance `to`, to be cancelled: a Cancel by its parent."""

    id: str
    to: str
    reason: str


@dataclass(frozen=True, slots=True)
class ParentEvent:
    """An event for the parent, the instance `to`: a ChildEvent."""

    id: str
    to: str
    event: str
    payload: Json


@dataclass(frozen=True, slots=True)
class BindRequest:
    """A question to the agent directory, answered after the step by an AgentsFound for this request's id.

    `excluded` are agents that must not be found: those bound already, and those that the instance dropped.
    """

    id: str
    role: str
    capabilities: tuple[str, ...]
    count: int
    excluded: Agents


Output: TypeAlias = Delivery | Reply | Outcome | ChildStart | ChildCancel | ParentEvent | BindRequest


@quick_init
@dataclass(frozen=True, slots=True)
class MicroStep:
    """One move inside a step: which transition (its index; None for a timer's `to`), from where, to where,
    and why.

    `trigger` is a message type's name, `"!" + event`, `"timer:" + key`, `"start"` for the entry of the
    first state, or None for an automatic transition.
    """

    transition: int | None
    trigger: str | None
    source: str
    target: str
    logs: tuple[str, ...] = ()


@quick_init
@dataclass(frozen=True, slots=True)
class Step:
    """The whole effect of one input.

    `after` is `before`, the very object, where nothing changed. A refusal changes nothing but the
    remembered ids, a failed step nothing but its incident and the timer that it consumed; neither raises
    the revision. Only a refusal whose constraint raises an event, sends or fails acts beyond that, as a
    step of its own.

    Byte-equal replay compares `after` and `outputs`. `changes` is what recovery applies to `before` to get
    `after`. `violations` names every violated constraint, whatever followed from it.
    """

    input: Input
    verdict: Verdict
    before: Instance | None
    after: Instance | None
    micro_steps: tuple[MicroStep, ...] = ()
    outputs: tuple[Output, ...] = ()
    rejection: Rejection | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    violations: tuple[str, ...] = ()
