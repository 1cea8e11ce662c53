"""The stored form of instances, inputs and changes: small, readable back, and refused where it is something else."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from strabo_runtime.engine import (
    UnreadableState,
    apply_changes,
    decode_input,
    decode_instance,
    encode_input,
    encode_instance,
    step,
)
from tests.unit.engine.driver import Driver, machine_of, shipped

BODY = """
variables: {count: {type: integer, initial: 0}}
states: [idle, {name: busy, timeout: {after: PT10M, to: idle}}, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}, actions: [{set_variable: {name: count, value: "${ count + 1 }"}}]}
  - {from: busy, to: over, trigger: {message: Done}}
"""


def played() -> Driver:
    driver = Driver(machine_of(BODY))
    driver.start()
    driver.send("w1", "Ping")
    driver.send("boss", "Go", {"n": 1})
    return driver


def test_what_is_empty_is_left_out() -> None:
    driver = Driver(machine_of(BODY))
    driver.start()
    assert set(encode_instance(driver.it)) == {
        "id",
        "machine",
        "status",
        "state",
        "revision",
        "starter",
        "start",
        "started_at",
        "now",
        "variables",
        "roles",
        "timers",
        "timers_set",
    }


def test_an_instance_reads_back_equal_with_what_it_remembers_and_its_refusals() -> None:
    driver = played()
    restored = decode_instance(driver.machine, orjson.loads(orjson.dumps(encode_instance(driver.it))))
    assert restored == driver.it
    assert restored.seen.refusals() == driver.it.seen.refusals() != {}


def test_a_fresh_instance_of_the_auction_is_stored_in_under_a_kibibyte() -> None:
    driver = Driver(shipped("task_auction"))
    payload = {
        "task_id": "t1",
        "spec": {"size": 3},
        "budget": 100,
        "deadline": "2030-01-02T00:00:00Z",
        "bidding_duration": "PT5M",
    }
    driver.start("TaskAnnouncement", payload, sender="c1", bound={"Solver": ("s1", "s2", "s3")})
    assert len(orjson.dumps(encode_instance(driver.it))) < 1024


def test_an_instance_of_another_definition_is_refused() -> None:
    stored = encode_instance(played().it)
    with pytest.raises(UnreadableState, match="belongs to the definition"):
        decode_instance(machine_of(BODY + "description: another text\n"), stored)


@pytest.mark.parametrize("broken", [{}, {"id": 1}, {"machine": "x"}])
def test_what_is_no_instance_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(UnreadableState):
        decode_instance(machine_of(BODY), broken)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["revision", "roles", "variables", "timers", "seen", "start"])
def test_a_damaged_instance_is_refused(key: str) -> None:
    driver = played()
    with pytest.raises(UnreadableState):
        decode_instance(driver.machine, {**encode_instance(driver.it), key: "@"} if key != "revision" else {})


def test_inputs_read_back_equal() -> None:
    driver = played()
    driver.fire()
    for made in driver.steps:
        assert decode_input(orjson.loads(orjson.dumps(encode_input(made.input)))) == made.input


@pytest.mark.parametrize(
    "broken", [{}, {"kind": "song"}, {"kind": "message", "id": "x"}, {"kind": "timer", "x": 1}]
)
def test_what_is_no_input_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(UnreadableState):
        decode_input(broken)  # type: ignore[arg-type]


def test_recorded_changes_give_the_instance_after_without_evaluating_anything() -> None:
    driver = played()
    before, made = driver.steps[1].before, driver.steps[1]
    assert apply_changes(driver.machine, before, made.changes) == made.after
    assert ("variables.count", 1) in made.changes


@pytest.mark.parametrize(
    "changes", [[("state.x", 1)], [("nonsense", 1)], [("seen+", [1])], [("timers", [[1]])]]
)
def test_changes_that_make_no_sense_are_refused(changes: list[tuple[str, object]]) -> None:
    driver = played()
    with pytest.raises(UnreadableState):
        apply_changes(driver.machine, driver.it, changes)  # type: ignore[arg-type]
    with pytest.raises(UnreadableState):
        apply_changes(driver.machine, None, changes)  # type: ignore[arg-type]


def test_a_finished_instance_without_variables_and_roles_still_answers() -> None:
    driver = Driver(machine_of(BODY))
    first = driver.start()
    ping = driver.send("w1", "Ping")
    driver.send("w1", "Done")
    stub = replace(driver.it, variables=type(driver.it.variables).of({}), roles={}, starting=None)
    stub = decode_instance(driver.machine, encode_instance(stub))
    again = step(driver.machine, stub, first.input)
    assert again.verdict == "duplicate"
    assert len(again.outputs) == 2
    assert step(driver.machine, stub, ping.input).verdict == "duplicate"
    late = step(driver.machine, stub, driver.message("w2", "Ping"))
    assert late.rejection is not None
    assert late.rejection.by == "finished"
