"""What a step gives to the world, as records: deliveries, answers, history, dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import orjson

from strabo_avro import headers
from strabo_avro.codec import encode
from strabo_avro.records import DeadLetter, Envelope, Kind, StepRecord, free_text
from strabo_runtime.engine.inputs import Agents, Message
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.outputs import (
    BindRequest,
    ChildCancel,
    ChildStart,
    Delivery,
    Outcome,
    Output,
    ParentEvent,
    Reply,
)
from strabo_runtime.frozen import quick_init
from strabo_runtime.worker.inbox import (
    CANCEL,
    EVENT,
    MAX_CHILD_ID_LENGTH,
    MAX_DEPTH,
    MAX_MESSAGE_BYTES,
    OUTCOME,
    is_too_deep,
)
from strabo_runtime.worker.kafka import Incoming, Outgoing
from strabo_topics import telemetry
from strabo_topics.clients import MAX_RECORD_BYTES
from strabo_topics.names import Names, partition_for

BATCH_OVERHEAD = 512
MAX_REASON_LENGTH = 8_000
SENDER = "strabo"
_DEADLINE_TIMERS = ("timeout", "deadline")


class Unsendable(Exception):
    """An output that its topic, or its reader, would not take."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """Where the records of one inbox partition go: to the same partition of other topics, but to other instances.

    `child_version` gives, by the parent's definition and the child's protocol, the version fixed at publication.
    """

    names: Names
    partition: int
    partitions: int
    child_version: Callable[[str, str], str]

    def inbox_of(self, instance_id: str) -> tuple[str, int]:
        """Where what is asked of an instance is written."""
        return self.names.inbox, partition_for(instance_id, self.partitions)


@quick_init
@dataclass(frozen=True, slots=True)
class Source:
    """Where a step belongs: its instance's protocol, and the input's place in the trace."""

    instance_id: str
    protocol: str
    version: str
    definition_hash: str
    traceparent: str | None


def outgoing(
    destinations: Destinations,
    source: Source,
    outputs: Iterable[Output],
    after: Instance | None,
    *,
    wants_reply: bool,
    cause: str,
    now: int,
) -> Iterator[tuple[tuple[str, int], Outgoing]]:
    """((topic, partition), record) for each output, in order. Raises `Unsendable`.

    Acceptances that nobody asked for (`wants_reply`) are left out, and so are questions to the agent directory, which
    stand open in the instance.
    """
    key = source.instance_id.encode()
    names, partition = destinations.names, destinations.partition
    parent: telemetry.TraceParent | None = None
    for output in outputs:
        to: Agents = ()
        if isinstance(output, Delivery):
            place = (names.role(source.protocol, output.role), partition)
            envelope, to = _delivery(source, output, after), output.to
        elif isinstance(output, Reply):
            if output.kind == "accepted" and not wants_reply:
                continue
            place, envelope, to = (names.replies, partition), _reply(source, output, now), (output.to,)
        elif isinstance(output, Outcome) and not output.to_parent:
            place, envelope, to = (names.replies, partition), _outcome(source, output, now), (output.to,)
        elif isinstance(output, BindRequest):
            continue
        else:
            place = destinations.inbox_of(output.to)
            envelope = _for_instance(destinations, source, output, now)
            _check_depth(envelope)
        # Most steps tell nobody anything, and then the trace is not even read.
        parent = parent or telemetry.parse(source.traceparent)
        span = None if parent is None else str(parent.child(envelope.id))
        record = Outgoing(
            key if isinstance(output, Delivery) else output.to.encode(),
            encode(envelope),
            headers.build(envelope.id, envelope.type, traceparent=span, to=to, cause=cause),
        )
        _measure(
            record, MAX_MESSAGE_BYTES, f"message {envelope.type}" if envelope.type else "the start of a child"
        )
        yield place, record


def event(stored: StepRecord) -> Outgoing:
    """The history's record of a step. Raises `Unsendable`."""
    record = Outgoing(stored.instance_id.encode(), encode(stored))
    _measure(record, MAX_RECORD_BYTES, "the record of the step")
    return record


def dead_letter(
    topic: str,
    record: Incoming | None,
    *,
    instance_id: str,
    partition: int,
    reason: str,
    error_type: str,
    at: int,
    by: str,
    value: bytes | None = None,
) -> Outgoing:
    """A dead letter for an inbox record, or for an input that is none (a timer). A large record is only pointed to.

    `value` is what there is to keep of an input without a record.
    """
    key = instance_id.encode() if value is not None else None
    if record is not None:
        key, value = record.key, record.value
    if value is not None and len(value) > MAX_RECORD_BYTES - 64 * 1024:
        value = None
    letter = DeadLetter(
        instance_id=instance_id,
        topic=topic,
        partition=partition,
        offset=-1 if record is None else record.offset,
        key=key,
        value=value,
        reason=free_text(reason[:MAX_REASON_LENGTH]),
        at=at,
        by=by,
        error_type=error_type,
    )
    return Outgoing(instance_id.encode(errors="replace"), encode(letter))


