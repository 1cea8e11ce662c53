"""Steps that change (next to) nothing: repeats, refusals and failures, and what their senders are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from strabo_runtime.engine.binding import without_request
from strabo_runtime.engine.changes import KEPT_INCIDENTS, failed, refused
from strabo_runtime.engine.completion import outcome_of
from strabo_runtime.engine.deferral import due_for_retry, without_retried
from strabo_runtime.engine.execution import bounded_time
from strabo_runtime.engine.identity import (
    input_key,
    message_digest,
    outcome_id,
    reply_id,
    sender_key,
    start_digest,
)
from strabo_runtime.engine.inputs import AgentsFound, Input, Message, Retry, Start, TimerDue
from strabo_runtime.engine.instance import Change, Incident, Instance
from strabo_runtime.engine.outputs import Outcome, Output, Rejection, Reply, Step
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


def answers(
    instance: Instance | None,
    given: Input,
    kind: Literal["accepted", "rejected", "failed"],
    rejection: Rejection | None = None,
    error: str | None = None,
) -> tuple[Output, ...]:
    """Who is told what of an input: a sender or starter by a reply, a parent only that its child will never be.

    Nobody waits for an answer to anything else.
    """
    if isinstance(given, Message):
        return (reply_to("" if instance is None else instance.id, given, kind, rejection, error),)
    if isinstance(given, Retry):
        message = None if instance is None else due_for_retry(instance)
        if instance is None or message is None:
            return ()
        return (reply_to(instance.id, message, kind, rejection, error),)
    if not isinstance(given, Start):
        return ()
    if given.parent is None:
        return (reply_to(given.instance_id, given, kind, rejection, error),)
    if instance is not None and instance.parent == given.parent:
        return ()
    reason = error if rejection is None else rejection.text
    return (
        Outcome(outcome_id(given.instance_id), given.parent.instance_id, "failure", "", None, reason, True),
    )


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
    outputs = answers(instance, given, kind, refusal)
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
    """Refuse, and remember it."""
    rejection = rejection.clipped()
    after, changes = _traced(instance, known, message, rejection)
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


def _traced(
    instance: Instance, known: Known, message: Message, refusal: Rejection | None = None
) -> tuple[Instance, tuple[Change, ...]]:
    """Remember what has no effect; but not of a stranger, who could fill the memory with ids at no cost."""
    if not any(message.sender in agents for agents in instance.roles.values()):
        return instance, ()
    return refused(instance, remember(instance, known, message, refusal))


def refuse_untraced(instance: Instance | None, given: Message | Start, rejection: Rejection) -> Step:
    """Refuse without any trace in the instance."""
    rejection = rejection.clipped()
    outputs = answers(instance, given, "rejected", rejection)
    return Step(given, "rejected", instance, instance, outputs=outputs, rejection=rejection)


def ignore(instance: Instance, message: Message, known: Known) -> Step:
    """Let a message pass that nothing takes, as its policy says."""
    after, changes = _traced(instance, known, message)
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

    Without the `incident` the instance is as before, but for a timer or deferred message that is taken out.
    """
    reason = clipped(reason, _LONGEST_REASON)
    outputs = answers(instance, given, "failed", error=reason)
    if instance is None:
        return Step(given, "failed", None, None, outputs=outputs, error=reason)
    after = _consumed(instance, given)
    if incident:
        noted = Incident(given.id, bounded_time(given.now, _arrival(given), instance.now), reason)
        after = replace(after, incidents=(*instance.incidents, noted)[-KEPT_INCIDENTS:])
    return Step(
        given, "failed", instance, after, outputs=outputs, error=reason, changes=failed(instance, after)
    )


def _consumed(instance: Instance, given: Input) -> Instance:
    """The instance without what the input took up: a timer does not fire again, a deferred message is not kept, and the
    directory is not asked again.
    """
    if isinstance(given, TimerDue):
        timers, pending = without(instance, given.key, given.due)
        if timers == instance.timers and pending == instance.pending:
            return instance
        return replace(instance, timers=timers, pending=pending)
    if isinstance(given, AgentsFound):
        return without_request(instance, given.request)
    return without_retried(instance) if isinstance(given, Retry) else instance


def _arrival(given: Input) -> int:
    if isinstance(given, TimerDue):
        return given.due
    return given.now if isinstance(given, Retry) else given.received_at
