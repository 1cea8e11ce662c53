"""What an instance may be given: one input is one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from strabo_runtime.expressions.types import Json
from strabo_runtime.frozen import quick_init

Agents: TypeAlias = tuple[str, ...]
"""Agent ids, in binding order."""


@quick_init
@dataclass(frozen=True, slots=True)
class Message:
    """A message that somebody sent to the instance. Times are milliseconds since the epoch, UTC.

    `role` is the role that the sender names (None: the first `from` role it holds); `to` narrows the
    recipients (None: as the type says); `user` is the person who acted for a human role.
    """

    id: str
    sender: str
    type: str
    payload: Json
    received_at: int
    now: int
    sent_at: int
    role: str | None = None
    to: Agents | None = None
    in_reply_to: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Parent:
    """Who started a child: the parent's instance id, the child's `as` there; `depth` is 1 for the child of a root."""

    instance_id: str
    name: str
    depth: int
    detached: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """The input that makes an instance.

    `named` is what the starter asked for (role → ids). `bound` is the recorded answer of the agent
    directory for the roles that it did not name (role → ids, as many as were found, up to what was sought).
    The engine checks both against `min` and `max`. `message` is the starting message, whose `id` is the
    start's. With `or_send`, a start of an instance that exists already is taken as that message. `inputs` are the
    values that the starter passes in. A child has a `parent`, and the parent's instance id as its `starter`.
    """

    id: str
    instance_id: str
    starter: str
    received_at: int
    now: int
    message: Message | None
    named: Mapping[str, Agents]
    bound: Mapping[str, Agents]
    or_send: bool = False
    inputs: Mapping[str, Json] = field(default_factory=dict)
    parent: Parent | None = None


@dataclass(frozen=True, slots=True)
class TimerDue:
    """The instance's earliest timer or debt has fallen due.

    `due` and `key` are those of `engine.timers.next_due`.
    """

    id: str
    key: str
    due: int
    now: int


@dataclass(frozen=True, slots=True)
class Retry:
    """A deferred message's turn to be tried again: `message` is its id. See `engine.deferral.next_retry`."""

    id: str
    message: str
    now: int


@dataclass(frozen=True, slots=True)
class ChildFinished:
    """The end of a child, told to its parent. `child` is the child's instance id; a failed one has no result."""

    id: str
    child: str
    outcome: Literal["success", "failure"]
    result: Json
    error: str | None
    received_at: int
    now: int


@dataclass(frozen=True, slots=True)
class ChildEvent:
    """An event that a child emitted `to: parent`."""

    id: str
    child: str
    event: str
    payload: Json
    received_at: int
    now: int


@dataclass(frozen=True, slots=True)
class AgentsFound:
    """The directory's answer to the bind request with the id `request`: up to as many agents as were asked for."""

    id: str
    request: str
    agents: Agents
    received_at: int
    now: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """An operator, the starter or the parent (`by`) asks the instance to end."""

    id: str
    by: str
    reason: str
    received_at: int
    now: int


Input: TypeAlias = Start | Message | TimerDue | Retry | ChildFinished | ChildEvent | AgentsFound | Cancel
