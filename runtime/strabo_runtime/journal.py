"""Steps as records of the history, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import orjson

from strabo_avro.records import StepRecord, free_text
from strabo_runtime.engine import (
    EngineError,
    Input,
    Instance,
    Machine,
    Step,
    decode_input,
    decode_instance,
    encode_input,
    encode_instance,
)
from strabo_runtime.engine.inputs import AgentsFound, Start
from strabo_runtime.engine.instance import Change
from strabo_runtime.engine.outputs import (
    BindRequest,
    ChildCancel,
    ChildStart,
    Delivery,
    MicroStep,
    Outcome,
    Output,
    ParentEvent,
    Rejection,
    Reply,
)

SNAPSHOT_EVERY = 1_000
NO_OFFSET = -1
"""The offset of a step whose input did not come from the inbox."""

_KINDS: dict[type, str] = {
    Delivery: "delivery",
    Reply: "reply",
    Outcome: "outcome",
    ChildStart: "child_start",
    ChildCancel: "child_cancel",
    ParentEvent: "parent_event",
    BindRequest: "bind_request",
}


def _engine_version() -> str:
    try:
        return version("strabo")
    except PackageNotFoundError:
        return "unknown"


ENGINE_VERSION = _engine_version()


class UnreadableStep(Exception):
    """A step record whose parts cannot be read."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step record, read. `outputs` are JSON objects as they were recorded, `snapshot` the instance after it.

    `functions` are the versions of the registered functions that the protocol uses.
    """

    instance_id: str
    revision: int
    offset: int
    input: Input
    verdict: str
    now: int
    state_before: str
    state_after: str
    changes: tuple[Change, ...]
    outputs: tuple[dict[str, Any], ...]
    rejection: Rejection | None
    error: str | None
    logs: tuple[str, ...]
    functions: Mapping[str, str]
    snapshot: Instance | None


def record(
    step: Step,
    *,
    instance_id: str,
    protocol: str,
    version: str,
    definition_hash: str,
    partition: int,
    offset: int = NO_OFFSET,
    functions: bytes = b"{}",
) -> StepRecord:
    """The record of a step. `offset` is that of the inbox record that was the input."""
    before, after, taken = step.before, step.after, step.input
    revision = after.revision if after is not None else 0
    moved = after is not None and revision != (before.revision if before is not None else 0)
    return StepRecord(
        instance_id=instance_id,
        revision=revision,
        partition=partition,
        offset=offset,
        input=orjson.dumps(encode_input(taken)),
        verdict=step.verdict,
        now=taken.now,
        facts=_facts(taken),
        transition=_describe(step.micro_steps),
        state_before=before.state if before is not None else "",
        state_after=after.state if after is not None else "",
        changes=orjson.dumps(step.changes),
        outputs=dump_outputs(step.outputs),
        rejection=orjson.dumps(step.rejection) if step.rejection is not None else None,
        error=None if step.error is None else free_text(step.error),
        logs=tuple(free_text(line) for line in _logs(step)),
        definition_hash=definition_hash,
        protocol=protocol,
        version=version,
        engine=ENGINE_VERSION,
        functions=functions,
        snapshot=(
            orjson.dumps(encode_instance(after))
            if after is not None and moved and revision % SNAPSHOT_EVERY == 0
            else None
        ),
    )


def read(stored: StepRecord, machine: Machine | None = None) -> RecordedStep:
    """A step record's parts; the snapshot only with the machine. Raises `UnreadableStep`."""
    try:
        snapshot = None
        if machine is not None and stored.snapshot is not None:
            snapshot = decode_instance(machine, orjson.loads(stored.snapshot))
        rejection = None if stored.rejection is None else orjson.loads(stored.rejection)
        return RecordedStep(
            instance_id=stored.instance_id,
            revision=stored.revision,
            offset=stored.offset,
            input=decode_input(orjson.loads(stored.input)),
            verdict=stored.verdict,
            now=stored.now,
            state_before=stored.state_before,
            state_after=stored.state_after,
            changes=tuple((path, value) for path, value in orjson.loads(stored.changes)),
            outputs=tuple(cast("list[dict[str, Any]]", orjson.loads(stored.outputs))),
            rejection=None if rejection is None else _rejection(rejection),
            error=stored.error,
            logs=stored.logs,
            functions=orjson.loads(stored.functions),
            snapshot=snapshot,
        )
    except (EngineError, KeyError, TypeError, ValueError) as error:
        where = f"step {stored.revision} of {stored.instance_id}"
        raise UnreadableStep(
            f"{where} cannot be read: {error}; its record is damaged, or of another version"
        ) from error


def differences(step: Step, stored: StepRecord) -> tuple[str, ...]:
    """What a step that was taken again has otherwise than its record; empty when it replays to the same."""
    after = step.after
    found = {
        "verdict": (step.verdict, stored.verdict),
        "revision": (after.revision if after is not None else 0, stored.revision),
        "state": (after.state if after is not None else "", stored.state_after),
        "changes": (orjson.dumps(step.changes), stored.changes),
        "outputs": (dump_outputs(step.outputs), stored.outputs),
        "rejection": (None if step.rejection is None else orjson.dumps(step.rejection), stored.rejection),
        "error": (None if step.error is None else free_text(step.error), stored.error),
    }
    return tuple(
        f"{name}: {_text(now)} now, {_text(then)} recorded"
        for name, (now, then) in found.items()
        if now != then
    )


def dump_outputs(outputs: Iterable[Output]) -> bytes:
    """Outputs as a JSON list, each with its `kind`."""
    return orjson.dumps([{"kind": _KINDS[type(output)], "output": output} for output in outputs])


def _facts(taken: Input) -> bytes:
    """What the agent directory answered: for a start by role, for a later question the agents found."""
    if isinstance(taken, Start):
        return orjson.dumps({"bound": taken.bound})
    return orjson.dumps({"found": taken.agents}) if isinstance(taken, AgentsFound) else b"{}"


def _describe(micro_steps: tuple[MicroStep, ...]) -> str:
    return "; ".join(f"{one.trigger or '(automatic)'}: {one.source} -> {one.target}" for one in micro_steps)


def _logs(step: Step) -> tuple[str, ...]:
    if not step.warnings and not step.notes and not any(one.logs for one in step.micro_steps):
        return ()
    logs = tuple(line for one in step.micro_steps for line in one.logs)
    return (
        logs
        + tuple(f"warning: {line}" for line in step.warnings)
        + tuple(f"note: {line}" for line in step.notes)
    )


def _rejection(stored: dict[str, Any]) -> Rejection:
    return Rejection(
        stored["by"], stored["text"], tuple(stored["constraints"]), tuple(stored["descriptions"])
    )


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
