"""What a step gives to the world, as records: deliveries, answers, history, dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from strabo_avro import headers
from strabo_avro.codec import encode
from strabo_avro.records import DeadLetter, Envelope, StepRecord, free_text
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.outputs import Delivery, Outcome, Output, Reply
from strabo_runtime.frozen import quick_init
from strabo_runtime.worker.kafka import Incoming, Outgoing
from strabo_topics import telemetry
from strabo_topics.clients import MAX_RECORD_BYTES
from strabo_topics.names import Names

MAX_MESSAGE_BYTES = 1024 * 1024
"""What one message may be, though topics take more: agents of any make read them with their clients' usual limits."""

BATCH_OVERHEAD = 512
MAX_REASON_LENGTH = 8_000
SENDER = "strabo"
_DEADLINE_TIMERS = ("timeout", "deadline")


class TooLarge(Exception):
    """An output that its topic would not take."""


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
    names: Names,
    source: Source,
    outputs: Iterable[Output],
    after: Instance | None,
    *,
    wants_reply: bool,
    cause: str,
    now: int,
) -> Iterator[tuple[str, Outgoing]]:
    """(topic, record) for each output, in order. Raises `TooLarge`.

    Acceptances that nobody asked for (`wants_reply`) are left out.
    """
    key = source.instance_id.encode()
    parent: telemetry.TraceParent | None = None
    for output in outputs:
        if isinstance(output, Delivery):
            topic, envelope, to = (
                names.role(source.protocol, output.role),
                _delivery(source, output, after),
                output.to,
            )
        elif isinstance(output, Reply):
            if output.kind == "accepted" and not wants_reply:
                continue
            topic, envelope, to = names.replies, _reply(source, output, now), (output.to,)
        else:
            topic, envelope, to = names.replies, _outcome(source, output, now), (output.to,)
        # Most steps tell nobody anything, and then the trace is not even read.
        parent = parent or telemetry.parse(source.traceparent)
        span = None if parent is None else str(parent.child(envelope.id))
        record = Outgoing(
            key if isinstance(output, Delivery) else output.to.encode(),
            encode(envelope),
            headers.build(envelope.id, envelope.type, traceparent=span, to=to, cause=cause),
        )
        _measure(record, MAX_MESSAGE_BYTES, f"message {envelope.type}")
        yield topic, record


def event(stored: StepRecord) -> Outgoing:
    """The history's record of a step. Raises `TooLarge`."""
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
) -> Outgoing:
    """A dead letter for an inbox record, or for an input that is none (a timer). A large record is only pointed to."""
    key, value = (None, None) if record is None else (record.key, record.value)
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


def _measure(record: Outgoing, limit: int, what: str) -> None:
    """Whatever the headers say is in the value too, so most records need not be looked at closely."""
    found = len(record.value or b"")
    if found < limit // 4:
        return
    found += (
        len(record.key) + sum(len(name) + len(value) + 10 for name, value in record.headers) + BATCH_OVERHEAD
    )
    if found > limit:
        raise TooLarge(
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
    content = {"status": output.status, "state": output.state, "result": output.result, "error": output.error}
    return _told(source, "outcome", output.id, "Outcome", output.to, orjson.dumps(content), now, None)


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
