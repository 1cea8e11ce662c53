"""Random play: seeded, valid, and telling."""

from __future__ import annotations

from random import Random

import pytest

from strabo_runtime.expressions import PayloadValidator
from strabo_runtime.language import load
from strabo_runtime.simulator import PlayError, play, render_play
from strabo_runtime.simulator.payloads import Payloads
from tests.unit.engine.driver import T0, shipped

AUCTION = shipped("task_auction")
REVIEW = shipped("code_review")


def test_the_same_seed_plays_the_same_runs() -> None:
    assert play(REVIEW, runs=20, seed=7).to_json() == play(REVIEW, runs=20, seed=7).to_json()
    assert play(REVIEW, runs=20, seed=7).to_json() != play(REVIEW, runs=20, seed=8).to_json()


@pytest.mark.parametrize("machine", [AUCTION, REVIEW], ids=["auction", "review"])
def test_random_play_of_the_shipped_protocols_ends_and_meets_no_error(machine) -> None:  # type: ignore[no-untyped-def]
    report = play(machine, runs=60, seed=1)
    assert sum(report.endings.values()) == 60
    assert report.incidents == {}
    assert not any(ending.startswith(("stuck", "unfinished", "not started")) for ending in report.endings)
    assert any(ending.startswith("success") for ending in report.endings)
    assert "schema" not in report.refusals


@pytest.mark.parametrize("machine", [AUCTION, REVIEW], ids=["auction", "review"])
def test_random_payloads_are_valid(machine) -> None:  # type: ignore[no-untyped-def]
    payloads = Payloads(Random(3), machine.types)
    for kind in machine.messages.values():
        validator = PayloadValidator(kind.payload, machine.types)
        for _ in range(40):
            made = payloads.make(kind.payload, sender="a", role="Solver", now=T0)
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


def test_errors_unreached_parts_and_endless_runs_are_told() -> None:
    machine = load(BODY, filename="trap.yaml").machine
    assert machine is not None
    report = play(machine, runs=3, seed=1)
    assert report.endings == {"unfinished after 500 inputs, in trap": 3}
    assert any("set_variable n" in incident for incident in report.incidents)
    shown = render_play(report)
    assert "over" in shown
    assert "states that nothing reached:" in shown
    assert report.longest[0].inputs == 500


def test_a_protocol_that_no_agent_can_start_cannot_be_played() -> None:
    text = BODY.replace("{from: idle, to: trap, trigger: {message: Go}}", "{from: idle, to: trap}")
    machine = load(text, filename="trap.yaml").machine
    assert machine is not None
    with pytest.raises(PlayError, match="idle"):
        play(machine, runs=1, seed=1)
