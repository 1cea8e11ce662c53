"""Play an instance again from its recorded inputs, and say whether every step comes out the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine import Instance, Machine, encode_instance, step
from strabo_runtime.errors import NotFound, NotReplayable
from strabo_runtime.history import steps_of
from strabo_runtime.instances import machine_of
from strabo_runtime.step_view import StepView, view_line
from strabo_topics.settings import KafkaSettings


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What came of a replay: so many steps were played, and inputs that were refused or failed.

    `difference` names the first that came out otherwise, None when none did; `instance` is how it stood after the last.
    """

    instance_id: str
    steps: int
    refusals: int
    instance: Instance | None
    difference: str | None
    shown: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The report for people."""
        lines = list(self.shown)
        if self.difference is not None:
            return [*lines, f"{self.instance_id}: {self.difference}"]
        lines.append(
            f"{self.instance_id}: {self.steps} steps and {self.refusals} refusals replay to the same result"
        )
        if self.instance is not None:
            stands = f"state {self.instance.state}, {self.instance.status}, revision {self.instance.revision}"
            variables = orjson.dumps(self.instance.variables.to_json(), option=orjson.OPT_INDENT_2).decode()
            lines += [stands, f"variables {variables}"]
        return lines

    def to_json(self) -> dict[str, object]:
        """The report for tools."""
        return {
            "instance": self.instance_id,
            "steps": self.steps,
            "refusals": self.refusals,
            "difference": self.difference,
            "state": self.instance.state if self.instance else None,
            "snapshot": encode_instance(self.instance) if self.instance else None,
        }


async def replay_instance(
    settings: KafkaSettings, instance_id: str, *, at: int | None = None
) -> ReplayReport:
    """Replay an instance from its history, up to revision `at` (None: to its end).

    Raises:
        NotFound: there is no such instance.
        NotReplayable: its definition is not published here.
        BrokerUnreachable: Kafka does not answer.
    """
    recorded = await steps_of(settings, instance_id)
    if not recorded:
        raise NotFound(f"no instance {instance_id!r} has a history in namespace {settings.namespace}")
    machine = await _machine(settings, recorded[0])
    return replay_records(machine, instance_id, recorded, at=at)


def replay_records(
    machine: Machine, instance_id: str, records: Sequence[StepRecord], *, at: int | None = None
) -> ReplayReport:
    """Replay recorded steps with a machine that is at hand."""
    instance: Instance | None = None
    shown: list[str] = []
    steps = refusals = 0
    for stored in records:
        if at is not None and stored.revision > at:
            break
        again = step(machine, instance, journal.read(stored, machine).input)
        found = journal.differences(again, stored)
        if found:
            difference = f"step {stored.revision} comes out otherwise: {'; '.join(found)}"
            return ReplayReport(instance_id, steps, refusals, instance, difference, tuple(shown))
        moved = again.after is not None and (instance is None or again.after.revision > instance.revision)
        steps += moved
        refusals += not moved
        instance = again.after
        shown.append(view_line(StepView.of(stored)))
    return ReplayReport(instance_id, steps, refusals, instance, None, tuple(shown))


async def _machine(settings: KafkaSettings, stored: StepRecord) -> Machine:
    machine = await machine_of(settings, stored.protocol, stored.definition_hash)
    if machine is None:
        raise NotReplayable(
            f"the definition {stored.protocol} {stored.version} ({stored.definition_hash}) is not published in "
            f"namespace {settings.namespace}, or cannot be read by this version"
        )
    return machine
