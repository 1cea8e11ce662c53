"""The language's text, section 6, Scenarios: the file, its starts and its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.simulator import UnreadableScenarioError, render_report, run_file
from tests.language.conformance.driver import HEAD, one_scenario, run_scenarios
from tests.language.conformance.scenario_protocol import BODY, GO, passes, run

# -- the file ---------------------------------------------------------------------------------------------------------


def test_a_scenario_file_tests_the_protocol_beside_it(tmp_path: Path) -> None:
    """§6: `X.test.yaml` tests `X.yaml` beside it."""
    report = run(tmp_path, "- {expect: {state: busy}}")
    assert (report.protocol, report.passed) == ("Sample", True)


def test_a_scenario_file_without_a_protocol_beside_it_is_refused(tmp_path: Path) -> None:
    """§6: `X.test.yaml` tests `X.yaml` *beside it*."""
    (tmp_path / "other.test.yaml").write_text("protocol: Sample\n" + one_scenario(GO))
    with pytest.raises(UnreadableScenarioError):
        run_file(tmp_path / "other.test.yaml")


def test_a_scenario_file_names_its_protocol(tmp_path: Path) -> None:
    """§6: `protocol`: the one beside it, and no other."""
    report = run_scenarios(tmp_path, HEAD.replace("Sample", "Other") + BODY, one_scenario(GO))
    assert not report.passed
    assert report.results == ()


def test_the_clock_starts_in_2030(tmp_path: Path) -> None:
    """§6: its clock starts at 2030-01-01T00:00:00Z."""
    passes(tmp_path, '- {expect: {variables: {at: "2030-01-01T00:00:00Z"}}}')


def test_the_clock_is_simulated(tmp_path: Path) -> None:
    """§6: with a simulated clock, which only `advance` moves."""
    start = "- {advance: P1D}\n" + GO
    passes(tmp_path, '- {expect: {variables: {at: "2030-01-02T00:00:00Z"}}}', start=start)


def test_every_scenario_is_an_instance_of_its_own(tmp_path: Path) -> None:
    """§6: a protocol's unit tests."""
    again = one_scenario(GO).replace("scenarios:\n", "").replace("name: it", "name: again")
    report = run_scenarios(tmp_path, HEAD + BODY, one_scenario(GO + "- {expect: {state: busy}}") + again)
    assert [result.passed for result in report.results] == [True, True]


# -- starts -----------------------------------------------------------------------------------------------------------


def test_a_start_is_implied_by_the_first_send(tmp_path: Path) -> None:
    """§6: a start is implied by the first `send`."""
    passes(tmp_path, "- {expect: {status: running, state: busy}}")


def test_a_start_may_be_written(tmp_path: Path) -> None:
    """§6: or written `{start: {message, inputs, roles}}`."""
    start = "- start: {message: {from: boss, send: Go, payload: {n: 1}}, inputs: {size: 7}, roles: {Worker: [w2]}}\n"
    passes(tmp_path, "- {expect: {state: busy, variables: {size: 7}, pending: {Worker: [w2]}}}", start=start)


def test_a_start_may_be_without_a_message(tmp_path: Path) -> None:
    """§6: or written `{start: {message, inputs, roles}}`, each of which may be left out."""
    passes(tmp_path, "- {expect: {state: idle}}", start="- {start: {roles: {Boss: [boss]}}}\n")


# -- further steps ----------------------------------------------------------------------------------------------------


def test_a_child_step_ends_the_oldest_running_one(tmp_path: Path) -> None:
    """§6: `{child: NAME, outcome, result}` (ends the oldest running one)."""
    passes(
        tmp_path,
        """
- {child: kid, outcome: success, result: {a: 1}}
- {expect: {variables: {got.0: "scenario:1:child:0", got.1: success}}}
- {child: kid, outcome: failure}
- {expect: {variables: {got.0: "scenario:1:child:1", got.1: failure}}}
""",
    )


def test_children_are_not_really_run(tmp_path: Path) -> None:
    """§6: children are not really run (there is no protocol `Kid` at all)."""
    passes(tmp_path, "- {advance: PT50M}\n- {expect: {state: busy, variables: {got: null}, incidents: 0}}")


def test_a_bind_step_answers_the_directory(tmp_path: Path) -> None:
    """§6: `{bind: {role, agents}}`."""
    passes(
        tmp_path,
        """
- {from: boss, send: Pass, payload: {}}
- {expect: {variables: {got: null}}}
- {bind: {role: Worker, agents: [w9]}}
- {expect: {variables: {got: [w9]}}}
""",
    )


def test_a_cancel_step_cancels(tmp_path: Path) -> None:
    """§6: `{cancel: reason}`."""
    passes(tmp_path, "- {cancel: no need}\n- {expect: {status: failure, state: busy}}")


def test_a_send_takes_an_id(tmp_path: Path) -> None:
    """§6: `send` also takes `id`: the same id is the same message."""
    ping = "- {from: boss, send: Ping, payload: {n: 2}, id: same}\n"
    passes(tmp_path, ping + ping + "- {expect: {variables: {users: [boss]}}}")


def test_a_send_takes_recipients(tmp_path: Path) -> None:
    """§6: `send` also takes `to`."""
    passes(
        tmp_path,
        """
- {expect: {received: {}}}
- {from: boss, send: Whisper, to: [w2]}
- {expect: {received: {w1: [], w2: [Whisper], w3: []}}}
""",
    )


def test_a_send_takes_the_user(tmp_path: Path) -> None:
    """§6: `send` also takes `user`."""
    passes(
        tmp_path,
        "- {from: boss, send: Ping, payload: {n: 2}, user: ann}\n- {expect: {variables: {users: [ann]}}}",
    )


def test_advance_fires_timers_up_to_and_including_its_end(tmp_path: Path) -> None:
    """§6: `advance` fires timers up to and including its end."""
    passes(
        tmp_path,
        """
- {advance: PT4M59S}
- {expect: {variables: {n: 0}, timers: [timeout, clock]}}
- {advance: PT1S}
- {expect: {variables: {n: 100}, timers: [timeout]}}
""",
    )


def test_advance_fires_what_the_fired_timers_set(tmp_path: Path) -> None:
    """§6: `advance` fires timers up to and including its end."""
    text = (
        HEAD
        + """
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: [{message: Go}, {event: Tick}]
    actions:
      - set_variable: {name: n, value: "${ n + 1 }"}
      - start_timer: {name: t, duration: PT1M, on_timeout: {event: Tick}}
"""
    )
    report = run_scenarios(
        tmp_path, text, one_scenario(GO + "- {advance: PT3M}\n- {expect: {variables: {n: 4}}}")
    )
    assert report.passed, render_report(report)
