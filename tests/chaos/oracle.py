"""Did everything take effect once and in order? Told from the topics alone: each input is taken again, one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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
from strabo_runtime.engine import (
    Instance,
    Machine,
    apply_changes,
    encode_instance,
    next_due,
    next_retry,
    step,
)
from strabo_runtime.engine.inputs import AgentsFound, ChildFinished, Input, Retry, TimerDue
from strabo_runtime.published import compile_published
from strabo_topics.settings import KafkaSettings
from tests.chaos.records import read_all

BETWEEN_INSTANCES = ("child_start", "child_cancel", "parent_event")


@dataclass
class Report:
    """What was found. `problems` is empty when all is well."""

    problems: list[str] = field(default_factory=list)
    inputs: int = 0
    steps: int = 0
    timers: int = 0
    answers: int = 0
    retries: int = 0
    told_to_instances: int = 0
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
    _check_instances_were_told(inbox, told, report)
    _check_answers(told, report)
    _check_children(report)
    await _check_state(settings, inbox, machines, report)
    await _check_deliveries(settings, told, machines, report)
    return report


async def _machines(settings: KafkaSettings) -> dict[str, Machine]:
    found = {}
    for record in await read_all(settings, settings.names.definitions):
        definition = decode(record.value, Definition)
        machine = compile_published(definition)
        assert isinstance(machine, Machine), machine
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
        if before is None and (stored.rejection is not None or stored.verdict == "ignored"):
            # There was nothing to take it: nothing comes of it but the answer.
            report.refused += stored.rejection is not None
            told.update(_told(orjson.loads(stored.outputs), told))
            continue
        if machine is None:
            report.problems.append(f"{where} has no definition")
            continue
        recorded = journal.read(stored, machine)
        _count(recorded.input, report)
        if before is not None and before.status == "running":
            due = next_due(before)
            if stored.offset >= 0 and due is not None and due[1] < received[stored.partition, stored.offset]:
                report.problems.append(f"{where} overtook the timer {due[0]}, which was due before it")
            if not isinstance(recorded.input, Retry) and next_retry(before, recorded.now) is not None:
                report.problems.append(f"{where} overtook a deferred message")
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
        told.update(_told(recorded.outputs, told))
    return told


def _told(outputs: Iterable[dict[str, Any]], told: dict[str, bytes]) -> dict[str, bytes]:
    """What was not told before, by its id."""
    found = {output["output"]["id"]: orjson.dumps(output) for output in outputs}
    return {one: output for one, output in found.items() if one not in told}


def _count(taken: Input, report: Report) -> None:
    report.timers += isinstance(taken, TimerDue)
    report.retries += isinstance(taken, Retry)
    report.answers += isinstance(taken, AgentsFound)


def _check_instances_were_told(inbox: list[ConsumerRecord], told: dict[str, bytes], report: Report) -> None:
    """What an instance says to its child or parent stands in the inbox once, and nothing else of that kind does."""
    wanted = {one: orjson.loads(output) for one, output in told.items()}
    between = {
        one: output["output"]
        for one, output in wanted.items()
        if output["kind"] in BETWEEN_INSTANCES
        or (output["kind"] == "outcome" and output["output"]["to_parent"])
    }
    found: Counter[str] = Counter()
    for record in inbox:
        envelope = decode(record.value, Envelope)
        by_instance = envelope.sender in report.instances
        if not by_instance:
            continue
        found[envelope.id] += 1
        if envelope.id in between and envelope.instance_id != between[envelope.id]["to"]:
            report.problems.append(f"{envelope.id} went to {envelope.instance_id}")
    report.told_to_instances = len(found)
    report.problems += [
        f"{one} was never written to the inbox" for one in sorted(between.keys() - found.keys())[:5]
    ]
    report.problems += [
        f"{one} in the inbox belongs to no step" for one in sorted(found.keys() - between.keys())[:5]
    ]
    report.problems += [f"{one} was written {count} times" for one, count in found.items() if count > 1]


def _check_answers(told: dict[str, bytes], report: Report) -> None:
    """Each question to the directory was answered once, unless the instance ended before."""
    questions = {
        one: one.rsplit(":", 3)[0]
        for one, output in told.items()
        if orjson.loads(output)["kind"] == "bind_request"
    }
    answered = Counter(taken.request for _, taken in report.taken if isinstance(taken, AgentsFound))
    for question, instance_id in questions.items():
        count = answered[question]
        if count > 1 or (count == 0 and report.instances[instance_id].status == "running"):
            report.problems.append(f"the question {question} was answered {count} times")
    report.problems += [f"nobody asked {one}" for one in answered.keys() - questions.keys()]


def _check_children(report: Report) -> None:
    """Each child's end was taken once, or its parent was over."""
    ends = Counter(taken.child for _, taken in report.taken if isinstance(taken, ChildFinished))
    for instance in report.instances.values():
        for child in instance.children:
            over = child.status != "running"
            if ends[child.id] != over:
                report.problems.append(f"{instance.id} took the end of {child.id} {ends[child.id]} times")
            known = report.instances.get(child.id)
            if instance.status == "running" and known is not None and known.status != child.status:
                report.problems.append(f"{instance.id} holds {child.id} for {child.status}")


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
