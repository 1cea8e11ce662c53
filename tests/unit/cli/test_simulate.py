"""`strabo simulate`: its report, its exit code, one run again, and what it needs beside the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import strabo_runtime
from strabo_runtime.cli.main import main

PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"
AUCTION = PROTOCOLS / "task_auction.yaml"

TRAP = """
protocol: Trap
version: "1"
participants: [{name: A}, {name: D, played_by: engine}]
message_types:
  Go: {from: A, to: D, payload: {n: integer}}
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    to: over
    trigger: {message: Go}
    actions: [{set_variable: {name: n, value: "${ 10 / (message.payload.n * 0) }"}}]
"""

PARENT = """
protocol: Parent
version: "1"
participants: [{name: A}, {name: D, played_by: engine}]
message_types: {Go: {from: A, to: D, payload: {}}}
states: [idle, waiting, {name: over, final: success}]
transitions:
  - from: idle
    to: waiting
    trigger: {message: Go}
    actions: [{start_protocol: {protocol: Elsewhere, as: part}}]
  - {from: waiting, to: over, trigger: {child: part}}
"""


def simulate(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_runs_that_all_end_exit_0_and_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(str(AUCTION), "--runs", "30", "--seed", "2") == 0
    out = capsys.readouterr().out
    assert "DistributedTaskAuction: 30 runs, seed 2" in out
    assert "success in Completed" in out


def test_the_same_seed_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(str(AUCTION), "--runs", "10", "--seed", "5")
    first = capsys.readouterr().out
    simulate(str(AUCTION), "--runs", "10", "--seed", "5")
    assert capsys.readouterr().out == first


def test_a_step_error_exits_1_and_names_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trap.yaml"
    path.write_text(TRAP)
    assert simulate(str(path), "--runs", "3", "--seed", "9") == 1
    assert "(again: --seed 9 --run 1)" in capsys.readouterr().out


def test_one_run_is_told_again_and_exits_as_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trap.yaml"
    path.write_text(TRAP)
    assert simulate(str(path), "--seed", "9", "--run", "1") == 1
    out = capsys.readouterr().out
    assert "starts with Go" in out
    assert "a step failed: " in out


def test_one_run_of_a_sound_protocol_ends_with_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(str(AUCTION), "--seed", "1", "--run", "4") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("run 4: ")


def test_tools_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(str(AUCTION), "--runs", "5", "-o", "json")
    report = json.loads(capsys.readouterr().out)
    assert sum(report["endings"].values()) == 5
    assert report["findings"] == []
    assert set(report["coverage"]["unreached"]) == {"states", "transitions", "constraints", "compensations"}


def test_tools_get_one_run_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(str(AUCTION), "--run", "2", "-o", "json")
    run = json.loads(capsys.readouterr().out)
    assert run["run"] == 2
    assert run["story"]


def test_children_beside_the_file_are_played_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(str(PROTOCOLS / "travel_booking.yaml"), "--seed", "1", "--run", "1") == 0
    out, err = capsys.readouterr()
    assert "[run-1:1:child:0]" in out
    assert err == ""


def test_a_child_that_is_not_beside_the_file_is_said_to_be_made_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "parent.yaml"
    path.write_text(PARENT)
    assert simulate(str(path), "--runs", "5") == 0
    assert "Elsewhere; how these children end is made up" in capsys.readouterr().err


def test_a_file_with_errors_exits_1_with_its_diagnostics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("protocol: Broken\n")
    assert simulate(str(path)) == 1
    assert f"{path}:1:1: error" in capsys.readouterr().err


def test_a_missing_file_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(str(tmp_path / "no.yaml")) == 2
    assert "no.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--runs", "0"], ["--run", "0"], ["--seed", "x"]])
def test_wrong_numbers_exit_2(arguments: list[str]) -> None:
    assert simulate(str(AUCTION), *arguments) == 2
