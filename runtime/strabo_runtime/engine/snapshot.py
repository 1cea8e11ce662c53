"""The stored form of instances and inputs: JSON values that read back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import orjson

from strabo_runtime.engine.errors import StepError, UnreadableState
from strabo_runtime.engine.identity import shared_roles
from strabo_runtime.engine.inputs import Input, Message, Start, TimerDue
from strabo_runtime.engine.instance import NOTHING, Debt, Incident, Instance, Timer
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions import MessageFacts, Variables
from strabo_runtime.expressions.types import Json

# -- instances --------------------------------------------------------------------------------------------------------


def encode_instance(instance: Instance) -> dict[str, Json]:
    """The stored form of an instance. What is empty is left out; protocol and version are those of the machine."""
    stored = _encode_bounded(instance)
    seen = instance.seen
    if len(seen):
        stored["seen"] = seen.packed()
        refusals = seen.refusals()
        if refusals:
            stored["refusals"] = {
                str(place): encode_rejection(refusal) for place, refusal in refusals.items()
            }
    if seen.forgotten:
        stored["forgotten"] = {str(sender): sent_at for sender, sent_at in seen.forgotten.items()}
    if instance.incidents:
        stored["incidents"] = encode_incidents(instance.incidents)
    return stored


def decode_instance(machine: Machine, stored: Mapping[str, Json]) -> Instance:
    """The instance of a stored form. Raises UnreadableState."""
    try:
        return _decode(machine, cast("dict[str, Any]", stored))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableState(
            f"a stored instance of {machine.name} {machine.version} cannot be read: {type(error).__name__}: {error}"
        ) from error


def measured_size(instance: Instance) -> int:
    """The bytes that `limits.state_bytes` bounds: the stored form without the remembered ids and incidents."""
    try:
        return len(orjson.dumps(_encode_bounded(instance)))
    except (TypeError, ValueError, RecursionError) as error:
        raise StepError(f"the instance cannot be stored as JSON: {error}") from None


def _encode_bounded(instance: Instance) -> dict[str, Json]:
    stored: dict[str, Json] = {
        "id": instance.id,
        "machine": instance.machine_hash,
        "status": instance.status,
        "state": instance.state,
        "revision": instance.revision,
        "starter": instance.starter,
        "start": f"{instance.start:032x}",
        "started_at": instance.started_at,
        "now": instance.now,
        "variables": dict(instance.variables.json),
        "roles": {role: list(agents) for role, agents in instance.roles.items()},
    }
    if instance.starting is not None:
        stored["starting"] = encode_facts(instance.starting)
    if instance.pending:
        stored["pending"] = encode_debts(instance.pending)
    if instance.timers:
        stored["timers"] = encode_timers(instance.timers)
    if instance.timers_set:
        stored["timers_set"] = instance.timers_set
    if instance.turns:
        stored["turns"] = dict(instance.turns)
    if instance.deliveries:
        stored["deliveries"] = dict(instance.deliveries)
    if instance.last_deliveries:
        stored["last_deliveries"] = dict(instance.last_deliveries)
    if instance.quorum_lost:
        stored["quorum_lost"] = list(instance.quorum_lost)
    if instance.labels:
        stored["labels"] = dict(instance.labels)
    if instance.result is not None:
        stored["result"] = instance.result
    if instance.error is not None:
        stored["error"] = instance.error
    return stored


def _decode(machine: Machine, stored: dict[str, Any]) -> Instance:
    if stored["machine"] != machine.hash:
        raise ValueError(f"it belongs to the definition {stored['machine']}, and this is {machine.hash}")
    decoded = Instance(
        id=stored["id"],
        protocol=machine.name,
        version=machine.version,
        machine_hash=machine.hash,
        status=stored["status"],
        state=stored["state"],
        revision=stored["revision"],
        starter=stored["starter"],
        start=int(stored["start"], 16),
        started_at=stored["started_at"],
        now=stored["now"],
        variables=Variables.of(stored["variables"]),
        roles=shared_roles(tuple((role, tuple(agents)) for role, agents in stored["roles"].items())),
        seen=Seen.unpack(
            stored.get("seen", ""),
            {int(place): decode_rejection(refusal) for place, refusal in stored.get("refusals", {}).items()},
            {int(sender): sent_at for sender, sent_at in stored.get("forgotten", {}).items()},
        ),
        starting=decode_facts(stored["starting"]) if "starting" in stored else None,
        pending=decode_debts(stored.get("pending", ())),
        timers=decode_timers(stored.get("timers", ())),
        timers_set=stored.get("timers_set", 0),
        turns=stored.get("turns", NOTHING),
        deliveries=stored.get("deliveries", NOTHING),
        last_deliveries=stored.get("last_deliveries", NOTHING),
        quorum_lost=tuple(stored.get("quorum_lost", ())),
        incidents=decode_incidents(stored.get("incidents", ())),
        labels=stored.get("labels", NOTHING),
        result=stored.get("result"),
        error=stored.get("error"),
    )
    return replace(decoded, size_bound=measured_size(decoded))


# -- parts ------------------------------------------------------------------------------------------------------------


def encode_debts(debts: Iterable[Debt]) -> list[Json]:
    """Debts as rows."""
    return [
        [
            debt.agent,
            debt.role,
            debt.expectation,
            debt.since,
            debt.due,
            debt.order,
            debt.request,
            debt.every,
            debt.reminders_sent,
            debt.next_reminder,
        ]
        for debt in debts
    ]


def decode_debts(rows: Iterable[Any]) -> tuple[Debt, ...]:
    """Debts from rows."""
    return tuple(Debt(*row) for row in rows)


def encode_timers(timers: Iterable[Timer]) -> list[Json]:
    """Timers as rows."""
    return [[timer.key, timer.due, timer.order, timer.event, timer.payload] for timer in timers]


def decode_timers(rows: Iterable[Any]) -> tuple[Timer, ...]:
    """Timers from rows."""
    return tuple(Timer(*row) for row in rows)


def encode_incidents(incidents: Iterable[Incident]) -> list[Json]:
    """Incidents as rows."""
    return [[incident.input_id, incident.at, incident.reason] for incident in incidents]


def decode_incidents(rows: Iterable[Any]) -> tuple[Incident, ...]:
    """Incidents from rows."""
    return tuple(Incident(*row) for row in rows)


def encode_rejection(rejection: Rejection) -> dict[str, Json]:
    """A refusal as an object."""
    return {
        "by": rejection.by,
        "text": rejection.text,
        "constraints": list(rejection.constraints),
        "descriptions": list(rejection.descriptions),
    }


def decode_rejection(stored: Mapping[str, Any]) -> Rejection:
    """A refusal from an object."""
    return Rejection(
        stored["by"], stored["text"], tuple(stored["constraints"]), tuple(stored["descriptions"])
    )


def encode_facts(facts: MessageFacts) -> dict[str, Json]:
    """The starting message as an object."""
    return {
        "payload": facts.payload,
        "type": facts.type,
        "id": facts.id,
        "sender": facts.sender,
        "to": list(facts.to),
        "role": facts.role,
        "user": facts.user,
        "in_reply_to": facts.in_reply_to,
        "sent_at": facts.sent_at,
        "received_at": facts.received_at,
    }


def decode_facts(stored: Mapping[str, Any]) -> MessageFacts:
    """The starting message from an object."""
    return MessageFacts(**{**stored, "to": tuple(stored["to"])})


# -- inputs -----------------------------------------------------------------------------------------------------------


def encode_input(given: Input) -> dict[str, Json]:
    """The stored form of an input: everything that re-executing it needs."""
    match given:
        case Message():
            return {"kind": "message", **_encode_message(given)}
        case Start():
            return {
                "kind": "start",
                "id": given.id,
                "instance_id": given.instance_id,
                "starter": given.starter,
                "received_at": given.received_at,
                "now": given.now,
                "message": None if given.message is None else _encode_message(given.message),
                "named": {role: list(agents) for role, agents in given.named.items()},
                "bound": {role: list(agents) for role, agents in given.bound.items()},
                "or_send": given.or_send,
            }
        case TimerDue():
            return {"kind": "timer", "id": given.id, "key": given.key, "due": given.due, "now": given.now}


def decode_input(stored: Mapping[str, Json]) -> Input:
    """The input of a stored form. Raises UnreadableState."""
    try:
        return _decode_input(cast("dict[str, Any]", stored))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableState(f"a recorded input cannot be read: {type(error).__name__}: {error}") from error


def _decode_input(stored: dict[str, Any]) -> Input:
    fields = dict(stored)
    kind = fields.pop("kind")
    if kind == "message":
        return _decode_message(fields)
    if kind == "timer":
        return TimerDue(**fields)
    if kind == "start":
        fields["message"] = None if fields["message"] is None else _decode_message(fields["message"])
        fields["named"] = {role: tuple(agents) for role, agents in fields["named"].items()}
        fields["bound"] = {role: tuple(agents) for role, agents in fields["bound"].items()}
        return Start(**fields)
    raise ValueError(f"{kind!r} is no kind of input")


def _encode_message(message: Message) -> dict[str, Json]:
    return {
        "id": message.id,
        "sender": message.sender,
        "type": message.type,
        "payload": message.payload,
        "received_at": message.received_at,
        "now": message.now,
        "sent_at": message.sent_at,
        "role": message.role,
        "to": None if message.to is None else list(message.to),
        "in_reply_to": message.in_reply_to,
        "user": message.user,
    }


def _decode_message(stored: Mapping[str, Any]) -> Message:
    return Message(**{**stored, "to": None if stored["to"] is None else tuple(stored["to"])})
