"""What expressions may read beside variables: the message or event at hand, and the instance itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from strabo_runtime.expressions.types import Json
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
    all of them share; `event` likewise.
    """

    message_types: tuple[str, ...] = ()
    event_names: tuple[str, ...] = ()
