"""What comes back on the replies topic, read: acceptances, refusals and outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from strabo_agents.errors import Rejected
from strabo_agents.json_types import Json
from strabo_agents.messages import Accepted, Outcome
from strabo_agents.payloads import decode_payload
from strabo_avro.records import Envelope


def read_answer(reply: Envelope) -> Accepted | Rejected:
    """The answer to the message `reply.in_reply_to`. A step that failed reads as a refusal by `failed`."""
    message_id = reply.in_reply_to or ""
    if reply.type == "Accepted":
        return Accepted(message_id, reply.instance_id)
    facts = decode_payload(reply.payload)
    if reply.type == "Failed":
        text = f"the step failed: {_text(facts, 'error')}"
        return Rejected(text, by="failed", message_id=message_id, instance_id=reply.instance_id)
    return Rejected(
        _text(facts, "text"),
        by=_text(facts, "by"),
        message_id=message_id,
        instance_id=reply.instance_id,
        constraints=_texts(facts, "constraints"),
        descriptions=_texts(facts, "descriptions"),
    )


def read_outcome(envelope: Envelope) -> Outcome:
    """The end of an instance."""
    facts = decode_payload(envelope.payload)
    error = facts.get("error")
    return Outcome(
        envelope.instance_id,
        _text(facts, "status"),
        _text(facts, "state"),
        facts.get("result"),
        None if error is None else str(error),
    )


def _text(facts: Mapping[str, Json], name: str) -> str:
    value = facts.get(name)
    return "" if value is None else str(value)


def _texts(facts: Mapping[str, Json], name: str) -> tuple[str, ...]:
    return tuple(str(each) for each in cast(list[Json], facts.get(name) or []))
