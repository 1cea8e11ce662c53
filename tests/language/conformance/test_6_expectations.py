"""The language's text, section 6, Scenarios: what may be expected, what is told, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.cli.main import main
from strabo_runtime.engine import step
from strabo_runtime.simulator import render_report, run_file
from tests.language.conformance.driver import HEAD, PROTOCOLS, one_scenario, protocol, run_scenarios
from tests.language.conformance.scenario_protocol import BODY, GO, fails, passes, run

# -- expect -----------------------------------------------------------------------------------------------------------

HOLDS = [
    "state: busy",
    "status: running",
    "variables: {n: 0}",
    "variables: {best.who: nobody}",
    "variables: {best.bids: [1, 2]}",
    "pending: {Worker: [w3, w2, w1]}",
    "timers: [clock, timeout]",
    "incidents: 0",
    "received: {w1: [Tell], w2: [Tell]}",
    "rejected: []",
]
BREAKS = [
    "state: idle",
    "status: success",
    "variables: {n: 1}",
    "variables: {best.who: somebody}",
    "variables: {best.bids: [1, 2, 3]}",
    "pending: {Worker: [w1, w2]}",
    "timers: [clock]",
    "incidents: 1",
    "received: {w1: [Tell, Tell]}",
    "received: {boss: [Tell]}",
    "rejected: [{from: boss, message: Go, by: schema}]",
]


@pytest.mark.parametrize("expected", HOLDS)
def test_an_expectation_that_holds_passes(tmp_path: Path, expected: str) -> None:
    """§6: `expect` takes `state`, `status`, `variables`, `pending`, `timers`, `incidents`, `received`, `rejected`."""
    passes(tmp_path, f"- {{expect: {{{expected}}}}}")


@pytest.mark.parametrize("expected", BREAKS)
def test_an_expectation_that_does_not_hold_fails_with_a_diff(tmp_path: Path, expected: str) -> None:
    """§6: `expect` ...; `strabo test` prints a diff on failure."""
    told = fails(tmp_path, f"- {{expect: {{{expected}}}}}")
    assert "expected" in told
    assert "found" in told or "+ " in told


def test_the_result_and_both_ends_can_be_expected(tmp_path: Path) -> None:
    """§6: `expect` takes `status` (`running`, `success`, `failure`), `result`."""
    passes(
        tmp_path,
        """
- {from: "human:Judge", send: Ruling}
- {expect: {status: success, state: over, result: {n: 0, best: nobody}}}
""",
    )
    passes(tmp_path, "- {advance: PT1H}\n- {expect: {status: failure, state: lost}}")
    fails(tmp_path, '- {from: "human:Judge", send: Ruling}\n- {expect: {result: {n: 1}}}')


def test_pending_maps_roles_to_ids(tmp_path: Path) -> None:
    """§6: `pending` maps role to ids."""
    passes(tmp_path, "- {from: w2, send: Done}\n- {expect: {pending: {Worker: [w1, w3]}}}")


def test_timers_is_a_list_of_names(tmp_path: Path) -> None:
    """§6: `timers` is a list of names: those of `start_timer`, and `timeout` and `deadline`."""
    text = HEAD + BODY + "deadline: {after: P9D, fail: too late}\n"
    report = run_scenarios(
        tmp_path, text, one_scenario(GO + "- {expect: {timers: [clock, deadline, timeout]}}")
    )
    assert report.passed, render_report(report)


def test_incidents_are_counted(tmp_path: Path) -> None:
    """§6: `incidents` a number."""
    ping = "- {from: boss, send: Ping, payload: {n: 0}}\n"
    passes(tmp_path, ping + ping + "- {expect: {incidents: 2, rejected: []}}")


REFUSED = [
    (
        "{from: boss, send: Ping, payload: {n: 7}}",
        "{from: boss, message: Ping, by: constraint, constraint: small}",
    ),
    (
        "{from: boss, send: Ping, payload: {n: -1}}",
        "{from: boss, message: Ping, by: constraint, constraint: positive}",
    ),
    ("{from: w1, send: Talk, payload: {text: a}}", "{from: w1, message: Talk, by: unexpected}"),
    ("{from: boss, send: Ping, payload: {n: x}}", "{from: boss, message: Ping, by: schema}"),
    ("{from: stranger, send: Done}", "{from: stranger, message: Done, by: unbound}"),
]


@pytest.mark.parametrize(("sent", "refused"), REFUSED)
def test_a_refusal_is_expected_by_its_reason(tmp_path: Path, sent: str, refused: str) -> None:
    """§6: `rejected`: a list of `{from, message, by}` with `by` one of `constraint`, `unexpected`, ... `unbound`."""
    passes(tmp_path, f"- {sent}\n- {{expect: {{rejected: [{refused}]}}}}")
    fails(tmp_path, f"- {sent}\n- {{expect: {{rejected: []}}}}")


def test_a_refusal_as_finished(tmp_path: Path) -> None:
    """§6: `by` one of ... `finished`."""
    passes(
        tmp_path,
        """
