"""Scenario files: every error is reported, with its position, and nothing runs while there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.simulator import UnreadableScenarioError, load_scenarios, render_report, run_file
from tests.unit.simulator.support import HEAD, write

GOOD = """
  - name: fine
    steps:
      - {from: b, send: Send, payload: {where: town, price: 3}}
      - {expect: {state: out}}
"""


def codes(path: Path) -> list[tuple[str, int]]:
    return [(found.code, found.span.line) for found in run_file(path).diagnostics]


def test_a_sound_file_has_no_diagnostics(tmp_path: Path) -> None:
    loaded = load_scenarios(write(tmp_path, GOOD))
    assert loaded.diagnostics == ()
    assert [scenario.name for scenario in loaded.scenarios] == ["fine"]


def test_all_errors_are_reported_in_one_go_with_their_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
  - name: wrong
    steps:
      - {from: b, send: Sendd}
      - {advance: soon}
      - {expect: {stat: out, state: outt, variables: {wher: town}, result: {cont: 1}}}
      - {expect: {rejected: [{from: b, message: Send, by: constraint, constraint: cheep}]}}
      - {expect: {rejected: [{from: b, message: Send, by: mood}], status: running, timers: [1]}}
      - {expect: {pending: {Runnr: [r1]}, received: {r1: [Goo]}, incidents: many, status: fine}}
      - {cancel: enough}
      - {child: other, outcome: success}
      - {bind: {role: Runer, agents: [r1]}}
      - {hop: high}
      - {advance: -PT1M}
      - {start: {inputs: [1]}}
      - {cancel: }
      - {expect: {timers: [timeoutt]}}
""",
    )
    found = codes(path)
    expected = [
        ("unknown-message", 8),
        ("expression-value", 9),
        ("unknown-key", 10),
        ("unknown-state", 10),
        ("unknown-variable", 10),
        ("unknown-name", 10),
        ("unknown-name", 11),
        ("bad-value", 12),
        ("wrong-type", 12),
        ("unknown-role", 13),
        ("unknown-message", 13),
        ("wrong-type", 13),
        ("bad-value", 13),
        ("unknown-name", 15),
        ("unknown-role", 16),
        ("unknown-key", 17),
        ("bad-value", 18),
        ("wrong-type", 19),
        ("missing-key", 20),
        ("unknown-timer", 21),
    ]
    assert sorted(found, key=lambda one: (one[1], one[0])) == sorted(
        expected, key=lambda one: (one[1], one[0])
    )


@pytest.mark.parametrize("key", ["rejected", "received", "pending", "timers", "variables", "result", "state"])
def test_an_expectation_without_a_value_is_an_error_for_nothing_would_be_expected(
    tmp_path: Path, key: str
) -> None:
    steps = GOOD.replace("state: out", f"status: success, {key}: ")
    assert codes(write(tmp_path, steps)) == [("wrong-type", 9)]


def test_a_misspelt_name_gets_a_hint_and_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("state: out", "state: ouut"))
    shown = render_report(run_file(path))
    assert "errand.test.yaml:9:26: error[unknown-state]: Errand has no state `ouut`" in shown
    assert "did you mean `out`?" in shown


def test_an_erroneous_file_does_not_pass_and_runs_nothing(tmp_path: Path) -> None:
    report = run_file(write(tmp_path, GOOD.replace("state: out", "state: ouut")))
    assert not report.passed
    assert report.results == ()


def test_the_protocol_beside_must_be_the_one_named(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, head=HEAD.replace("protocol: Errand", "protocol: Another"))
    assert codes(path) == [("bad-value", 2)]


def test_two_scenarios_of_one_name_are_an_error(tmp_path: Path) -> None:
    assert codes(write(tmp_path, GOOD + GOOD)) == [("duplicate-name", 11)]


@pytest.mark.parametrize(
    "text", ["", "[]", "text", "protocol: Errand", "a: [", "protocol: Errand\nscenarios: []"]
)
def test_a_file_that_is_no_scenario_file_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    report = run_file(write(tmp_path, "", head=text))
    assert not report.passed
    assert report.diagnostics


def test_an_erroneous_protocol_is_reported_in_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, protocol="protocol: Errand\n")
    report = run_file(path)
    assert not report.passed
    assert all(found.span.file.endswith("errand.yaml") for found in report.diagnostics)


def test_a_missing_file_a_missing_protocol_and_an_odd_name_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UnreadableScenarioError, match=r"errand\.test\.yaml"):
        run_file(tmp_path / "errand.test.yaml")
    path = write(tmp_path, GOOD)
    (tmp_path / "errand.yaml").unlink()
    with pytest.raises(UnreadableScenarioError, match=r"errand\.yaml"):
        run_file(path)
    with pytest.raises(UnreadableScenarioError, match=r"X\.test\.yaml"):
        run_file(tmp_path / "errand.yaml")


def test_a_file_that_is_no_text_is_one_clear_line(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableScenarioError, match="UTF-8"):
        run_file(path)


def test_a_role_without_agents_is_one_that_the_directory_finds_nobody_for(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
  - name: nobody runs
    roles: {Runner: []}
    steps:
      - {from: b, send: Send, payload: {where: town, price: 3}}
      - {expect: {rejected: [{from: b, message: Send, by: quorum}]}}
""",
    )
    assert load_scenarios(path).diagnostics == ()
    assert all(not result.mismatches for result in run_file(path).results)
