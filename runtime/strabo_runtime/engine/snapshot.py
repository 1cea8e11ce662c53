"""The stored form of instances: JSON values that read back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import orjson

from strabo_runtime.engine.errors import StepError, UnreadableState
from strabo_runtime.engine.identity import shared_roles
from strabo_runtime.engine.instance import (
    NOTHING,
    Child,
    Compensation,
    Debt,
    Incident,
    Instance,
    OpenRequest,
    Timer,
)
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.engine.stored_inputs import (
    decode_message,
    decode_parent,
    encode_message,
    encode_parent,
)
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions import MessageFacts, Variables
from strabo_runtime.expressions.types import Json

# -- instances --------------------------------------------------------------------------------------------------------


def encode_instance(instance: Instance) -> dict[str, Json]:
    """The stored form of an instance. What is empty is left out; protocol and version are those of the machine."""
    stored = _encode_bounded(instance)
    seen = instance.seen
    if len(seen):
        stored["seen"] = cast("list[Json]", seen.packed())
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
    if instance.parent is not None:
        stored["parent"] = encode_parent(instance.parent)
    if instance.children:
        stored["children"] = encode_children(instance.children)
    if instance.deferred:
        stored["deferred"] = [encode_message(message) for message in instance.deferred]
    if instance.retry is not None:
        stored["retry"] = instance.retry
    if instance.compensations:
        stored["compensations"] = encode_compensations(instance.compensations)
    if instance.requests:
        stored["requests"] = encode_requests(instance.requests)
    if instance.dropped:
        stored["dropped"] = {role: list(agents) for role, agents in instance.dropped.items()}
    if instance.counts:
        stored["counts"] = dict(instance.counts)
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
            stored.get("seen", ()),
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
        parent=decode_parent(stored["parent"]) if "parent" in stored else None,
        children=decode_children(stored.get("children", ())),
        deferred=tuple(decode_message(message) for message in stored.get("deferred", ())),
        retry=stored.get("retry"),
        compensations=decode_compensations(stored.get("compensations", ())),
        requests=decode_requests(stored.get("requests", ())),
        dropped={role: tuple(agents) for role, agents in stored["dropped"].items()}
        if "dropped" in stored
        else NOTHING,
        counts=stored.get("counts", NOTHING),
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
            debt.replacements,
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


def encode_child(child: Child) -> list[Json]:
    """A child as a row."""
    return [
        child.id,
        child.name,
        child.protocol,
        child.version,
        child.status,
        child.result,
        child.error,
        child.detached,
        child.cancelled,
    ]


def encode_children(children: Iterable[Child]) -> list[Json]:
    """Children as rows."""
    return [encode_child(child) for child in children]


def decode_children(rows: Iterable[Any]) -> tuple[Child, ...]:
    """Children from rows."""
    return tuple(Child(*row) for row in rows)


def encode_compensations(compensations: Iterable[Compensation]) -> list[Json]:
    """Kept compensations as rows."""
    return [[kept.transition, list(kept.actions)] for kept in compensations]


def decode_compensations(rows: Iterable[Any]) -> tuple[Compensation, ...]:
    """Kept compensations from rows."""
    return tuple(Compensation(transition, tuple(actions)) for transition, actions in rows)


def encode_requests(requests: Iterable[OpenRequest]) -> list[Json]:
    """Open bind requests as rows."""
    return [[request.id, request.role, request.count, list(request.silent)] for request in requests]


def decode_requests(rows: Iterable[Any]) -> tuple[OpenRequest, ...]:
    """Open bind requests from rows."""
    return tuple(OpenRequest(asked, role, count, tuple(silent)) for asked, role, count, silent in rows)


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
