"""Steps in words, one line each: when, who, what, and what came of it."""

from __future__ import annotations

from strabo_runtime.engine.inputs import Message, Start, TimerDue
from strabo_runtime.engine.outputs import Delivery, Outcome, Step
from strabo_runtime.expressions import format_timestamp


def tell(made: Step) -> str:
    """One step as a line, with its deliveries."""
    given = made.input
    now = given.due if isinstance(given, TimerDue) else given.now
    if made.after is not None:
        now = max(now, made.after.now) if made.verdict == "taken" else now
    parts = [f"{format_timestamp(now)}  {_cause(made):<44}  {_effect(made)}"]
    sent = [output for output in made.outputs if isinstance(output, Delivery)]
    if sent:
        parts.append("-> " + ", ".join(f"{delivery.type} to {', '.join(delivery.to)}" for delivery in sent))
    parts += [
        f"=> {output.status}" + (f": {output.error}" if output.error else "")
        for output in made.outputs
        if isinstance(output, Outcome)
    ]
    return "  ".join(parts)


def _cause(made: Step) -> str:
    match made.input:
        case Start(message=None, starter=starter):
            return f"{starter} starts"
        case Start(message=Message(sender=sender, type=kind)):
            return f"{sender} starts with {kind}"
        case Message(sender=sender, type=kind):
            return f"{sender} sends {kind}"
        case TimerDue(key=key):
            return f"{key} is due"
    raise AssertionError(made.input)


def _effect(made: Step) -> str:
    if made.verdict == "taken":
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
