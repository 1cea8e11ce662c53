"""Play an instance again from its recorded inputs, and say whether every step comes out the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import orjson

from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine import EngineError, Instance, Machine, Step, encode_instance, recover, step
from strabo_runtime.engine.instance import Change
from strabo_runtime.errors import NotFound, NotReplayable
from strabo_runtime.expressions.types import Json
from strabo_runtime.history import steps_of
from strabo_runtime.history_file import History, found_nothing
from strabo_runtime.published import pinned
from strabo_runtime.replay_machine import AS_RECORDED, Allowed, machine_for
from strabo_runtime.step_view import StepView, view_line
from strabo_topics.definitions import read_definitions
from strabo_topics.settings import KafkaSettings

_COMPARED: Final = (
    "verdict",
    "revision",
    "now",
    "state_before",
    "state_after",
    "transition",
    "error",
    "rejection",
    "changes",
    "outputs",
    "logs",
    "facts",
    "snapshot",
)
"""The parts of a record that must come out the same, in the order in which the first difference says most."""

_ABSENT = "(nothing)"


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a step first comes out otherwise. `place` counts the recorded inputs from 1, refused ones included."""

    place: int
    revision: int
    field: str
    recorded: Json
    now: Json

    def __str__(self) -> str:
        return (
            f"input {self.place} (step {self.revision}) comes out otherwise: {self.field}: "
            f"{_text(self.recorded)} recorded, {_text(self.now)} now"
        )


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What came of a replay: so many steps, and (`refusals`) inputs that moved nothing: refused, deferred, repeated.

    `difference` names the first that came out otherwise, None when none did; `instance` is how it stood after the last
    that did not. `told` says what was not as recorded, and was allowed.
    """

    instance_id: str
    steps: int
    refusals: int
    instance: Instance | None
    difference: Difference | None
    shown: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The report for people."""
        lines = [*self.told, *self.shown]
        if self.difference is not None:
            return [*lines, f"{self.instance_id}: {self.difference}"]
        lines.append(
            f"{self.instance_id}: {self.steps} steps, and {self.refusals} inputs that moved nothing, "
            "replay to the same result"
        )
        if self.instance is not None:
            stands = f"state {self.instance.state}, {self.instance.status}, revision {self.instance.revision}"
            variables = orjson.dumps(self.instance.variables.to_json(), option=orjson.OPT_INDENT_2).decode()
            lines += [stands, f"variables {variables}"]
        return lines

    def to_json(self) -> dict[str, object]:
        """The report for tools."""
        found = self.difference
        return {
            "instance": self.instance_id,
            "steps": self.steps,
            "refusals": self.refusals,
            "told": list(self.told),
            "difference": None
            if found is None
            else {
                "input": found.place,
                "step": found.revision,
                "field": found.field,
                "recorded": found.recorded,
                "now": found.now,
            },
            "state": self.instance.state if self.instance else None,
            "snapshot": encode_instance(self.instance) if self.instance else None,
        }


async def recorded_history(settings: KafkaSettings, instance_id: str) -> History:
    """An instance's history from the topics, with the published definition that it was taken under.

    Raises:
        NotFound: there is no such instance.
        NotReplayable: its definition is not published here.
        BrokerUnreachable: Kafka does not answer.
    """
    records = await steps_of(settings, instance_id)
    if not records:
        raise NotFound(f"no instance {instance_id!r} has a history in namespace {settings.namespace}")
    first = next((record for record in records if not found_nothing(record)), None)
    if first is None:
        raise NotReplayable(
            f"the instance {instance_id!r} was never started: all that came for it was refused"
        )
    for definition in (await read_definitions(settings)).values():
        if (definition.name, definition.hash) == (first.protocol, first.definition_hash):
            return History(
                instance_id,
                first.protocol,
                first.version,
                first.definition_hash,
                definition.text,
                tuple(records),
                orjson.loads(first.functions),
                pinned(definition.children),
            )
    raise NotReplayable(
        f"the definition {first.protocol} {first.version} ({first.definition_hash}) is not published in "
        f"namespace {settings.namespace}"
    )


def replay_history(
    history: History, *, at: int | None = None, allowed: Allowed = AS_RECORDED, text: str | None = None
) -> ReplayReport:
    """Replay a history up to revision `at` (None: to its end), on its own definition or on another protocol's text.

    Raises:
        NotReplayable: the definition or a function is not as recorded, and that is not allowed.
        UnreadableStep: a step cannot be read.
    """
    chosen = machine_for(history, allowed, text)
    report = replay_records(chosen.machine, history.instance_id, history.records, at=at)
    return replace(report, told=(*chosen.told, *report.told))