- {advance: PT1H}
- {from: w1, send: Done}
- {expect: {rejected: [{from: w1, message: Done, by: finished}]}}
""",
    )


def test_a_refusal_as_a_conflict(tmp_path: Path) -> None:
    """§6: `by` one of ... `conflict`."""
    passes(
        tmp_path,
        """
- {from: boss, send: Ping, payload: {n: 1}, id: same}
- {from: boss, send: Ping, payload: {n: 2}, id: same}
- {expect: {rejected: [{from: boss, message: Ping, by: conflict}]}}
""",
    )


def test_the_constraint_is_compared_where_it_is_named(tmp_path: Path) -> None:
    """§6: `constraint` (and `constraint: name`)."""
    sent = "- {from: boss, send: Ping, payload: {n: 7}}\n"
    passes(tmp_path, sent + "- {expect: {rejected: [{from: boss, message: Ping, by: constraint}]}}")
    fails(
        tmp_path,
        sent + "- {expect: {rejected: [{from: boss, message: Ping, by: constraint, constraint: positive}]}}",
    )


def test_a_repeated_refusal_is_listed_again(tmp_path: Path) -> None:
    """§6: a repeated refusal is listed again."""
    sent = "- {from: boss, send: Ping, payload: {n: 7}, id: same}\n"
    refused = "{from: boss, message: Ping, by: constraint}"
    passes(tmp_path, f"{sent}{sent}- {{expect: {{rejected: [{refused}, {refused}]}}}}")
    passes(
        tmp_path,
        f"{sent}- {{expect: {{rejected: [{refused}]}}}}\n{sent}- {{expect: {{rejected: [{refused}]}}}}",
    )


def test_received_and_rejected_count_since_the_last_expect(tmp_path: Path) -> None:
    """§6: `received` and `rejected` count since the last `expect`."""
    passes(
        tmp_path,
        """
- {from: boss, send: Ping, payload: {n: 7}}
- {expect: {state: busy}}
- {expect: {received: {w1: []}, rejected: []}}
- {from: boss, send: Whisper, to: [w1]}
- {expect: {received: {w1: [Whisper]}, rejected: []}}
""",
    )


def test_received_is_in_order(tmp_path: Path) -> None:
    """§6: `received`: agent → types."""
    sent = "- {from: boss, send: Whisper, to: [w1]}\n"
    passes(tmp_path, sent + "- {expect: {received: {w1: [Tell, Whisper]}}}")
    fails(tmp_path, sent + "- {expect: {received: {w1: [Whisper, Tell]}}}")


def test_agents_left_out_of_received_are_not_checked(tmp_path: Path) -> None:
    """§6: agents left out of `received` are not checked."""
    passes(tmp_path, "- {expect: {received: {w1: [Tell]}}}")


def test_what_is_not_named_is_not_checked(tmp_path: Path) -> None:
    """§6: `expect` takes ...: what it does not name may be as it is."""
    passes(tmp_path, "- {from: boss, send: Ping, payload: {n: 7}}\n- {expect: {state: busy}}")


# -- what is told -----------------------------------------------------------------------------------------------------


def test_what_nothing_reached_is_reported(tmp_path: Path) -> None:
    """§6: reports which states, transitions and constraints nothing reached."""
    report = run(tmp_path, "- {expect: {state: busy}}")
    told = report.to_json()["coverage"]
    text = str(told) + render_report(report)
    for name in ("over", "lost", "small", "positive", "Ruling"):
        assert name in text


def test_what_was_reached_is_not_reported(tmp_path: Path) -> None:
    """§6: reports which states, transitions and constraints *nothing* reached."""
    report = run(
        tmp_path,
        """
