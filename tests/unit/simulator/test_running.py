"""Running scenarios: what each expectation compares, and how a failure reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.simulator import Report, render_report, run_file
from tests.unit.simulator.support import write

BEGIN = """
  - name: it
    steps:
      - {from: b, send: Send, id: go, payload: {where: town, price: 3}}
"""


def run(folder: Path, steps: str, begin: str = BEGIN) -> Report:
    report = run_file(write(folder, begin + steps))
    assert not report.diagnostics, render_report(report)
    return report


def test_everything_that_can_be_expected_holds(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        """
      - expect:
          state: out
          status: running
          variables: {where: town, reports: []}
          pending: {Runner: [r2, r1]}
          timers: [timeout]
          incidents: 0
          received: {r1: [Go], r2: [Go], r3: []}
          rejected: []
      - {from: r1, send: Back, payload: {report: {seen: {trees: 3}}}}
      - {from: r1, send: Back, payload: {report: {}}}
      - expect:
          variables: {reports.0.seen.trees: 3, "reports[0].seen": {trees: 3}, reports.1: null}
          received: {r1: []}
          rejected: [{from: r1, message: Back, by: constraint, constraint: once}]
      - {advance: PT30M}
      - {expect: {state: done, status: success, result: {where: town, count: 1}, timers: [], pending: {Runner: []}}}
""",
    )
    assert report.passed, render_report(report)


@pytest.mark.parametrize(
    ("expect", "what", "expected", "found"),
    [
        ("state: done", "state", '"done"', '"out"'),
        ("status: success", "status", '"success"', '"running"'),
        ("variables: {where: city}", "variable where", '"city"', '"town"'),
        ("variables: {where.street: x}", "variable where.street", '"x"', "(absent)"),
        ("result: {where: town}", "result where", '"town"', "(absent)"),
        ("pending: {Runner: [r1]}", "pending Runner", '["r1"]', '["r1","r2"]'),
        ("timers: []", "timers", "[]", '["timeout"]'),
        ("incidents: 1", "incidents", "1", "0"),
        ("received: {r1: [], r2: [Go]}", "received by r1", "[]", '["Go"]'),
        (
            "rejected: [{from: b, message: Send, by: conflict}]",
            "rejected",
            "Send from b by conflict",
            "nothing",
        ),
    ],
)
def test_what_is_not_as_expected_is_shown_beside_what_is(
    tmp_path: Path, expect: str, what: str, expected: str, found: str
) -> None:
    (result,) = run(tmp_path, f"      - {{expect: {{{expect}}}}}\n").results
    (mismatch,) = result.mismatches
    assert (mismatch.what, mismatch.expected, mismatch.found) == (what, expected, found)


def test_a_failure_names_the_place_shows_the_difference_and_tells_what_happened(tmp_path: Path) -> None:
    report = run(tmp_path, "      - {advance: PT30M}\n      - {expect: {state: done, status: success}}\n")
    assert not report.passed
    shown = render_report(report)
    path = report.file
    assert f"FAIL  it  ({path}:6)" in shown
    assert f"{path}:10:26: state" in shown
    assert '- expected  "done"' in shown
    assert '+ found     "out"' in shown
    assert "b starts with Send" in shown
    assert "Go to r1, r2" in shown
    assert "QuorumLost: the role Runner has 0 of at least 1 agents left" in shown
    assert "0 passed, 1 failed" in shown


def test_one_and_one_point_zero_are_equal_and_true_is_no_number(tmp_path: Path) -> None:
    steps = "      - {from: r1, send: Back, payload: {report: {n: 1, b: true}}}\n"
    assert run(tmp_path, steps + "      - {expect: {variables: {reports.0.n: 1.0}}}\n").passed
    assert not run(tmp_path, steps + "      - {expect: {variables: {reports.0.b: 1}}}\n").passed


def test_received_and_rejected_count_since_the_last_expect(tmp_path: Path) -> None:
    assert run(
        tmp_path,
        """
      - {expect: {received: {r1: [Go]}}}
      - {expect: {received: {r1: []}}}
      - {from: r3, send: Back, payload: {report: {}}}
      - {expect: {rejected: [{from: r3, message: Back, by: unbound}]}}
      - {expect: {rejected: []}}
