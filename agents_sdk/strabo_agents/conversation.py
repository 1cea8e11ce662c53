"""What a handler sees of the interaction that its message belongs to, and how it sends more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, overload

from strabo_agents.messages import Accepted, Message, Origin, Sendable


class Sender(Protocol):
    """Sends for a conversation; see `Conversation.send`."""

    async def send(self, message: Message, in_reply_to: str | None, wait: bool) -> Accepted | None:
        """Send it; the answer where it is waited for."""


class Conversation:
    """One instance of a protocol as an agent's handler sees it."""

    def __init__(
        self,
        *,
        instance_id: str,
        agent_id: str,
        protocol: str,
        version: str,
        role: str,
        message: Origin,
        trace_id: str,
        sender: Sender,
    ) -> None:
        self.instance_id = instance_id
        self.agent_id = agent_id
        self.protocol = protocol
        self.version = version
        self.role = role
        self.message = message
        self.trace_id = trace_id
        self._sender = sender

    @property
    def deadline(self) -> datetime | None:
        """Until when an answer can be of use: the end of what is expected, of the state or of the instance."""
        return self.message.deadline

    @overload
    async def send(
        self, message: Sendable, *, to: str | Sequence[str] = (), wait: Literal[False] = False
    ) -> None: ...

    @overload
    async def send(
        self, message: Sendable, *, to: str | Sequence[str] = (), wait: Literal[True]
    ) -> Accepted: ...

    async def send(
        self, message: Sendable, *, to: str | Sequence[str] = (), wait: bool = False
    ) -> Accepted | None:
        """Send a message to this instance, as an answer to the message in hand.

        Messages go out together when the handler ends, so that an attempt that fails sends nothing. With
        `wait=True` this one goes out at once, those sent before it first, and the answer is waited for; should
        the handler run again, the message has the same id and the instance answers as before.

        `to` narrows the recipients to agents that the message type covers.

        Raises:
            Rejected: with `wait=True`, when the instance refuses the message.
            NoAnswer: with `wait=True`, when no answer comes in time.
            PayloadError: the message cannot be written as JSON, or is larger than 1 MiB.
        """
        return await self._sender.send(Message.of(message, to=to), self.message.message_id, wait)
