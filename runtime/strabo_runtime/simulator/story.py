"""Steps in words, one line each: when, who, what, and what came of it."""

from __future__ import annotations

from typing import assert_never

from strabo_runtime.engine.inputs import (
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Input,
    Message,
    Retry,
    Start,
    TimerDue,
)
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
    Step,
)
from strabo_runtime.expressions import format_timestamp


def tell(made: Step) -> str:
    """One step as a line, with what it gave to the world."""
    given = made.input
    now = given.due if isinstance(given, TimerDue) else given.now
    if made.after is not None and made.verdict == "taken":
        now = max(now, made.after.now)
    parts = [f"{format_timestamp(now)}  {_cause(given, made.before):<44}  {_effect(made)}"]
    sent = [output for output in made.outputs if isinstance(output, Delivery)]
    if sent:
        parts.append("-> " + ", ".join(f"{delivery.type} to {', '.join(delivery.to)}" for delivery in sent))
    parts += [text for output in made.outputs if (text := _told(output, made)) is not None]
    return "  ".join(parts)


def sender_and_type(given: Input, before: Instance | None) -> tuple[str, str] | None:
    """Who sent the message that an input is, or retries, and its type (empty for a start without one)."""
    match given:
        case Start(message=message, starter=starter):
            return starter, "" if message is None else message.type
        case Message(sender=sender, type=kind):
            return sender, kind
        case Retry(message=message_id):
            kept = find_deferred(before, message_id)
            return None if kept is None else (kept.sender, kept.type)
        case _:
            return None


def find_deferred(instance: Instance | None, message_id: str) -> Message | None:
    """A deferred message of an instance, by its id."""
    deferred = () if instance is None else instance.deferred
    return next((message for message in deferred if message.id == message_id), None)


def _cause(given: Input, before: Instance | None) -> str:
    match given:
        case Start(message=None, starter=starter):
            return f"{starter} starts"
        case Start(message=Message(sender=sender, type=kind)):
            return f"{sender} starts with {kind}"
        case Start():
            return "a start"
        case Message(sender=sender, type=kind):
            return f"{sender} sends {kind}"
        case Retry(message=message_id):
            kept = find_deferred(before, message_id)
            return f"{message_id} again" if kept is None else f"{kept.type} of {kept.sender} again"
        case TimerDue(key=key):
            return f"{key} is due"
        case ChildFinished(child=child, outcome=outcome):
            return f"{_child(child, before)} ends with {outcome}"
        case ChildEvent(child=child, event=event):
            return f"{_child(child, before)} emits {event}"
        case AgentsFound(agents=agents):
            return f"the directory finds {', '.join(agents) or 'nobody'}"
        case Cancel(by=by, reason=reason):
            return f"{by} cancels: {reason}"
        case _:
            assert_never(given)


def _child(child_id: str, before: Instance | None) -> str:
    known = () if before is None else before.children
    name = next((child.name for child in known if child.id == child_id), None)
    return f"child {child_id if name is None else name}"


def _effect(made: Step) -> str:
    if made.verdict == "taken" and made.micro_steps:
        path = [move.source for move in made.micro_steps[:1]]
        for move in made.micro_steps:
            if move.target != path[-1]:
                path.append(move.target)
        return " -> ".join(path)
    if made.rejection is not None:
        repeat = "again " if made.verdict == "duplicate" else ""
        return f"{repeat}refused ({made.rejection.by}): {made.rejection.text}"
    if made.error is not None:
        return f"failed: {made.error}"
    return made.verdict


def _told(output: Output, made: Step) -> str | None:
    match output:
        case Outcome(status=status, error=error):
            return f"=> {status}" + (f": {error}" if error else "")
        case ChildStart(protocol=protocol, parent=parent):
            return f"+ {parent.name} ({protocol})"
        case ChildCancel(to=to):
            return f"x {_child(to, made.after)}"
        case ParentEvent(event=event):
            return f"^ {event}"
        case BindRequest(role=role, count=count):
            return f"? {count} for {role}"
        case Reply(kind="rejected", in_reply_to=message_id, rejection=rejection) if (
            rejection is not None and message_id != made.input.id
        ):
            kept = find_deferred(made.before, message_id)
            what = message_id if kept is None else f"{kept.type} of {kept.sender}"
            return f"! {what} refused ({rejection.by})"
        case _:
            return None