def message_again(source: Source, message: Message) -> bytes:
    """The envelope of a message whose record is long past, as its sender might send it again."""
    envelope = Envelope(
        id=message.id,
        kind="message",
        type=message.type,
        protocol=source.protocol,
        version=source.version,
        definition_hash=source.definition_hash,
        instance_id=source.instance_id,
        sender=message.sender,
        sender_role=message.role or "",
        to=message.to or (),
        in_reply_to=message.in_reply_to,
        sent_at=message.sent_at,
        payload=orjson.dumps(message.payload),
        user=message.user,
    )
    return encode(envelope)


def _measure(record: Outgoing, limit: int, what: str) -> None:
    """Whatever the headers say is in the value too, so most records need not be looked at closely."""
    found = len(record.value or b"")
    if found < limit // 4:
        return
    found += (
        len(record.key) + sum(len(name) + len(value) + 10 for name, value in record.headers) + BATCH_OVERHEAD
    )
    if found > limit:
        raise Unsendable(
            f"{what} is {found} bytes, and at most {limit} can be sent: send less, or a reference to it"
        )


def _delivery(source: Source, output: Delivery, after: Instance | None) -> Envelope:
    return Envelope(
        id=output.id,
        kind="delivery",
        type=output.type,
        protocol=source.protocol,
        version=source.version,
        definition_hash=source.definition_hash,
        instance_id=source.instance_id,
        sender=output.sender,
        sender_role=output.sender_role,
        to=output.to,
        in_reply_to=output.in_reply_to,
        sent_at=output.sent_at,
        payload=orjson.dumps(output.payload),
        reminder_of=output.reminder_of,
        deadline=_deadline(after, output.to),
    )


def _deadline(after: Instance | None, to: Agents) -> int | None:
    """Until when an answer can be of use: the debt's end, the state's, or the instance's, whichever comes first."""
    if after is None:
        return None
    ends = [timer.due for timer in after.timers if timer.key in _DEADLINE_TIMERS]
    ends += [debt.due for debt in after.pending if debt.due is not None and debt.agent in to]
    return min(ends, default=None)


def _reply(source: Source, output: Reply, now: int) -> Envelope:
    if output.kind == "accepted":
        name, payload = "Accepted", b"{}"
    elif output.kind == "rejected":
        name, payload = "Rejected", orjson.dumps(output.rejection)
    else:
        name, payload = "Failed", orjson.dumps({"error": output.error})
    return _told(source, "reply", output.id, name, output.to, payload, now, output.in_reply_to)


def _outcome(source: Source, output: Outcome, now: int) -> Envelope:
    return _told(source, "outcome", output.id, OUTCOME, output.to, _outcome_payload(output), now, None)


def _outcome_payload(output: Outcome) -> bytes:
    return orjson.dumps(
        {"status": output.status, "state": output.state, "result": output.result, "error": output.error}
    )


def _for_instance(
    destinations: Destinations,
    source: Source,
    output: Outcome | ChildStart | ChildCancel | ParentEvent,
    now: int,
) -> Envelope:
    """What is asked of, or told to, another instance. Raises `Unsendable`."""
    protocol = version = ""
    start: bytes | None = None
    kind: Kind
    if isinstance(output, ChildStart):
        if len(output.to) > MAX_CHILD_ID_LENGTH:
            raise Unsendable(
                f"a child's id would be {len(output.to)} characters, and {MAX_CHILD_ID_LENGTH} are the most: start the"
                " outermost instance under a shorter id"
            )
        kind, name, payload = "start", "", b"null"
        protocol = output.protocol
        version = output.version or destinations.child_version(source.definition_hash, protocol)
        start = _start_options(output)
    elif isinstance(output, ChildCancel):
        kind, name, payload = "command", CANCEL, orjson.dumps({"reason": output.reason})
    elif isinstance(output, ParentEvent):
        kind, name = "child", EVENT
        payload = orjson.dumps({"event": output.event, "payload": output.payload})
    else:
        kind, name, payload = "child", OUTCOME, _outcome_payload(output)
    return Envelope(
        id=output.id,
        kind=kind,
        type=name,
        protocol=protocol,
        version=version,
        instance_id=output.to,
        sender=source.instance_id,
        sent_at=now,
        payload=payload,
        start=start,
    )


def _start_options(output: ChildStart) -> bytes:
    parent = output.parent
    return orjson.dumps(
        {
            "roles": {role: list(agents) for role, agents in output.named.items()},
            "inputs": dict(output.inputs),
            "parent": {"name": parent.name, "depth": parent.depth, "detached": parent.detached},
        }
    )


def _check_depth(envelope: Envelope) -> None:
    for text in (envelope.payload, envelope.start):
        if text is not None and is_too_deep(text):
            raise Unsendable(
                f"what {envelope.instance_id} is to be told is nested more than {MAX_DEPTH} levels deep"
            )


def _told(
    source: Source,
    kind: str,
    record_id: str,
    name: str,
    to: str,
    payload: bytes,
    now: int,
    in_reply_to: str | None,
) -> Envelope:
    return Envelope(
        id=record_id,
        kind="outcome" if kind == "outcome" else "reply",
        type=name,
        protocol=source.protocol,
        version=source.version,
        definition_hash=source.definition_hash,
        instance_id=source.instance_id,
        sender=SENDER,
        to=(to,),
        in_reply_to=in_reply_to,
        sent_at=now,
        payload=payload,
    )
