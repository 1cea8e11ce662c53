"""The stored form of instances, inputs and changes: small, readable back, and refused where it is something else."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from strabo_runtime.engine import (
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Debt,
    Input,
    Message,
    Parent,
    Retry,
    Start,
    TimerDue,
    UnreadableState,
    apply_changes,
    decode_input,
    decode_instance,
    encode_input,
    encode_instance,
    recover,
    step,
)
from strabo_runtime.engine.snapshot import decode_debts
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


def test_a_form_stored_before_there_were_children_and_blocks_of_ids_still_reads() -> None:
    driver = played()
    stored = encode_instance(driver.it)
    stored["seen"] = "".join(stored["seen"])  # type: ignore[arg-type]
    restored = decode_instance(driver.machine, stored)
    assert restored == driver.it
    assert (restored.children, restored.deferred, restored.parent, restored.retry) == ((), (), None, None)


def test_a_debt_stored_before_there_were_replacements_still_reads() -> None:
    row = ["w1", "Worker", 0, 5, None, 0, None, None, 0, None]
    assert decode_debts([row]) == (Debt("w1", "Worker", 0, 5),)


def test_the_stored_form_of_an_old_instance_is_the_same_however_it_came_to_be() -> None:
    driver = Driver(machine_of(BODY + "limits: {steps: 3000}\n"))
    driver.start()
    for number in range(1300):
        driver.now += 1
        driver.send("w1", "Ping")
        if number % 170 == 0:
            stored = orjson.loads(orjson.dumps(encode_instance(driver.it)))
            driver.instance = decode_instance(driver.machine, stored)
            assert encode_instance(driver.it) == stored
    again = None
    for made in driver.steps:
        again = step(driver.machine, again, made.input).after
    assert again is not None
    assert encode_instance(again) == encode_instance(driver.it)
    assert recover(driver.machine, None, [made.changes for made in driver.steps]) == again


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


EVERY_KIND: list[Input] = [
    ChildFinished("a", "i:1:child:0", "success", {"x": [1]}, None, 5, 6),
    ChildFinished("a", "i:1:child:0", "failure", None, "x", 5, 6),
    ChildEvent("a", "i:1:child:0", "Odd", {"x": 1}, 5, 6),
    AgentsFound("a", "i:1:bind:0", ("w1", "w2"), 5, 6),
    Cancel("a", "ops", "why", 5, 6),
    Retry("a", "m1", 6),
    Start("s", "i", "p", 5, 6, None, {"A": ("a",)}, {}, inputs={"n": 1}, parent=Parent("p", "kid", 3, True)),
]
MESSAGE = Message("m", "w1", "Ping", {}, 5, 6, 4, "Worker", ("boss",), "m0", "ann")
TIMER = TimerDue("t", "deadline", 5, 6)


@pytest.mark.parametrize("given", EVERY_KIND, ids=lambda given: type(given).__name__)
def test_an_input_of_every_kind_reads_back_equal(given: Input) -> None:
    assert decode_input(orjson.loads(orjson.dumps(encode_input(given)))) == given


def test_a_start_without_inputs_and_parent_is_stored_as_it_was_before_there_were_any() -> None:
    stored = encode_input(Start("s", "i", "p", 5, 6, None, {}, {}))
    assert "inputs" not in stored
    assert "parent" not in stored
    assert decode_input(stored) == Start("s", "i", "p", 5, 6, None, {}, {})


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


@pytest.mark.parametrize("given", [*EVERY_KIND, MESSAGE, TIMER], ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("odd", [[[]], {"a": 1}, 1.5])
def test_an_input_with_a_damaged_field_is_refused(given: Input, odd: object) -> None:
    stored = encode_input(given)
    free = {"payload", "result", "named", "bound", "inputs", "parent", "message"}
    for name in stored.keys() - free if not isinstance(given, Retry) else stored.keys():
        with pytest.raises(UnreadableState):
            decode_input({**stored, name: odd})  # type: ignore[dict-item]
