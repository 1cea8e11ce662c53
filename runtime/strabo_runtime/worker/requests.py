"""Inbox records, read: what is asked of which instance, or why the record is none of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from strabo_avro import headers
from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable, UnknownSchema
from strabo_avro.records import Envelope
from strabo_runtime.engine.children import DEEPEST
from strabo_runtime.engine.inputs import (
    Agents,
    Cancel,
    ChildEvent,
    ChildFinished,
    Input,
    Message,
    Parent,
    Start,
)
from strabo_runtime.expressions.types import Json
from strabo_runtime.frozen import quick_init
from strabo_runtime.worker.errors import PartitionHalted
from strabo_runtime.worker.inbox import (
    CANCEL,
    EVENT,
    MAX_DEPTH,
    MAX_MESSAGE_BYTES,
    MAX_NAME_LENGTH,
    OUTCOME,
    is_too_deep,
)
from strabo_runtime.worker.kafka import Incoming
from strabo_topics.names import partition_for

RESERVED = b"\0"
"""What the state topic's own keys begin with."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a start says beside its message."""

    named: Mapping[str, Agents] = field(default_factory=dict)
    or_send: bool = False
    inputs: Mapping[str, Json] = field(default_factory=dict)
    parent: Parent | None = None


NO_OPTIONS = Options()


@quick_init
@dataclass(frozen=True, slots=True)
class Request:
    """What an instance is given: a start, a message, what a child tells it, or a command."""

    record: Incoming
    envelope: Envelope
    payload: Any
    options: Options

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

    def input(self, now: int) -> Input:
        """The engine's input, taken at `now`; a start is without the directory's answer."""
        kind = self.envelope.kind
        if kind == "message":
            return self.message(now)
        if kind == "start":
            return self.start(now, {})
        return self._cancel(now) if kind == "command" else self._from_child(now)

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
        envelope, options = self.envelope, self.options
        return Start(
            id=envelope.id,
            instance_id=envelope.instance_id,
            starter=envelope.sender,
            received_at=self.record.timestamp,
            now=now,
            message=self.message(now) if envelope.type else None,
            named=options.named,
            bound=bound,
            or_send=options.or_send,
            inputs=options.inputs,
            parent=options.parent,
        )

    def _cancel(self, now: int) -> Cancel:
        envelope = self.envelope
        return Cancel(envelope.id, envelope.sender, self.payload["reason"], self.record.timestamp, now)

    def _from_child(self, now: int) -> ChildFinished | ChildEvent:
        envelope, told, received_at = self.envelope, self.payload, self.record.timestamp
        if envelope.type == EVENT:
            return ChildEvent(
                envelope.id, envelope.sender, told["event"], told.get("payload"), received_at, now
            )
        return ChildFinished(
            envelope.id,
            envelope.sender,
            told["status"],
            told.get("result"),
            told.get("error"),
            received_at,
            now,
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
    if not envelope.id or not envelope.sender:
        raise _Unreadable("its envelope has no id, or no sender", "undecodable")
    payload = _json(envelope.payload, "payload")
    kind = envelope.kind
    if kind == "message":
        return Request(record, envelope, payload, NO_OPTIONS)
    if kind == "start":
        return Request(record, envelope, payload, _options(envelope))
    if kind == "child":
        _check_told(envelope.type, payload)
    elif kind == "command":
        _check_command(envelope.type, payload)
    else:
        raise _Unreadable(
            f"the inbox takes starts, messages, commands and what children tell, not a record of kind {kind}",
            "unsupported",
        )
    return Request(record, envelope, payload, NO_OPTIONS)


def _check_names(envelope: Envelope) -> None:
    """What ids and records are made of must not make them too large to be sent."""
    for name in ("id", "instance_id", "sender", "type", "protocol", "version"):
        if len(getattr(envelope, name)) > MAX_NAME_LENGTH:
            raise _Unreadable(
                f"its envelope's {name} is longer than {MAX_NAME_LENGTH} characters", "undecodable"
            )


def _options(envelope: Envelope) -> Options:
    if envelope.start is None:
        return NO_OPTIONS
    said: Any = _json(envelope.start, "start")
    if not isinstance(said, dict):
        raise _Unreadable("its envelope's start is no JSON object", "undecodable")
    roles, inputs, parent = (said.get(name) for name in ("roles", "inputs", "parent"))
    roles, inputs = {} if roles is None else roles, {} if inputs is None else inputs
    if not isinstance(roles, dict) or not all(_are_ids(agents) for agents in roles.values()):
        raise _Unreadable("the roles of its envelope's start are not {role: [agent ids]}", "undecodable")
    if not isinstance(inputs, dict):
        raise _Unreadable("the inputs of its envelope's start are not {name: value}", "undecodable")
    return Options(
        {role: tuple(agents) for role, agents in roles.items()},
        said.get("or_send") is True,
        inputs,
        None if parent is None else _parent(envelope.sender, parent),
    )


def _parent(instance_id: str, said: Any) -> Parent:
    match said:
        case {"name": str(name), "depth": int(depth), "detached": bool(detached)} if 0 < depth <= DEEPEST:
            return Parent(instance_id, name, depth, detached)
    raise _Unreadable(
        f'the parent of its envelope\'s start is not {{"name": text, "depth": 1 to {DEEPEST}, "detached": bool}}',
        "undecodable",
    )


def _check_told(kind: str, told: Any) -> None:
    """What a child tells its parent."""
    match told:
        case {"status": "success" | "failure"} if kind == OUTCOME and isinstance(
            told.get("error"), str | None
        ):
            return
        case {"event": str(event)} if kind == EVENT and event:
            return
    raise _Unreadable(
        "what a child tells is an Outcome {status: success or failure, result, error: text} or an Event"
        f" {{event: text, payload}}, and this is neither: {kind[:100]!r}",
        "undecodable",
    )


def _check_command(kind: str, said: Any) -> None:
    if kind != CANCEL:
        raise _Unreadable(f"there is no command {kind[:100]!r}; there is {CANCEL}", "unsupported")
    if not isinstance(said, dict) or not isinstance(said.get("reason"), str):
        raise _Unreadable(f"the payload of the command {CANCEL} is not {{reason: text}}", "undecodable")


def _are_ids(agents: object) -> bool:
    return isinstance(agents, list) and all(isinstance(agent, str) and agent for agent in agents)


def _json(text: bytes, what: str) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _Unreadable(f"its envelope's {what} is not JSON: {error}", "undecodable") from error
    if is_too_deep(text):
        raise _Unreadable(f"its envelope's {what} is nested more than {MAX_DEPTH} levels deep", "undecodable")
    return value
