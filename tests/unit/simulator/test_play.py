"""Random play: seeded, valid, and telling."""

from __future__ import annotations

from random import Random

import pytest

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions import PayloadValidator
from strabo_runtime.language import load
from strabo_runtime.simulator import play, play_run, render_play
from strabo_runtime.simulator.payloads import Payloads, Writer
from tests.unit.engine.driver import T0, shipped

pytestmark = pytest.mark.slow

AUCTION = shipped("task_auction")
REVIEW = shipped("code_review")


def test_the_same_seed_plays_the_same_runs() -> None:
    assert play(REVIEW, runs=20, seed=7).to_json() == play(REVIEW, runs=20, seed=7).to_json()
    assert play(REVIEW, runs=20, seed=7).to_json() != play(REVIEW, runs=20, seed=8).to_json()


@pytest.mark.parametrize("machine", [AUCTION, REVIEW], ids=["auction", "review"])
def test_random_play_of_the_shipped_protocols_ends_and_meets_no_error(machine) -> None:  # type: ignore[no-untyped-def]
    report = play(machine, runs=60, seed=1)
    assert sum(report.endings.values()) == 60
    assert report.findings == ()
    assert not any(ending.startswith(("stuck", "unfinished", "not started")) for ending in report.endings)
    assert any(ending.startswith("success") for ending in report.endings)
    assert "schema" not in report.refusals


@pytest.mark.parametrize("machine", [AUCTION, REVIEW], ids=["auction", "review"])
def test_random_payloads_are_valid(machine) -> None:  # type: ignore[no-untyped-def]
    payloads = Payloads(Random(3), machine.types)
    for kind in machine.messages.values():
        validator = PayloadValidator(kind.payload, machine.types)
        for _ in range(40):
            made = payloads.make(kind.payload, Writer("a", "Solver", T0))
            assert validator.errors(made) == ()
            payloads.observe(made)


BODY = """
protocol: Trap
version: "1"
participants: [{name: A}, {name: D, played_by: engine}]
message_types:
  Go: {from: A, to: D, payload: {n: integer}}
  More: {from: A, to: D, payload: {n: integer}}
variables: {n: {type: integer, initial: 0}}
states: [idle, trap, {name: over, final: success}]
transitions:
  - {from: idle, to: trap, trigger: {message: Go}}
  - from: trap
    trigger: {message: More}
    actions: [{set_variable: {name: n, value: "${ 10 / (message.payload.n - 1) }"}}]
  - {from: trap, to: over, trigger: {message: More}, condition: "false"}
"""


@pytest.fixture(scope="module")
def trap() -> Machine:
    machine = load(BODY, filename="trap.yaml").machine
    assert machine is not None
    return machine


def test_a_run_that_never_ends_is_a_finding_with_its_first_run(trap: Machine) -> None:
    report = play(trap, runs=3, seed=1)
    assert report.endings == {"unfinished after 500 inputs, in trap": 3}
    assert [(found.count, found.run) for found in report.findings if "unfinished" in found.text] == [(3, 1)]


def test_a_step_error_is_a_finding(trap: Machine) -> None:
    report = play(trap, runs=3, seed=1)
    assert any(
        found.text.startswith("a step failed: ") and "set_variable n" in found.text
        for found in report.findings
    )


def test_a_finding_is_shown_with_the_seed_and_run_that_repeat_it(trap: Machine) -> None:
    shown = render_play(play(trap, runs=2, seed=4))
    assert "(again: --seed 4 --run 1)" in shown


def test_what_random_play_does_not_reach_is_told(trap: Machine) -> None:
    shown = render_play(play(trap, runs=2, seed=1))
    assert "states that nothing reached (1 of 3):" in shown
    assert "  over" in shown


def test_the_longest_runs_are_told(trap: Machine) -> None:
    assert play(trap, runs=1, seed=1).longest[0].inputs == 500


def test_one_run_is_played_again_with_its_story() -> None:
    report = play(AUCTION, runs=5, seed=3)
    longest = report.longest[0]
    again = play_run(AUCTION, seed=3, run=longest.number)
    assert again.run == longest
    assert "starts with TaskAnnouncement" in again.story[0]
    assert len(again.story) >= longest.steps


def test_a_protocol_whose_first_state_takes_no_message_is_started_without_one() -> None:
    text = BODY.replace("{from: idle, to: trap, trigger: {message: Go}}", "{from: idle, to: trap}")
    machine = load(text, filename="trap.yaml").machine
    assert machine is not None
    assert play_run(machine, seed=1, run=1).story[0].partition("  ")[2].startswith("starter starts")


SCHEMA = """
protocol: Odd
version: "1"
participants: [{name: A}, {name: D, played_by: engine}]
message_types:
  Go: {from: A, to: D, schema: SCHEMA}
states: [idle, {name: over, final: success}]
transitions: [{from: idle, to: over, trigger: {message: Go}}]
"""


@pytest.mark.parametrize(
    "schema",
    [
        '{"$ref": "#/$defs/n", $defs: {n: {type: object, required: [n], properties: {n: {"$ref": "#/$defs/n"}}}}}',
        "{type: object, required: [c], properties: {c: {type: array, minItems: 1000000, items: {type: integer}}}}",
    ],
    ids=["endless", "large"],
)
def test_a_protocol_that_no_start_was_found_for_is_a_finding(schema: str) -> None:
    machine = load(SCHEMA.replace("SCHEMA", schema), filename="odd.yaml").machine
    assert machine is not None
    report = play(machine, runs=2, seed=1)
    assert report.steps == 0
    assert [found.text for found in report.findings] == [
        "no run began: no start was found that the protocol takes"
    ]
