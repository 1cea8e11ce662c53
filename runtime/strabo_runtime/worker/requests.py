"""Inbox records, read: what is asked of which instance, or why the record is none of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from strabo_avro import headers
from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable, UnknownSchema
from strabo_avro.records import Envelope
from strabo_runtime.engine.inputs import Agents, Message, Start
from strabo_runtime.expressions.types import Json
from strabo_runtime.frozen import quick_init
from strabo_runtime.worker.errors import PartitionHalted
from strabo_runtime.worker.kafka import Incoming
from strabo_runtime.worker.publishing import MAX_MESSAGE_BYTES
from strabo_topics.names import partition_for

RESERVED = b"\0"
"""What the state topic's own keys begin with."""

MAX_NAME_LENGTH = 1_000
MAX_DEPTH = 100


@quick_init
@dataclass(frozen=True, slots=True)
class Request:
    """A start or a message for an instance."""

    record: Incoming
    envelope: Envelope
    payload: Json
    named: Mapping[str, Agents]
    or_send: bool

    @property
    def is_start(self) -> bool:
        """Whether it asks for an instance that may not exist yet."""
        return self.envelope.kind == "start"

    @property
    def traceparent(self) -> str | None:
        """The trace that the sender's record belongs to."""
        for name, value in self.record.headers:
            if name == headers.TRACE_PARENT and value is not None:
                return value.decode(errors="replace")
        return None

    def message(self, now: int) -> Message:
        """The engine's message, taken at `now`."""
        envelope = self.envelope
        return Message(
            id=envelope.id,
            sender=envelope.sender,
            type=envelope.type,
            payload=self.payload,
            received_at=self.record.timestamp,
            now=now,
            sent_at=envelope.sent_at,
            role=envelope.sender_role or None,
            to=envelope.to or None,
            in_reply_to=envelope.in_reply_to,
            user=envelope.user,
        )

    def start(self, now: int, bound: Mapping[str, Agents]) -> Start:
        """The engine's start, taken at `now`, with the directory's answer."""
        envelope = self.envelope
        return Start(
            id=envelope.id,
            instance_id=envelope.instance_id,
            starter=envelope.sender,
            received_at=self.record.timestamp,
            now=now,
            message=self.message(now) if envelope.type else None,
            named=self.named,
            bound=bound,
            or_send=self.or_send,
        )


@dataclass(frozen=True, slots=True)
class Misfit:
    """A record that no instance can be given: it becomes a dead letter."""

    record: Incoming
    reason: str
    error_type: str

    @property
    def instance_id(self) -> str:
        """What the record's key says."""
        return (self.record.key or b"").decode(errors="replace")


class _Unreadable(Exception):
    """Why a record is a misfit."""


def read_request(record: Incoming, partitions: int) -> Request | Misfit:
    """Read a record of an inbox with this many partitions. Raises `PartitionHalted` where a newer version wrote it."""
    try:
        return _read(record, partitions)
    except UnknownSchema as error:
        # Skipping it could lose what a newer version of the sender has every right to say.
        raise PartitionHalted(
            record.partition, f"the record at offset {record.offset} cannot be read: {error}"
        ) from error
    except Undecodable as error:
        return Misfit(record, str(error), "undecodable")
    except _Unreadable as error:
        return Misfit(record, *error.args)


def _read(record: Incoming, partitions: int) -> Request:
    if not record.key or record.value is None:
        raise _Unreadable("a record of the inbox needs a key (the instance's id) and a value", "undecodable")
    home = partition_for(record.key, partitions)
    if home != record.partition:
        raise _Unreadable(
            f"it stands in partition {record.partition}, but its key belongs to partition {home}: the sender must use "
            f"murmur2 of the key modulo {partitions}",
            "misplaced",
        )
    if len(record.value) > MAX_MESSAGE_BYTES:
        raise _Unreadable(
            f"it is {len(record.value)} bytes, and a message may be {MAX_MESSAGE_BYTES}: send a reference instead",
            "too-large",
        )
    if record.key.startswith(RESERVED):
        raise _Unreadable("an instance's id must not begin with a null character", "undecodable")
    envelope = decode(record.value, Envelope)
    _check_names(envelope)
    if envelope.instance_id.encode() != record.key:
        raise _Unreadable(
            f"its key names another instance than its envelope ({envelope.instance_id})", "misplaced"
        )
    if envelope.kind not in ("start", "message"):
        raise _Unreadable(
            f"the inbox takes starts and messages, not a record of kind {envelope.kind}", "unsupported"
        )
    if not envelope.id or not envelope.sender:
        raise _Unreadable("its envelope has no id, or no sender", "undecodable")
    named, or_send = _options(envelope.start) if envelope.kind == "start" else ({}, False)
    return Request(record, envelope, _json(envelope.payload, "payload"), named, or_send)


def _check_names(envelope: Envelope) -> None:
    """What ids and records are made of must not make them too large to be sent."""
    for name in ("id", "instance_id", "sender", "type", "protocol", "version"):
        if len(getattr(envelope, name)) > MAX_NAME_LENGTH:
            raise _Unreadable(
                f"its envelope's {name} is longer than {MAX_NAME_LENGTH} characters", "undecodable"
            )


def _options(stored: bytes | None) -> tuple[dict[str, Agents], bool]:
    options: Any = {} if stored is None else _json(stored, "start")
    roles = options.get("roles") or {} if isinstance(options, dict) else None
    if not isinstance(roles, dict) or not all(_are_ids(agents) for agents in roles.values()):
        raise _Unreadable(
            'its envelope\'s start is not {"roles": {role: [agent ids]}, "or_send": bool}', "undecodable"
        )
    return {role: tuple(agents) for role, agents in roles.items()}, options.get("or_send") is True


def _are_ids(agents: object) -> bool:
    return isinstance(agents, list) and all(isinstance(agent, str) and agent for agent in agents)


def _json(text: bytes, what: str) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _Unreadable(f"its envelope's {what} is not JSON: {error}", "undecodable") from error
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        # The records that hold it nest it further, and JSON writers have their limits.
        raise _Unreadable(f"its envelope's {what} is nested more than {MAX_DEPTH} levels deep", "undecodable")
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (levels == 0 and isinstance(value, dict | list)) or any(
        _is_deeper(one, levels - 1) for one in inner
    )
