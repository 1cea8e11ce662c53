"""Messages to records: the envelope, its headers, and the topic and partition that a record goes to."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from pydantic import BaseModel

from strabo_agents.errors import PayloadError
from strabo_agents.messages import Message, Outgoing
from strabo_agents.payloads import encode_payload, to_payload
from strabo_agents.settings import MESSAGE_LIMIT
from strabo_avro import headers
from strabo_avro.codec import encode
from strabo_avro.records import DeadLetter, Envelope, free_text
from strabo_topics import telemetry
from strabo_topics.names import Names, partition_for

REASON_LIMIT = 64_000
"""Characters of a dead letter's reason: the end of a traceback says what it was."""

AWAITED = ":awaited"
"""How the id of a message ends whose sender waits: its refusal goes there, not to a `Rejected` handler."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message ready to be produced, and its id."""

    id: str
    record: Outgoing


@dataclass(frozen=True, slots=True)
class Post:
    """Where records go: the namespace's topics, each of `partitions` partitions."""

    names: Names
    partitions: int

    def message(
        self,
        message: Message,
        *,
        id: str,  # noqa: A002 - the field's name
        instance_id: str,
        sender: str,
        sent_at: int,
        protocol: str = "",
        version: str = "",
        definition_hash: str = "",
        sender_role: str = "",
        in_reply_to: str | None = None,
        user: str | None = None,
        wants_reply: bool = False,
        traceparent: str | None = None,
    ) -> Letter:
        """The record of a message to a running instance.

        Raises:
            PayloadError: it cannot be written as JSON, or is larger than 1 MiB.
        """
        envelope = Envelope(
            id=id,
            kind="message",
            type=message.type,
            protocol=protocol,
            version=version,
            definition_hash=definition_hash,
            instance_id=instance_id,
            sender=sender,
            sender_role=sender_role,
            to=message.to,
            in_reply_to=in_reply_to,
            sent_at=sent_at,
            payload=encode_payload(to_payload(message.type, message.payload)),
            user=user,
            wants_reply=wants_reply,
        )
        return self._to_inbox(envelope, traceparent)

    def start(
        self,
        message: Message | None,
        *,
        instance_id: str,
        starter: str,
        protocol: str,
        version: str,
        roles: Mapping[str, Sequence[str]],
        or_send: bool,
        sent_at: int,
        user: str | None = None,
        inputs: BaseModel | Mapping[str, object] | None = None,
    ) -> Letter:
        """The record that starts an instance, with its starting message if there is one, and its inputs.

        Its id is a function of all that the start says, so that the same start again is known as a repeat, and
        another start of the same instance is told from it.

        Raises:
            PayloadError: see `message`.
        """
        name, payload = "", b"{}"
        to: tuple[str, ...] = ()
        if message is not None:
            name, to = message.type, message.to
            payload = encode_payload(to_payload(message.type, message.payload))
        options: dict[str, object] = {
            "roles": {role: list(ids) for role, ids in roles.items()},
            "or_send": or_send,
        }
        if inputs:
            options["inputs"] = orjson.Fragment(encode_payload(to_payload("inputs", inputs)))
        asked = orjson.dumps(options)
        said = orjson.dumps([protocol, version, starter, name, to, user], default=list)
        digest = hashlib.blake2b(b"\0".join((said, asked, payload)), digest_size=8).hexdigest()
        envelope = Envelope(
            id=f"{instance_id}:start:{digest}",
            kind="start",
            type=name,
            protocol=protocol,
            version=version,
            instance_id=instance_id,
            sender=starter,
            to=to,
            sent_at=sent_at,
            payload=payload,
            user=user,
            start=asked,
            wants_reply=True,
        )
        return self._to_inbox(envelope, None)

    def cancel(
        self,
        reason: str,
        *,
        id: str,  # noqa: A002 - the field's name
        instance_id: str,
        sender: str,
        sent_at: int,
    ) -> Letter:
        """The record of the command that asks an instance to end.

        Raises:
            PayloadError: the reason is too large.
        """
        envelope = Envelope(
            id=id,
            kind="command",
            type="Cancel",
            protocol="",
            instance_id=instance_id,
            sender=sender,
            sent_at=sent_at,
            payload=encode_payload({"reason": reason}),
            wants_reply=True,
        )
        return self._to_inbox(envelope, None)

    def dead_letter(
        self,
        *,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None = None,
        value: bytes | None = None,
        instance_id: str = "",
        reason: str,
        error_type: str,
        at: int,
        by: str,
    ) -> Outgoing:
        """The record that says why nobody could take another; a large `value` is left to the offset to point to."""
        letter = DeadLetter(
            instance_id=instance_id,
            topic=topic,
            partition=partition,
            offset=offset,
            key=key,
            value=value if value is not None and len(value) <= MESSAGE_LIMIT else None,
            reason=free_text(reason[-REASON_LIMIT:]),
            at=at,
            by=by,
            error_type=error_type,
        )
        name = tuple(headers.build(f"{by}:{topic}:{partition}:{offset}", "DeadLetter"))
        target = partition % self.partitions
        return Outgoing(self.names.deadletter, target, instance_id.encode(), encode(letter), name)

    def _to_inbox(self, envelope: Envelope, traceparent: str | None) -> Letter:
        value = encode(envelope)
        if len(value) > MESSAGE_LIMIT:
            raise PayloadError(
                f"{envelope.type} is too large: {len(value)} bytes with its envelope, {MESSAGE_LIMIT} are the most; "
                "send a reference to the data instead"
            )
        key = envelope.instance_id.encode()
        parent = telemetry.parse(traceparent) or telemetry.for_instance(envelope.instance_id)
        raw = headers.build(envelope.id, envelope.type, traceparent=str(parent.child(envelope.id)))
        record = Outgoing(self.names.inbox, partition_for(key, self.partitions), key, value, tuple(raw))
        return Letter(envelope.id, record)


def describe(error: BaseException, limit: int = 16_384) -> str:
    """An error with its traceback as text, its end where it is long."""
    return "".join(traceback.format_exception(error))[-limit:]
