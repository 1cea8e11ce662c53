"""Steps that change (next to) nothing: repeats, refusals and failures, and what their senders are told."""

from __future__ import annotations

from typing import Literal, NamedTuple

from strabo_runtime.engine.changes import failed, refused
from strabo_runtime.engine.completion import outcome_of
from strabo_runtime.engine.execution import bounded_time
from strabo_runtime.engine.identity import input_key, message_digest, reply_id, sender_key, start_digest
from strabo_runtime.engine.inputs import Input, Message, Start, TimerDue
from strabo_runtime.engine.instance import Incident, Instance
from strabo_runtime.engine.outputs import Output, Rejection, Reply, Step
from strabo_runtime.engine.rejection import clipped
from strabo_runtime.engine.timers import without
from strabo_runtime.engine.window import Seen

_LONGEST_REASON = 1000


class Known(NamedTuple):
    """An input by its fingerprints: of its id, and of its id and content."""

    key: int
    digest: int

    def as_one(self) -> int:
        """Both in one number, as an instance keeps those of its start."""
        return self.key << 64 | self.digest


def known_message(message: Message) -> Known:
    """The fingerprints of a message. Raises NotJson."""
    return Known(input_key(message.id), message_digest(message))


def known_start(start: Start) -> Known:
    """The fingerprints of a start. Raises NotJson."""
    return Known(input_key(start.id), start_digest(start))


def reply_to(
    instance_id: str,
    given: Message | Start,
    kind: Literal["accepted", "rejected", "failed"],
    rejection: Rejection | None = None,
    error: str | None = None,
) -> Reply:
    """The answer to the sender of an input; a repeated input gets it under the same id."""
    sender = given.sender if isinstance(given, Message) else given.starter
    return Reply(reply_id(instance_id, given.id, kind), sender, kind, given.id, rejection, error)


def repeated(instance: Instance, given: Message | Start, known: Known) -> Step | None:
    """The answer to an id that was taken or refused before, None for a new one. The start's id is never forgotten."""
    refusal: Rejection | None = None
    if known.key == instance.start >> 64:
        same = known.as_one() == instance.start
    else:
        entry = instance.seen.find(known.key)
        if entry is None:
            return None
        same, refusal = known.digest == entry.digest, entry.refusal
    if not same:
        text = f"the id {given.id!r} was used before, with another content; use a new id"
        return refuse_untraced(instance, given, Rejection("conflict", text))
    kind: Literal["accepted", "rejected"] = "accepted" if refusal is None else "rejected"
    outputs: tuple[Output, ...] = (reply_to(instance.id, given, kind, refusal),)
    if isinstance(given, Start) and instance.status != "running":
        outputs = (*outputs, outcome_of(instance))
    return Step(given, "duplicate", instance, instance, outputs=outputs, rejection=refusal)


def remember(instance: Instance, known: Known, message: Message, refusal: Rejection | None = None) -> Seen:
    """The instance's remembered inputs, and this message."""
    return instance.seen.remember(
        known.key, known.digest, sender_key(message.sender), message.sent_at, refusal
    )


def refuse(
    instance: Instance,
    message: Message,
    known: Known,
    rejection: Rejection,
    violations: tuple[str, ...] = (),
) -> Step:
    """Refuse, and remember it; but not for a stranger, who could fill the memory with ids at no cost."""
    if not any(message.sender in agents for agents in instance.roles.values()):
        return refuse_untraced(instance, message, rejection)
    rejection = rejection.clipped()
    after, changes = refused(instance, remember(instance, known, message, rejection))
    return Step(
        message,
        "rejected",
        instance,
        after,
        outputs=(reply_to(instance.id, message, "rejected", rejection),),
        rejection=rejection,
        changes=changes,
        violations=violations,
    )


def refuse_untraced(instance: Instance | None, given: Message | Start, rejection: Rejection) -> Step:
    """Refuse without any trace in the instance."""
    rejection = rejection.clipped()
    outputs = (reply_to(_target(instance, given), given, "rejected", rejection),)
    return Step(given, "rejected", instance, instance, outputs=outputs, rejection=rejection)


def ignore(instance: Instance, message: Message, known: Known) -> Step:
    """Let a message pass that nothing takes, as its policy says."""
    after, changes = refused(instance, remember(instance, known, message))
    return Step(
        message,
        "ignored",
        instance,
        after,
        outputs=(reply_to(instance.id, message, "accepted"),),
        notes=(f"{message.type} was ignored: nothing takes it in state {instance.state}",),
        changes=changes,
    )


def fail(instance: Instance | None, given: Input, reason: str, *, incident: bool = True) -> Step:
    """Undo the step: an incident on the instance, the input consumed, its sender told.

    Without the `incident` the instance is as before, but for a timer that is taken out.
    """
    reason = clipped(reason, _LONGEST_REASON)
    outputs: tuple[Output, ...] = ()
    if not isinstance(given, TimerDue):
        outputs = (reply_to(_target(instance, given), given, "failed", error=reason),)
    if instance is None:
        return Step(given, "failed", None, None, outputs=outputs, error=reason)
    arrived = given.due if isinstance(given, TimerDue) else given.received_at
    noted = Incident(given.id, bounded_time(given.now, arrived, instance.now), reason) if incident else None
    if isinstance(given, TimerDue):
        timers, pending = without(instance, given.key, given.due)
        after, changes = failed(instance, noted, timers, pending)
    else:
        after, changes = failed(instance, noted)
    return Step(given, "failed", instance, after, outputs=outputs, error=reason, changes=changes)


def _target(instance: Instance | None, given: Message | Start) -> str:
    """The instance that an answer speaks of; a message to none does not say which it meant."""
    if instance is not None:
        return instance.id
    return given.instance_id if isinstance(given, Start) else ""
