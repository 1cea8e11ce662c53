"""The values that go in and out of an agent: messages to send, records received and records to produce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from pydantic import BaseModel

from strabo_agents.errors import PayloadError
from strabo_agents.json_types import Json

Headers: TypeAlias = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send where a pydantic model is not at hand, or where it must be narrowed to agents.

    `payload` is a model, or a mapping that may hold datetimes and timedeltas. `to` narrows the recipients; empty:
    as the message type says.
    """

    type: str
    payload: BaseModel | Mapping[str, object] = field(default_factory=dict)
    to: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Sendable, *, to: str | Sequence[str] = ()) -> Message:
        """`message` in this form; a `to` given here wins over its own.

        Raises:
            PayloadError: it is nothing that can be sent.
        """
        recipients = (to,) if isinstance(to, str) else tuple(to)
        if isinstance(message, Message):
            return cls(message.type, message.payload, recipients or message.to)
        if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
            return cls(message[0], message[1], recipients)
        if isinstance(message, BaseModel):
            return cls(type(message).__name__, message, recipients)
        raise PayloadError(
            f"a {type(message).__name__} cannot be sent; give a pydantic model named as the message type, "
            "or Message(type, payload)"
        )


Sendable: TypeAlias = "BaseModel | Message | tuple[str, Mapping[str, object]]"
"""What may be sent: a model whose class is named as the message type, a `Message`, or a type and its payload."""

Returned: TypeAlias = "Sendable | Sequence[Sendable] | None"
"""What a handler may return: each message is sent, in order."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The instance took the message."""

    message_id: str
    instance_id: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """One record as it was consumed."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record to produce, in its final bytes: what the outbox keeps. Without a value its key is deleted."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an instance as its starter is told."""

    instance_id: str
    status: str
    state: str
    result: Json
    error: str | None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a handler may know of the message in its hands.

    `reminder_of` is the id of the message that this one repeats; `deadline` is until when an answer can be of use,
    None where nothing limits it.
    """

    message_id: str
    type: str
    sender: str
    sender_role: str
    sent_at: datetime
    in_reply_to: str | None
    reminder_of: str | None
    deadline: datetime | None
    user: str | None
