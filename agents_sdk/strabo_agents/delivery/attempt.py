"""One run of a handler: its argument, its conversation, and what it sends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from strabo_agents.answers import read_answer
from strabo_agents.conversation import Conversation
from strabo_agents.delivery.routing import Route, message_id
from strabo_agents.envelopes import Letter, Post
from strabo_agents.errors import HandlerError, LeaseLost, PayloadError
from strabo_agents.handlers import REJECTED
from strabo_agents.messages import Accepted, Incoming, Message, Origin, Outgoing, Returned, Sendable
from strabo_agents.payloads import decode_payload, moment, read_model
from strabo_agents.stores.store import Lease, Store
from strabo_agents.transport import Transport
from strabo_avro import headers
from strabo_avro.records import Envelope
from strabo_topics import telemetry


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message on its way to a handler."""

    record: Incoming
    envelope: Envelope
    route: Route
    lease: Lease


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every attempt of an agent shares. `now` gives milliseconds since the epoch."""

    agent_id: str
    post: Post
    transport: Transport
    store: Store
    now: Callable[[], int]


async def run_handler(
    delivery: Delivery, around: Surroundings, timeout: float | None
) -> tuple[Outgoing, ...]:
    """What the handler sends, in its final bytes.

    Raises:
        Permanent: the payload does not fit the handler, or the handler says so.
        TimeoutError: the handler took longer than `timeout` seconds.
        Exception: whatever the handler raises.
    """
    sends = _HandlerSends(delivery, around)
    argument = _argument(delivery)
    conversation = _conversation(delivery, around, sends)
    try:
        async with asyncio.timeout(timeout) as limit:
            returned = await delivery.route.handler.function(argument, conversation)
    except TimeoutError as error:
        if timeout is None or not limit.expired():
            raise
        name = delivery.route.handler.name
        raise TimeoutError(f"{name} took longer than {timeout:g} s (STRABO_AGENT_HANDLER_TIMEOUT)") from error
    finally:
        sends.ended = True
    return sends.with_returned(each_of(returned, delivery.route.handler.name))


def each_of(returned: Returned, handler: str) -> tuple[Message, ...]:
    """What a handler returned, as messages.

    Raises:
        HandlerError: it is nothing that can be sent.
    """
    if returned is None:
        return ()
    many: Sequence[Sendable]
    if isinstance(returned, list) or (isinstance(returned, tuple) and not _is_type_and_payload(returned)):
        many = returned
    else:
        many = [cast(Sendable, returned)]
    try:
        return tuple(Message.of(each) for each in many)
    except PayloadError as error:
        raise HandlerError(
            f"{handler} returned {type(returned).__name__}; return a pydantic model named as the message type, "
            "Message(type, payload), a list of these, or None"
        ) from error


def _is_type_and_payload(value: Sequence[object]) -> bool:
    return len(value) == 2 and isinstance(value[0], str)


class _HandlerSends:
    """Keeps what a handler sends until it ends; what is waited for goes out at once, after what was sent before."""

    def __init__(self, delivery: Delivery, around: Surroundings) -> None:
        self._delivery = delivery
        self._around = around
        self._parent = headers.read(delivery.record.headers).traceparent
        self._buffer: list[Outgoing] = []
        self._count = 0
        self.ended = False

    async def send(self, message: Message, in_reply_to: str | None, wait: bool) -> Accepted | None:
        """See `Conversation.send`."""
        if self.ended:
            raise HandlerError(
                f"{self._delivery.route.handler.name} has ended, so its conversation cannot send any more; "
                "send with a Client, or await what you started before you return"
            )
        letter = self._letter(message, in_reply_to, wait)
        if not wait:
            self._buffer.append(letter.record)
            return None
        if not await self._around.store.renew(self._delivery.lease):
            raise LeaseLost(
                f"the lease on message {self._delivery.envelope.id} is lost: nothing more is sent"
            )
        before, self._buffer = self._buffer, []
        await self._around.transport.produce(before)
        return await self._around.transport.ask(
            letter.record, message_id=letter.id, sender=self._around.agent_id
        )

    def with_returned(self, messages: Sequence[Message]) -> tuple[Outgoing, ...]:
        """What is kept, and then `messages`."""
        answered = self._delivery.envelope.id
        return (*self._buffer, *(self._letter(each, answered, False).record for each in messages))

    def _letter(self, message: Message, in_reply_to: str | None, wait: bool) -> Letter:
        envelope, role = self._delivery.envelope, self._delivery.route.role
        name = message_id(self._around.agent_id, role.name, envelope.id, self._count, awaited=wait)
        self._count += 1
        return self._around.post.message(
            message,
            id=name,
            instance_id=envelope.instance_id,
            sender=self._around.agent_id,
            sent_at=self._around.now(),
            protocol=envelope.protocol,
            version=envelope.version,
            definition_hash=envelope.definition_hash,
            sender_role=role.name,
            in_reply_to=in_reply_to,
            wants_reply=wait,
            traceparent=self._parent,
        )


def _argument(delivery: Delivery) -> object:
    handler, envelope = delivery.route.handler, delivery.envelope
    if handler.message_type == REJECTED and envelope.kind == "reply":
        return read_answer(envelope)
    if handler.model is None:
        return decode_payload(envelope.payload)
    return read_model(envelope.payload, handler.model)


def _conversation(delivery: Delivery, around: Surroundings, sends: _HandlerSends) -> Conversation:
    envelope = delivery.envelope
    trace = telemetry.parse(headers.read(delivery.record.headers).traceparent)
    return Conversation(
        instance_id=envelope.instance_id,
        agent_id=around.agent_id,
        protocol=envelope.protocol,
        version=envelope.version,
        role=delivery.route.role.name,
        message=Origin(
            message_id=envelope.id,
            type=envelope.type,
            sender=envelope.sender,
            sender_role=envelope.sender_role,
            sent_at=moment(envelope.sent_at),
            in_reply_to=envelope.in_reply_to,
            reminder_of=envelope.reminder_of,
            deadline=None if envelope.deadline is None else moment(envelope.deadline),
            user=envelope.user,
        ),
        trace_id=(trace or telemetry.for_instance(envelope.instance_id)).trace_id,
        sender=sends,
    )
