"""Did everything take effect once and in order? Told from the topics alone: each input is taken again, one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import orjson
from aiokafka import ConsumerRecord

from strabo_avro.codec import decode
from strabo_avro.records import (
    OWNER_PREFIX,
    POSITION_KEY,
    Definition,
    Envelope,
    InstanceState,
    Position,
    StepRecord,
)
from strabo_runtime import journal
from strabo_runtime.engine import Instance, Machine, apply_changes, encode_instance, next_due, step
from strabo_runtime.engine.inputs import Input, TimerDue
from strabo_runtime.language import load
from strabo_topics.settings import KafkaSettings
from tests.chaos.records import read_all


@dataclass
class Report:
    """What was found. `problems` is empty when all is well."""

    problems: list[str] = field(default_factory=list)
    inputs: int = 0
    steps: int = 0
    timers: int = 0
    refused: int = 0
    dead_letters: int = 0
    instances: dict[str, Instance] = field(default_factory=dict)
    taken: list[tuple[str, Input]] = field(default_factory=list)


async def examine(settings: KafkaSettings) -> Report:
    """Examine a namespace in which nothing goes on any more."""
    names = settings.names
    report = Report()
    machines = await _machines(settings)
    inbox = await read_all(settings, names.inbox)
    events = await read_all(settings, names.events)
    report.inputs, report.steps = len(inbox), len(events)
    report.dead_letters = len(await read_all(settings, names.deadletter))
    _check_each_input_has_one_step(inbox, events, report)
    told = _replay(inbox, events, machines, report)
    await _check_state(settings, inbox, machines, report)
    await _check_deliveries(settings, told, machines, report)
    return report


async def _machines(settings: KafkaSettings) -> dict[str, Machine]:
    found = {}
    for record in await read_all(settings, settings.names.definitions):
        definition = decode(record.value, Definition)
        machine = load(definition.text, filename=definition.name).machine
        assert machine is not None
        found[definition.hash] = machine
    return found


def _check_each_input_has_one_step(
    inbox: list[ConsumerRecord], events: list[ConsumerRecord], report: Report
) -> None:
    stepped: dict[int, list[int]] = defaultdict(list)
    for record in events:
        stored = decode(record.value, StepRecord)
        if stored.offset >= 0:
            stepped[record.partition].append(stored.offset)
            if stored.partition != record.partition:
                report.problems.append(f"a step of partition {stored.partition} stands in {record.partition}")
    asked: dict[int, list[int]] = defaultdict(list)
    for record in inbox:
        asked[record.partition].append(record.offset)
    for partition in asked.keys() | stepped.keys():
        if asked[partition] != stepped[partition]:
            counted = Counter(stepped[partition])
            twice = [offset for offset, count in counted.items() if count > 1]
            missing = sorted(set(asked[partition]) - set(stepped[partition]))
            order = stepped[partition] != sorted(stepped[partition])
            report.problems.append(
                f"partition {partition}: inputs {missing[:5]} have no step, {twice[:5]} have several, "
                f"order {'broken' if order else 'kept'}"
            )


def _replay(
    inbox: list[ConsumerRecord], events: list[ConsumerRecord], machines: dict[str, Machine], report: Report
) -> dict[str, bytes]:
    """Take every recorded input again; returns id → output of all that was told."""
    received = {(record.partition, record.offset): record.timestamp for record in inbox}
    instances = report.instances
    told: dict[str, bytes] = {}
    for record in events:
        stored = decode(record.value, StepRecord)
        where = f"step {stored.revision} of {stored.instance_id} ({stored.verdict})"
        machine = machines.get(stored.definition_hash)
        before = instances.get(stored.instance_id)
        if before is None and stored.rejection is not None:
            # Refused before there was anything to take it: nothing comes of it but the answer.
            report.refused += 1
            continue
        if machine is None:
            report.problems.append(f"{where} has no definition")
            continue
        recorded = journal.read(stored, machine)
        if isinstance(recorded.input, TimerDue):
            report.timers += 1
        elif before is not None and before.status == "running":
            due = next_due(before)
            if due is not None and due[1] < received[stored.partition, stored.offset]:
                report.problems.append(f"{where} overtook the timer {due[0]}, which was due before it")
        again = step(machine, before, recorded.input)
        report.problems += [f"{where} replays otherwise: {one}" for one in journal.differences(again, stored)]
        report.refused += again.verdict == "rejected"
        if again.verdict == "taken":
            report.taken.append((stored.instance_id, recorded.input))
        if again.after is not None:
            over = before is not None and before.status != "running"
            if again.verdict == "taken" and apply_changes(machine, before, recorded.changes) != again.after:
                report.problems.append(f"{where}: its recorded changes do not give the state after it")
            if not over:
                instances[stored.instance_id] = again.after
        for output in recorded.outputs:
            told.setdefault(output["output"]["id"], orjson.dumps(output))
    return told


async def _check_state(
    settings: KafkaSettings, inbox: list[ConsumerRecord], machines: dict[str, Machine], report: Report
) -> None:
    states: dict[str, InstanceState] = {}
    positions: dict[int, list[int]] = defaultdict(list)
    contents: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for record in await read_all(settings, settings.names.state):
        if record.key == POSITION_KEY:
            positions[record.partition].append(decode(record.value, Position).position)
        elif record.key.startswith(OWNER_PREFIX):
            continue
        elif record.value is None:
            states.pop(record.key.decode(), None)
        else:
            state = decode(record.value, InstanceState)
            states[state.instance_id] = state
            contents[state.instance_id, state.revision].add(state.data)
    for partition, found in positions.items():
        if found != sorted(found):
            report.problems.append(f"partition {partition}: its position went back")
    for partition in {record.partition for record in inbox}:
        last = max(record.offset for record in inbox if record.partition == partition)
        if not positions[partition] or positions[partition][-1] <= last:
            report.problems.append(f"partition {partition}: the position stands before its last input")
    for instance_id, instance in report.instances.items():
        state = states.get(instance_id)
        if state is None:
            report.problems.append(f"{instance_id} is not in the state topic")
        elif (state.revision, state.status, state.state) != (
            instance.revision,
            instance.status,
            instance.state,
        ):
            report.problems.append(
                f"{instance_id} is stored as {state.status} in {state.state}, revision {state.revision}"
            )
        elif instance.status == "running" and orjson.loads(state.data) != orjson.loads(
            orjson.dumps(encode_instance(instance))
        ):
            report.problems.append(f"{instance_id} is stored otherwise than its steps make it")
    report.problems += [
        f"{one} is stored and has no steps" for one in states.keys() - report.instances.keys()
    ]


async def _check_deliveries(
    settings: KafkaSettings, told: dict[str, bytes], machines: dict[str, Machine], report: Report
) -> None:
    wanted = {one: orjson.loads(output) for one, output in told.items()}
    deliveries = {one for one, output in wanted.items() if output["kind"] == "delivery"}
    seen: Counter[str] = Counter()
    topics = {
        settings.names.role(machine.name, role.name)
        for machine in machines.values()
        for role in machine.roles.values()
        if role.played_by != "engine"
    }
    for topic in sorted(topics):
        last: dict[str, tuple[int, int]] = {}
        for record in await read_all(settings, topic):
            envelope = decode(record.value, Envelope)
            seen[envelope.id] += 1
            if (
                envelope.id in wanted
                and orjson.loads(envelope.payload) != wanted[envelope.id]["output"]["payload"]
            ):
                report.problems.append(f"delivery {envelope.id} has two contents")
            place = _place(envelope.id)
            if place is not None:
                if place <= last.get(envelope.instance_id, (-1, -1)):
                    report.problems.append(f"delivery {envelope.id} stands out of order")
                last[envelope.instance_id] = place
    report.problems += [f"delivery {one} was never made" for one in sorted(deliveries - seen.keys())[:5]]
    report.problems += [f"delivery {one} belongs to no step" for one in sorted(seen.keys() - deliveries)[:5]]
    report.problems += [f"delivery {one} was made {count} times" for one, count in seen.items() if count > 1]


def _place(delivery_id: str) -> tuple[int, int] | None:
    _instance, *place = delivery_id.rsplit(":", 2)
    return (
        (int(place[0]), int(place[1])) if len(place) == 2 and all(part.isdigit() for part in place) else None
    )
