"""`inputs` (language, §1): what the starter passes in, defaults, and who may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from strabo_runtime.engine import Start, binding_needs, next_due, start_digest
from strabo_runtime.engine.outputs import Rejection
from tests.unit.engine.driver import HEAD, MINUTE, T0, Driver, machine_of, refusal

BODY = """
inputs:
  budget: integer
  note: string?
  pace: {type: duration, default: PT5M}
  goal: {type: "integer?", default: "${ starting == null ? 0 : starting.payload.n }"}
  extra: {type: any, default: none given}
variables:
  left: {type: integer, initial: "${ budget * 2 }"}
states:
  - {name: idle, timeout: {after: $pace, to: over}}
  - name: busy
  - {name: over, final: success}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, condition: message.payload.n <= budget}
result: {budget: $budget}
"""


@pytest.fixture
def driver() -> Driver:
    return Driver(machine_of(BODY))


def test_inputs_stand_among_the_variables_and_initial_values_may_read_them(driver: Driver) -> None:
    driver.start(inputs={"budget": 7})
    assert driver.variables["budget"] == 7
    assert driver.variables["left"] == 14


def test_what_is_left_out_has_its_default(driver: Driver) -> None:
    driver.start(payload={"n": 4}, inputs={"budget": 7})
    assert driver.variables["pace"] == "PT5M"
    assert driver.variables["goal"] == 4
    assert driver.variables["extra"] == "none given"


def test_a_default_may_read_that_nothing_started_the_instance(driver: Driver) -> None:
    driver.start(None, named={"Boss": ("boss",)}, inputs={"budget": 7})
    assert driver.variables["goal"] == 0


def test_what_is_passed_in_goes_before_the_default(driver: Driver) -> None:
    driver.start(inputs={"budget": 7, "pace": "PT9M"})
    assert next_due(driver.it) is None  # busy has no timeout
    assert driver.variables["pace"] == "PT9M"


def test_an_optional_input_without_default_is_null(driver: Driver) -> None:
    driver.start(inputs={"budget": 7})
    assert driver.variables["note"] is None


def test_an_optional_input_given_as_null_counts_as_missing(driver: Driver) -> None:
    driver.start(payload={"n": 4}, inputs={"budget": 7, "goal": None})
    assert driver.variables["goal"] == 4


def test_any_takes_null_as_a_value(driver: Driver) -> None:
    driver.start(inputs={"budget": 7, "extra": None})
    assert driver.variables["extra"] is None


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ({}, "the input budget is missing"),
        ({"budget": "seven"}, "the input budget is not valid"),
        ({"budget": None}, "the input budget is not valid"),
        ({"budget": 7, "pase": "PT1M"}, "there is no input 'pase'; did you mean pace?"),
        ({"budget": 7, "pace": "soon"}, "the input pace is not valid"),
    ],
)
def test_inputs_that_do_not_fit_refuse_the_start(
    driver: Driver, inputs: Mapping[str, Any], told: str
) -> None:
    made = driver.start(inputs=inputs)
    assert refusal(made).by == "schema"
    assert told in refusal(made).text
    assert made.after is None


def test_all_that_is_wrong_with_the_inputs_is_said_at_once(driver: Driver) -> None:
    text = refusal(driver.start(inputs={"pace": 3, "other": 1})).text
    assert all(told in text for told in ("budget is missing", "pace is not valid", "no input 'other'"))


def test_a_default_that_cannot_be_evaluated_refuses_the_start() -> None:
    driver = Driver(machine_of(BODY.replace("PT5M", "\"${ duration(string(1 / 0) + 's') }\"")))
    made = driver.start(inputs={"budget": 7})
    assert "the default of the input pace" in refusal(made).text
    assert made.after is None


def test_inputs_are_part_of_the_starts_content(driver: Driver) -> None:
    driver.start(inputs={"budget": 7}, id="go")
    again = driver.start(inputs={"budget": 7}, id="go")
    assert again.verdict == "duplicate"
    assert refusal(driver.start(inputs={"budget": 8}, id="go")).by == "conflict"


def test_inputs_that_no_record_can_hold_are_refused(driver: Driver) -> None:
    assert refusal(driver.start(inputs={"budget": {1, 2}})).by == "schema"


def test_a_digest_tells_inputs_apart() -> None:
    starts = [
        Start("s", "i", "a", T0, T0, None, {}, {}, inputs=given) for given in ({}, {"x": 1}, {"x": 1.5})
    ]
    assert len({start_digest(start) for start in starts}) == 3


GOES = "states: [idle, busy]\ntransitions: [{from: idle, to: busy, trigger: {message: Go}}]\n"
COUNTED = HEAD.replace("count: 3", 'count: "size + (starting == null ? 0 : starting.payload.n)"')


def test_a_count_may_read_inputs_and_the_starting_message() -> None:
    machine = machine_of("inputs: {size: {type: integer, default: 1}}\n" + GOES, COUNTED)
    start = Start("s", "i", "boss", T0, T0, None, {}, {}, inputs={"size": 4})
    needs = binding_needs(machine, start)
    assert not isinstance(needs, Rejection)
    assert needs["Worker"].want == 4
    defaulted = binding_needs(machine, Start("s", "i", "boss", T0, T0, None, {}, {}))
    assert not isinstance(defaulted, Rejection)
    assert defaulted["Worker"].want == 1


def test_wrong_inputs_are_refused_before_the_directory_is_asked() -> None:
    machine = machine_of("inputs: {size: integer}\n" + GOES, COUNTED)
    refused = binding_needs(machine, Start("s", "i", "boss", T0, T0, None, {}, {}))
    assert isinstance(refused, Rejection)
    assert "size is missing" in refused.text


def test_constraints_conditions_timers_and_results_read_inputs(driver: Driver) -> None:
    assert refusal(driver.start(payload={"n": 8}, inputs={"budget": 7})).by == "unexpected"
    idle = Driver(driver.machine)
    idle.start(None, named={"Boss": ("boss",)}, inputs={"budget": 7, "pace": "PT2M"})
    (fired,) = idle.advance(2 * MINUTE)
    assert fired.after is not None
    assert fired.after.result == {"budget": 7}
