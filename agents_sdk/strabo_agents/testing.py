"""Tests an agent with no broker: deliver a message, look at what it sends."""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

import orjson
from pydantic import BaseModel

from strabo_agents.agent import Agent, Role
from strabo_agents.delivery.processor import RetryPolicy
from strabo_agents.envelopes import Post
from strabo_agents.errors import AuthorError, Rejected
from strabo_agents.in_memory import InMemoryAgent
from strabo_agents.json_types import JsonObject
from strabo_agents.messages import Accepted, Incoming, Message, Outgoing, Sendable
from strabo_agents.payloads import decode_payload, encode_payload, read_model, to_payload
from strabo_avro import headers
from strabo_avro.codec import decode, encode
from strabo_avro.records import DeadLetter, Envelope
from strabo_topics import telemetry
from strabo_topics.names import Names

ModelT = TypeVar("ModelT", bound=BaseModel)

POST = Post(Names("harness"), 1)
SENT_AT = 1_893_456_000_000
"""When the harness sends, in milliseconds: 2030-01-01T00:00:00Z."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the agent sent.

    `to` is empty where it was not narrowed; `waited` says that the agent waits for an answer.
    """

    type: str
    payload: JsonObject
    to: tuple[str, ...]
    id: str
    instance_id: str
    in_reply_to: str | None
    waited: bool

    def read(self, model: builtins.type[ModelT]) -> ModelT:
        """The payload as `model`; raises `Permanent` when it does not fit."""
        return read_model(encode_payload(self.payload), model)


class AgentHarness:
    """Runs an agent's handlers as a running agent would, without a broker, a worker or a wait.

    ```python
    async with AgentHarness(agent, agent_id="s1") as harness:
        [bid] = await harness.deliver(CallForBids(...))
        assert bid.read(BidSubmission).cost == 80
    ```

    `answer` decides what `send(..., wait=True)` gets: None accepts, a `Rejected` refuses (see `rejection`).
    A failing handler is tried as often as `retry` says, without the waits, and then found in `dead_letters`.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        agent_id: str = "agent",
        answer: Callable[[Sent], Rejected | None] = lambda _: None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._agent = agent
        self._agent_id = agent_id
        self._answer = answer
        self._sent: list[Sent] = []
        self.dead_letters: list[DeadLetter] = []
        self._inner = InMemoryAgent(
            agent, agent_id, post=POST, transport=_Transport(self), now=lambda: SENT_AT, retry=retry
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)

    async def deliver(
        self,
        message: Sendable,
        *,
        role: str | None = None,
        instance_id: str = "instance-1",
        sender: str = "sender",
        id: str | None = None,  # noqa: A002 - the word of the interface
        reminder_of: str | None = None,
        deadline: datetime | None = None,
    ) -> list[Sent]:
        """Give the agent a message, and return what it sends while it handles it, in order.

        `role` is needed only where several roles of the agent handle this type. The same message under the same
        `id` is a redelivery.

        Raises:
            AuthorError: no role of the agent handles such a message, or several do.
        """
        content = Message.of(message)
        receiver = self._receiver(content.type, role)
        envelope = Envelope(
            id=id or secrets.token_hex(8),
            kind="delivery",
            type=content.type,
            protocol=receiver.protocol,
            instance_id=instance_id,
            sender=sender,
            to=(self._agent_id,),
            sent_at=SENT_AT,
            payload=encode_payload(to_payload(content.type, content.payload)),
            reminder_of=reminder_of,
            deadline=None if deadline is None else round(deadline.astimezone(UTC).timestamp() * 1000),
        )
        return await self._receive(POST.names.role(receiver.protocol, receiver.name), envelope)

    async def refuse(
        self,
        sent: Sent,
        *,
        by: str = "constraint",
        text: str = "refused",
        constraints: Sequence[str] = (),
        descriptions: Sequence[str] = (),
    ) -> list[Sent]:
        """Refuse a message that the agent sent: its `Rejected` handler is called. Returns what that sends."""
        [protocol] = {role.protocol for role in self._agent.roles if f"/{role.name}:" in sent.id}
        facts = {"by": by, "text": text, "constraints": list(constraints), "descriptions": list(descriptions)}
        envelope = Envelope(
            id=f"{sent.instance_id}:{sent.id}:rejected",
            kind="reply",
            type="Rejected",
            protocol=protocol,
            instance_id=sent.instance_id,
            sender="strabo",
            to=(self._agent_id,),
            in_reply_to=sent.id,
            sent_at=SENT_AT,
            payload=orjson.dumps(facts),
        )
        return await self._receive(POST.names.replies, envelope)

    def rejection(self, sent: Sent, text: str = "refused", *, by: str = "constraint") -> Rejected:
        """A refusal for `answer` to give."""
        return Rejected(text, by=by, message_id=sent.id, instance_id=sent.instance_id)

    def _receiver(self, message_type: str, role: str | None) -> Role:
        takers = [
            each
            for each in self._agent.roles
            if message_type in each.handlers and (role is None or each.name == role)
        ]
        if len(takers) != 1:
            found = ", ".join(f"{each.protocol}.{each.name}" for each in takers) or "none"
            of = f" of the role {role}" if role else ""
            raise AuthorError(f"one role{of} must handle {message_type}; found: {found}")
        return takers[0]

    async def _receive(self, topic: str, envelope: Envelope) -> list[Sent]:
        trace = str(telemetry.for_instance(envelope.instance_id))
        raw = headers.build(envelope.id, envelope.type, traceparent=trace, to=envelope.to)
        before = len(self._sent)
        key = envelope.instance_id.encode()
        await self._inner.receive(Incoming(topic, 0, 0, key, encode(envelope), tuple(raw)))
        return self._sent[before:]

    def _take(self, record: Outgoing) -> Sent | None:
        if record.topic != POST.names.inbox:
            self.dead_letters.append(decode(record.value or b"", DeadLetter))
            return None
        envelope = decode(record.value or b"", Envelope)
        sent = Sent(
            envelope.type,
            decode_payload(envelope.payload),
            envelope.to,
            envelope.id,
            envelope.instance_id,
            envelope.in_reply_to,
            envelope.wants_reply,
        )
        self._sent.append(sent)
        return sent

    def _reply(self, record: Outgoing) -> Accepted:
        sent = self._take(record)
        refusal = None if sent is None else self._answer(sent)
        if refusal is not None:
            raise refusal
        envelope = decode(record.value or b"", Envelope)
        return Accepted(envelope.id, envelope.instance_id)


class _Transport:
    """The harness as the agent's transport."""

    def __init__(self, harness: AgentHarness) -> None:
        self._harness = harness

    async def produce(self, records: Sequence[Outgoing]) -> None:
        for record in records:
            self._harness._take(record)

    async def ask(self, record: Outgoing, *, message_id: str, sender: str) -> Accepted:
        return self._harness._reply(record)
