"""A recorded step as people read it: one line with time, instance, move, message, who and effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine.inputs import Message, Start, TimerDue


@dataclass(frozen=True, slots=True)
class StepView:
    """What one step was. Times are milliseconds since the epoch, UTC.

    `name` is the message's type, or what fell due; `sender` who sent it, empty for a timer; `sent_at` None for a timer.
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
    if isinstance(taken, Message):
        return (taken.type, taken.sender, taken.sent_at)
    assert isinstance(taken, TimerDue)
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
    told = [
        f"{output['output']['type']} to {', '.join(output['output']['to'])}"
        for output in step.outputs
        if output["kind"] == "delivery"
    ]
    ends = [f"ends: {outcome['status']}"] if outcome is not None else []
    return "; ".join([*told, *step.logs, *ends]) or "taken"
