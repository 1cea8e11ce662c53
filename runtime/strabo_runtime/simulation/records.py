"""Records in a simulation: what a step gives to the world, in the very form that a worker writes, and answers read."""

from __future__ import annotations

from collections.abc import Iterator

from strabo_agents import Accepted, Rejected
from strabo_agents.envelopes import Post
from strabo_agents.messages import Outgoing
from strabo_avro.codec import decode
from strabo_avro.records import Definition, Envelope
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Delivery, Outcome, Output, Reply, Step
from strabo_runtime.worker.publishing import Destinations, Source, outgoing
from strabo_topics.names import Names

POST = Post(Names("simulation"), 1)
_DESTINATIONS = Destinations(POST.names, 0, 1, lambda _parent, _child: "")


def records_of(made: Step, machine: Machine, instance_id: str, now: int) -> Iterator[Outgoing]:
    """What a step sends to agents and to its starter. What instances tell each other is not among it."""
    source = Source(instance_id, machine.name, machine.version, machine.hash, None)
    told = [output for output in made.outputs if _goes_out(output)]
    for (topic, _), record in outgoing(
        _DESTINATIONS, source, told, made.after, wants_reply=False, cause=made.input.id, now=now
    ):
        yield Outgoing(topic, 0, record.key, record.value, tuple(record.headers))


def _goes_out(output: Output) -> bool:
    return isinstance(output, Delivery | Reply) or (isinstance(output, Outcome) and not output.to_parent)


def envelope_of(record: Outgoing) -> Envelope:
    """The envelope in a record."""
    return decode(record.value or b"", Envelope)


def definition_of(machine: Machine) -> Definition:
    """The protocol as far as agents that join look at it."""
    roles = tuple(name for name, role in machine.roles.items() if role.played_by != "engine")
    return Definition(
        name=machine.name, version=machine.version, hash=machine.hash, text="", published_at=0, roles=roles
    )


def answer_to(made: Step, message_id: str, instance_id: str) -> Accepted | Rejected | None:
    """What a step says to the sender of a message; None where it says nothing, as to a deferred one."""
    for output in made.outputs:
        if isinstance(output, Reply) and output.in_reply_to == message_id:
            return _read(output, message_id, instance_id)
    return None


def _read(reply: Reply, message_id: str, instance_id: str) -> Accepted | Rejected:
    if reply.kind == "accepted":
        return Accepted(message_id, instance_id)
    if reply.rejection is None:
        text = f"the step failed: {reply.error}"
        return Rejected(text, by="failed", message_id=message_id, instance_id=instance_id)
    return Rejected(
        reply.rejection.text,
        by=reply.rejection.by,
        message_id=message_id,
        instance_id=instance_id,
        constraints=reply.rejection.constraints,
        descriptions=reply.rejection.descriptions,
    )