def replay_records(
    machine: Machine, instance_id: str, records: Sequence[StepRecord], *, at: int | None = None
) -> ReplayReport:
    """Replay recorded steps with a machine that is at hand, and recover the instance by their changes alone.

    Where the first steps are gone, as a topic forgets them, the replay begins at the oldest snapshot. Inputs that found
    no instance are left out.
    """
    start, skipped = _beginning(machine, instance_id, records)
    instance = start
    shown: list[str] = []
    changes: list[tuple[Change, ...]] = []
    steps = refusals = aimless = 0
    found: Difference | None = None
    for place, stored in enumerate(records[skipped:], start=skipped + 1):
        if at is not None and stored.revision > at:
            break
        if found_nothing(stored):
            aimless += 1
            continue
        if not stored.state_before:
            # An id may be used again once its instance is forgotten.
            start, instance, changes = None, None, []
        recorded = _under(machine, stored)
        taken = journal.read(recorded)
        again = step(machine, instance, taken.input)
        found = _difference(place, recorded, _record(again, recorded))
        if found is not None:
            break
        changes.append(taken.changes)
        moved = again.after is not None and (instance is None or again.after.revision > instance.revision)
        steps += moved
        refusals += not moved
        instance = again.after
        shown.append(view_line(StepView.of(stored)))
    if found is None:
        found = _recovery_difference(machine, start, changes, instance, len(records))
    told = []
    if skipped:
        told.append(f"the first {skipped} inputs are left out: the history begins after a snapshot")
    if aimless:
        told.append(f"{aimless} inputs found no instance, and are left out")
    return ReplayReport(instance_id, steps, refusals, instance, found, tuple(shown), tuple(told))


def _beginning(
    machine: Machine, instance_id: str, records: Sequence[StepRecord]
) -> tuple[Instance | None, int]:
    """The instance to begin with, and how many records it leaves out."""
    if not records or not records[0].state_before:
        return None, 0
    for place, stored in enumerate(records, start=1):
        if stored.snapshot is not None:
            return journal.read(_under(machine, stored), machine).snapshot, place
    raise NotReplayable(
        f"the history of {instance_id} begins with step {records[0].revision} and holds no snapshot: "
        "its first steps are gone"
    )


def _under(machine: Machine, stored: StepRecord) -> StepRecord:
    """The record as it would be under this definition: a new instance and a snapshot name their definition."""
    if stored.definition_hash == machine.hash:
        return stored
    changes = orjson.loads(stored.changes)
    for path, value in changes:
        if path == "instance":
            value["machine"] = machine.hash
    snapshot = None if stored.snapshot is None else orjson.loads(stored.snapshot) | {"machine": machine.hash}
    return replace(
        stored,
        changes=orjson.dumps(changes),
        snapshot=None if snapshot is None else orjson.dumps(snapshot),
    )


def _record(again: Step, stored: StepRecord) -> StepRecord:
    return journal.record(
        again,
        instance_id=stored.instance_id,
        protocol=stored.protocol,
        version=stored.version,
        definition_hash=stored.definition_hash,
        partition=stored.partition,
        offset=stored.offset,
        functions=stored.functions,
    )


# -- differences ------------------------------------------------------------------------------------------------------


def _difference(place: int, recorded: StepRecord, now: StepRecord) -> Difference | None:
    for field in _COMPARED:
        before, after = getattr(recorded, field), getattr(now, field)
        if before == after:
            continue
        path, then, comes = _first(_json(before), _json(after), field)
        return Difference(place, recorded.revision, path, then, comes)
    return None


def _recovery_difference(
    machine: Machine,
    start: Instance | None,
    changes: Sequence[Sequence[Change]],
    instance: Instance | None,
    place: int,
) -> Difference | None:
    """Whether the recorded changes alone, which is how a worker recovers, give the same instance."""
    try:
        recovered = recover(machine, start, changes)
    except EngineError as error:
        return Difference(place, 0, "recovery", str(error), None)
    before = None if recovered is None else cast("Json", encode_instance(recovered))
    after = None if instance is None else cast("Json", encode_instance(instance))
    if before == after:
        return None
    path, then, comes = _first(before, after, "recovery")
    return Difference(place, 0 if instance is None else instance.revision, path, then, comes)


def _first(recorded: Json, now: Json, path: str) -> tuple[str, Json, Json]:
    """The first part of two values that differs: its path, and what it is in each."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in (*recorded, *now):
            before, after = recorded.get(key, _ABSENT), now.get(key, _ABSENT)
            if before != after:
                return _first(before, after, f"{path}.{key}")
    if isinstance(recorded, list) and isinstance(now, list):
        for index in range(max(len(recorded), len(now))):
            before = recorded[index] if index < len(recorded) else _ABSENT
            after = now[index] if index < len(now) else _ABSENT
            if before != after:
                return _first(before, after, f"{path}[{index}]")
    if recorded == now:
        return f"{path} (the order of its keys)", recorded, now
    return path, recorded, now


def _json(value: object) -> Json:
    if isinstance(value, bytes):
        return cast("Json", orjson.loads(value))
    return list(value) if isinstance(value, tuple) else cast("Json", value)


def _text(value: Json) -> str:
    return _ABSENT if value == _ABSENT else orjson.dumps(value).decode()
