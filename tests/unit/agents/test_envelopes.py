"""Starts and commands as records of the inbox."""

from __future__ import annotations

import orjson
import pytest

from strabo_agents.envelopes import Letter, Post
from strabo_agents.errors import PayloadError
from strabo_agents.messages import Message
from strabo_avro.codec import decode
from strabo_avro.records import Envelope
from strabo_topics.names import Names, partition_for

POST = Post(Names("ns"), 4)


def start(message: Message | None = None, **fields: object) -> Letter:
    values: dict[str, object] = {
        "instance_id": "i",
        "starter": "c",
        "protocol": "P",
        "version": "",
        "roles": {},
        "or_send": False,
        "sent_at": 1,
    }
    return POST.start(message, **{**values, **fields})  # type: ignore[arg-type]


def read(letter: Letter) -> Envelope:
    return decode(letter.record.value or b"", Envelope)


def test_inputs_stand_beside_the_roles_of_a_start() -> None:
    envelope = read(start(Message("Go", {}), roles={"A": ("a1",)}, inputs={"limit": 3}))

    assert orjson.loads(envelope.start or b"") == {
        "roles": {"A": ["a1"]},
        "or_send": False,
        "inputs": {"limit": 3},
    }


def test_a_start_without_a_message_has_no_type() -> None:
    envelope = read(start())

    assert (envelope.kind, envelope.type, envelope.wants_reply) == ("start", "", True)


def test_a_start_with_other_inputs_is_another_start() -> None:
    ids = {start().id, start(inputs={"limit": 3}).id, start(inputs={"limit": 4}).id}

    assert len(ids) == 3
    assert start(inputs={"limit": 3}).id in ids


def test_inputs_that_are_not_json_are_refused() -> None:
    with pytest.raises(PayloadError):
        start(inputs={"limit": object()})


def test_a_cancellation_is_a_command_that_wants_an_answer() -> None:
    letter = POST.cancel("why", id="x", instance_id="i", sender="operator", sent_at=1)

    envelope = read(letter)
    assert (envelope.kind, envelope.type, envelope.wants_reply) == ("command", "Cancel", True)
    assert (orjson.loads(envelope.payload), envelope.sender) == ({"reason": "why"}, "operator")
    assert (letter.record.topic, letter.record.partition) == ("ns.inbox", partition_for(b"i", 4))