""",
    ).passed


def test_a_repeated_refusal_is_listed_again(tmp_path: Path) -> None:
    twice = "      - {from: r1, send: Back, id: x, payload: {report: 1}}\n" * 2
    wanted = "{from: r1, message: Back, by: schema}"
    assert run(tmp_path, twice + f"      - {{expect: {{rejected: [{wanted}, {wanted}]}}}}\n").passed


def test_a_refused_start_can_be_expected_and_leaves_no_instance(tmp_path: Path) -> None:
    begin = BEGIN.replace("price: 3", "price: 30")
    rejected = "rejected: [{from: b, message: Send, by: constraint, constraint: cheap}]"
    assert run(tmp_path, f"      - {{expect: {{{rejected}}}}}\n", begin).passed
    (result,) = run(tmp_path, f"      - {{expect: {{{rejected}, state: idle}}}}\n", begin).results
    assert "there is no instance" in result.mismatches[0].found


def test_a_message_with_the_starts_id_is_that_start_again(tmp_path: Path) -> None:
    assert run(
        tmp_path,
        """
      - {from: b, send: Send, id: go, payload: {where: town, price: 3}}
      - {expect: {rejected: [], received: {r1: [Go]}}}
      - {from: b, send: Send, id: go, payload: {where: city, price: 3}}
      - {expect: {rejected: [{from: b, message: Send, by: conflict}]}}
""",
    ).passed


def test_a_written_start_may_name_agents_and_have_no_message(tmp_path: Path) -> None:
    begin = "\n  - name: it\n    steps:\n"
    assert run(
        tmp_path,
        """
      - start:
          message: {from: b, send: Send, payload: {where: town, price: 3}}
          roles: {Runner: [x, y, z]}
      - {expect: {pending: {Runner: [x, y, z]}}}
""",
        begin,
    ).passed
    assert run(
        tmp_path,
        "      - {start: {roles: {Boss: [b]}}}\n      - {expect: {state: idle, status: running}}\n",
        begin,
    ).passed


def test_a_role_named_in_the_scenario_replaces_the_files(tmp_path: Path) -> None:
    begin = BEGIN.replace("    steps:", "    roles: {Runner: [other]}\n    steps:")
    assert run(tmp_path, "      - {expect: {pending: {Runner: [other]}}}\n", begin).passed


def test_advance_fires_timers_up_to_and_including_its_end(tmp_path: Path) -> None:
    before = "      - {from: r1, send: Back, payload: {report: {}}}\n"
    assert run(tmp_path, before + "      - {advance: PT29M59.999S}\n      - {expect: {state: out}}\n").passed
    assert run(tmp_path, before + "      - {advance: PT30M}\n      - {expect: {state: done}}\n").passed


def test_what_nothing_reached_is_reported(tmp_path: Path) -> None:
    report = run(tmp_path, "      - {expect: {state: out}}\n")
    assert report.coverage is not None
    assert report.coverage.states == ("done", "lost")
    assert report.coverage.transitions == (
        "2: out -> (stays) on Back",
        "3: out -> done if pending.Runner.size() == 0",
    )
    assert report.coverage.constraints == ("once",)
    assert report.coverage.never_violated == ("cheap",)
    shown = render_report(report)
    assert "states that nothing reached (2 of 4):" in shown


def test_a_constraint_that_refuses_a_start_was_violated(tmp_path: Path) -> None:
    begin = BEGIN.replace("price: 3", "price: 30")
    report = run(tmp_path, "      - {expect: {incidents: 0}}\n", begin)
    assert report.coverage is not None
    assert "cheap" not in (*report.coverage.never_violated, *report.coverage.constraints)


def test_the_report_is_data_too(tmp_path: Path) -> None:
    data = run(tmp_path, "      - {expect: {state: done}}\n").to_json()
    assert data["passed"] is False
    (scenario,) = data["scenarios"]  # type: ignore[misc]
    assert scenario["mismatches"][0]["line"] == 9
