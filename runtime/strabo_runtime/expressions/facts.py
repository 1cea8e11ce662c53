"""What expressions may read beside variables: the message or event at hand, and the instance itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from strabo_runtime.expressions.types import Json, Type
from strabo_runtime.frozen import quick_init

Agents: TypeAlias = tuple[str, ...]
"""Agent ids, in binding order."""


@quick_init
@dataclass(frozen=True, slots=True)
class MessageFacts:
    """An accepted or starting message. Times are milliseconds since the epoch; `sender` is `message.from`."""

    payload: Json
    type: str
    id: str
    sender: str
    to: Agents
    role: str
    user: str | None
    in_reply_to: str | None
    sent_at: int
    received_at: int


@dataclass(frozen=True, slots=True)
class EventFacts:
    """An internal event."""

    name: str
    payload: Json


@dataclass(frozen=True, slots=True)
class ChildFacts:
    """A child that ended; a failed one has no result, a successful one no error."""

    name: str
    id: str
    outcome: str
    result: Json
    error: str | None


@quick_init
@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """The instance that the step belongs to. `started_at` is in milliseconds since the epoch; `steps` counts steps."""

    id: str
    protocol: str
    version: str
    state: str
    started_at: int
    steps: int
    parent: str | None


@dataclass(frozen=True, slots=True)
class Context:
    """What the triggers of the expression's place give.

    `message` is in scope where every alternative is a message (`message_types` lists them), typed by the fields that
    all of them share; `event` likewise, and `child` where every alternative is a child's end. `each` is the type of
    the items of the `for_each` around the place (None: there is none).
    """

    message_types: tuple[str, ...] = ()
    event_names: tuple[str, ...] = ()
    child_names: tuple[str, ...] = ()
    each: Type | None = None
