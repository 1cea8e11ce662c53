"""Recorded histories replay to the same bytes, and their changes alone give the same instances, for ever."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import orjson
import pytest

from strabo_avro.codec import decode, encode
from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine import Input, Machine, Output, apply_changes, recover, step
from strabo_runtime.engine.instance import Instance
from strabo_runtime.history_file import History, history_lines, read_history
from strabo_runtime.replay_machine import AS_RECORDED, machine_for
from strabo_runtime.replaying import replay_history, replay_records

FILES = sorted(Path(__file__).parent.glob("*.jsonl"))
NOT_OF_THE_STEP = {"engine"}


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name.removesuffix(".jsonl"))
def history(request: pytest.FixtureRequest) -> History:
    return read_history(request.param)


@pytest.fixture(scope="module")
def machine(history: History) -> Machine:
    return machine_for(history, AS_RECORDED).machine


def test_a_history_replays_to_the_same_result(history: History) -> None:
    report = replay_history(history)
    assert report.difference is None
    assert report.told == ()
    assert report.steps + report.refusals == len(history.records)


def test_every_record_comes_out_byte_for_byte(history: History, machine: Machine) -> None:
    instance: Instance | None = None
    for stored in history.records:
        made = step(machine, instance, journal.read(stored).input)
        instance = made.after
        again = journal.record(
            made,
            instance_id=stored.instance_id,
            protocol=machine.name,
            version=machine.version,
            definition_hash=machine.hash,
            partition=stored.partition,
            offset=stored.offset,
            functions=orjson.dumps(dict(machine.functions)),
        )
        for field in fields(StepRecord):
            if field.name not in NOT_OF_THE_STEP:
                assert getattr(again, field.name) == getattr(stored, field.name), field.name


def test_recorded_changes_alone_give_the_instance_at_every_step(history: History, machine: Machine) -> None:
    stepped: Instance | None = None
    applied: Instance | None = None
    for stored in history.records:
        taken = journal.read(stored)
        stepped = step(machine, stepped, taken.input).after
        if taken.changes:
            applied = apply_changes(machine, applied, taken.changes)
        assert applied == stepped
    recovered = recover(machine, None, [journal.read(stored).changes for stored in history.records])
    assert recovered == stepped


def test_a_replay_stops_at_any_step(history: History, machine: Machine) -> None:
    for stored in history.records:
        if stored.revision:
            report = replay_records(machine, history.instance_id, history.records, at=stored.revision)
            assert report.difference is None
            assert report.instance is not None
            assert report.instance.revision == stored.revision


def test_a_file_gives_back_the_bytes_that_were_recorded(
    history: History, request: pytest.FixtureRequest
) -> None:
    path = request.node.callspec.params["history"]
    assert b"".join(line + b"\n" for line in history_lines(history)) == path.read_bytes()


def test_every_record_survives_its_way_through_avro(history: History) -> None:
    for stored in history.records:
        assert decode(encode(stored), StepRecord) == stored


def test_every_kind_of_input_verdict_and_output_is_recorded() -> None:
    kinds: set[str] = set()
    verdicts: set[str] = set()
    outputs: set[str] = set()
    for path in FILES:
        for stored in read_history(path).records:
            taken = journal.read(stored)
            kinds.add(type(taken.input).__name__)
            verdicts.add(taken.verdict)
            outputs |= {output["kind"] for output in taken.outputs}
    assert kinds == {kind.__name__ for kind in get_args(Input)}
    assert verdicts == {"taken", "duplicate", "ignored", "deferred", "rejected", "failed"}
    assert len(outputs) == len(get_args(Output))
