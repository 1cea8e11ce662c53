"""A recorded step as people read it: one line with time, instance, move, message, who and effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine.inputs import (
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Message,
    Retry,
    Start,
)

DIRECTORY = "(directory)"


@dataclass(frozen=True, slots=True)
class StepView:
    """What one step was. Times are milliseconds since the epoch, UTC.

    `name` is the message's type, or what fell due, was told or asked; `sender` who sent it, empty for a timer and for a
    deferred message that is tried again; `sent_at` is None for all but messages.
    `path` is every state that it went through, the first being where it began; `effect` says what came of it.
    `ends` is true when the instance is over after it.
    """

    instance_id: str
    revision: int
    now: int
    name: str
    sender: str
    sent_at: int | None
    verdict: str
    path: tuple[str, ...]
    effect: str
    ends: bool

    @classmethod
    def of(cls, stored: StepRecord) -> StepView:
        """The view of a record.

        Raises:
            UnreadableStep: a part of the record cannot be read.
        """
        step = journal.read(stored)
        name, sender, sent_at = _input(step)
        outcome = next((output["output"] for output in step.outputs if output["kind"] == "outcome"), None)
        return cls(
            instance_id=stored.instance_id,
            revision=stored.revision,
            now=stored.now,
            name=name,
            sender=sender,
            sent_at=sent_at,
            verdict=stored.verdict,
            path=_path(stored),
            effect=_effect(step, outcome),
            ends=outcome is not None,
        )


def view_line(view: StepView) -> str:
    """The view as one line of fixed columns."""
    move = " → ".join(view.path) if view.path else "-"
    return (
        f"{clock_text(view.now)}  {view.instance_id:<12} {move:<38} {view.name:<26} "
        f"{view.sender or '(time)':<10} {view.effect}"
    ).rstrip()


def moment_text(at: int) -> str:
    """A time with its date and zone, local, to the second."""
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def clock_text(at: int) -> str:
    """A time of today's clock, local, with milliseconds."""
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%H:%M:%S.") + f"{at % 1000:03d}"


def _input(step: journal.RecordedStep) -> tuple[str, str, int | None]:
    taken = step.input
    if isinstance(taken, Start):
        message = taken.message
        return (message.type if message else "start", taken.starter, message.sent_at if message else None)
    match taken:
        case Message():
            return (taken.type, taken.sender, taken.sent_at)
        case Retry():
            return (f"again {taken.message}", "", None)
        case ChildFinished():
            return (f"child ended: {taken.outcome}", taken.child, None)
        case ChildEvent():
            return (taken.event, taken.child, None)
        case AgentsFound():
            return ("agents found", DIRECTORY, None)
        case Cancel():
            return ("cancel", taken.by, None)
    return (taken.key.removeprefix("timer:"), "", None)


def _path(stored: StepRecord) -> tuple[str, ...]:
    """Every state on the way, repeats left out; a step that stayed has one."""
    path = [stored.state_before] if stored.state_before else []
    for move in stored.transition.split("; ") if stored.transition else []:
        source, _, target = move.rpartition(": ")[2].partition(" -> ")
        path += [source, target]
    return tuple(state for state, before in zip(path, ["", *path], strict=False) if state and state != before)


def _effect(step: journal.RecordedStep, outcome: dict[str, object] | None) -> str:
    if step.rejection is not None:
        reasons = "; ".join(text for text in step.rejection.descriptions if text) or step.rejection.text
        names = f" ({', '.join(step.rejection.constraints)})" if step.rejection.constraints else ""
        return f"refused: {reasons}{names}"
    if step.error is not None:
        return f"failed: {step.error}"
    if step.verdict != "taken":
        return step.verdict
    told = [text for output in step.outputs if (text := _told(output["kind"], output["output"]))]
    ends = [f"ends: {outcome['status']}"] if outcome is not None else []
    return "; ".join([*told, *step.logs, *ends]) or "taken"


def _told(kind: str, output: dict[str, Any]) -> str:
    """What one output was, in words; nothing for answers and outcomes, of which the rest of the line speaks."""
    match kind:
        case "delivery":
            return f"{output['type']} to {', '.join(output['to'])}"
        case "child_start":
            return f"starts {output['protocol']} as {output['to']}"
        case "child_cancel":
            return f"cancels {output['to']}"
        case "parent_event":
            return f"{output['event']} to parent {output['to']}"
        case "bind_request":
            return f"seeks {output['count']} for {output['role']}"
    return ""