- {from: boss, send: Ping, payload: {n: 2}}
- {from: "human:Judge", send: Ruling}
""",
    )
    coverage = report.coverage
    assert coverage is not None
    assert set(coverage.states) == {"lost"}


def test_a_misspelt_scenario_is_an_error_and_nothing_runs(tmp_path: Path) -> None:
    """§6: `expect` takes `state`, ... and nothing else."""
    report = run_scenarios(tmp_path, HEAD + BODY, one_scenario(GO + "- {expect: {stat: busy}}"))
    assert [found.code for found in report.diagnostics] == ["unknown-key"]
    assert report.results == ()


AUCTION = """
protocol: DistributedTaskAuction
roles: {Client: [c1], Solver: [s1, s2]}
scenarios:
  - name: the cheapest bid wins
    steps:
      - from: c1
        send: TaskAnnouncement
        payload: {task_id: t, spec: {}, budget: 9, deadline: "2030-01-02T00:00:00Z", bidding_duration: PT5M}
      - {expect: {state: BiddingOpen, received: {s1: [CallForBids], s2: [CallForBids]}}}
      - from: s1
        send: BidSubmission
        payload: {task_id: t, solver_id: s1, proposal: {}, cost: 3, time_estimate: PT1H}
      - from: s2
        send: BidSubmission
        payload: {task_id: t, solver_id: s2, proposal: {}, cost: 4, time_estimate: PT1H}
      - {advance: PT5M}
      - {expect: {state: Awarded, variables: {winning_bid.solver_id: s1}, rejected: []}}
"""


def test_the_example_of_the_text_runs(tmp_path: Path) -> None:
    """§6: the example `task_auction.test.yaml`."""
    (tmp_path / "task_auction.yaml").write_text((PROTOCOLS / "task_auction.yaml").read_text())
    (tmp_path / "task_auction.test.yaml").write_text(AUCTION)
    report = run_file(tmp_path / "task_auction.test.yaml")
    assert report.passed, render_report(report)


def test_scenarios_run_on_the_very_engine_that_production_uses(tmp_path: Path) -> None:
    """§6: `strabo test` runs scenarios on the very engine that production uses."""
    report = run(tmp_path, "- {from: boss, send: Ping, payload: {n: 2}}\n- {advance: PT1H}")
    instance = None
    for made in report.results[0].steps:
        again = step(protocol(BODY), instance, made.input)
        assert (again.after, again.outputs) == (made.after, made.outputs)
        instance = again.after


# -- exit codes -------------------------------------------------------------------------------------------------------


def exit_code(*arguments: object) -> int:
    """How a command ends."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(("expected", "code"), [("busy", 0), ("idle", 1)])
def test_strabo_test_exits_0_when_nothing_is_violated_and_1_for_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: str, code: int
) -> None:
    """§6: `strabo test` exits 0 when nothing is violated, 1 for a finding."""
    run(tmp_path, f"- {{expect: {{state: {expected}}}}}")
    assert exit_code("test", tmp_path / "sample.yaml") == code
    assert exit_code("test", tmp_path / "sample.test.yaml") == code
    printed = capsys.readouterr().out
    assert ("+ found" in printed) == (code == 1)


@pytest.mark.parametrize(("number", "code"), [("2.0", 0), ("2", 1)])
def test_strabo_verify_exits_0_when_nothing_is_violated_and_1_for_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: str, code: int
) -> None:
    """§6: `strabo verify` exits 0 when nothing is violated, 1 for a finding."""
    text = f"""
variables: {{rate: {{type: number, initial: 1}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: over, trigger: {{message: Go}}, condition: "rate * {number} > 1.0"}}
  - {{from: idle, to: over, trigger: {{message: Done}}, actions: [{{set_variable: {{name: rate, value: 2}}}}]}}
  - {{from: idle, trigger: [{{message: Ping}}, {{message: Talk}}, {{message: Pass}}, {{message: Whisper}}]}}
  - from: idle
    trigger: {{message: Ruling}}
    actions:
      - {{send: {{message: Note, payload: {{n: 1}}}}}}
      - {{send: {{message: Call, payload: {{}}}}}}
      - {{broadcast: {{message: Tell, payload: {{n: 1}}}}}}
      - {{send: {{message: Ask, to: "${{ roles.Worker[0] }}", payload: {{}}}}}}
"""
    (tmp_path / "sample.yaml").write_text(HEAD + text)
    assert exit_code("verify", tmp_path / "sample.yaml") == code, capsys.readouterr()


@pytest.mark.parametrize(
    "arguments", [("test",), ("verify",), ("test", "missing.yaml"), ("verify", "missing.yaml")]
)
def test_wrong_use_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """§6: 2 for wrong use."""
    command, *files = arguments
    assert exit_code(command, *(tmp_path / file for file in files)) == 2
    assert capsys.readouterr().err
