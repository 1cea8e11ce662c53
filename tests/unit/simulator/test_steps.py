"""Every kind of step that a scenario may have (language, §6)."""

from __future__ import annotations

from pathlib import Path

from strabo_runtime.simulator import render_report
from tests.unit.simulator.steps_support import mismatch, passes, run

SWAP = "      - {from: b, send: Swap}\n"


def test_a_start_passes_inputs(tmp_path: Path) -> None:
    passes(tmp_path, "      - {expect: {variables: {title: house, limit: 3}}}\n")


def test_an_input_given_wins_over_its_default(tmp_path: Path) -> None:
    start = (
        "      - start: {message: {from: b, send: Order, payload: {what: w}}, inputs: {title: t, limit: 7}}\n"
    )
    passes(tmp_path, "      - {expect: {variables: {limit: 7}}}\n", start=start)


def test_a_start_without_a_required_input_is_refused_as_schema(tmp_path: Path) -> None:
    passes(
        tmp_path,
        "      - {expect: {rejected: [{from: b, message: Order, by: schema}]}}\n",
        start="      - {from: b, send: Order, payload: {what: wall}}\n",
    )


def test_a_start_without_a_message_is_refused_under_the_word_start(tmp_path: Path) -> None:
    passes(
        tmp_path,
        "      - {expect: {rejected: [{from: starter, message: start, by: schema}]}}\n",
        start="      - {start: {roles: {Boss: [b]}}}\n",
    )


# -- children ---------------------------------------------------------------------------------------------------------


def test_a_child_step_ends_the_oldest_running_one(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
      - {child: part, outcome: success, result: {price: 5.0}}
      - {expect: {state: working, variables: {price: 5.0}}}
      - {child: part, outcome: success, result: {price: 6.0}}
      - {expect: {variables: {price: 6.0}}}
""",
    )


def test_a_failed_child_has_an_error(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
      - {child: part, outcome: failure, error: too dear}
      - {expect: {state: undone, status: failure, variables: {why: too dear}}}
""",
    )


def test_a_failed_child_whose_error_is_not_told_has_failed(tmp_path: Path) -> None:
    passes(
        tmp_path,
        "      - {child: part, outcome: failure}\n      - {expect: {variables: {why: failed}}}\n",
    )


def test_a_child_may_emit_an_event_to_its_parent(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
      - {child: part, event: Halfway, payload: {percent: 50}}
      - {expect: {variables: {progress: 50}}}
""",
    )


def test_ending_a_child_that_does_not_run_fails_the_scenario(tmp_path: Path) -> None:
    ended = "      - {child: part, outcome: success, result: {price: 1.0}}\n"
    assert mismatch(tmp_path, ended * 3) == (
        "child part",
        "a running child",
        "none of the 2 started is running",
    )


def test_ending_a_child_before_there_is_an_instance_fails_the_scenario(tmp_path: Path) -> None:
    what, _, found = mismatch(tmp_path, "      - {child: part, outcome: success}\n", start="")
    assert (what, found) == ("child part", "there is no instance: it was not started")


# -- the directory ----------------------------------------------------------------------------------------------------


def test_a_request_is_answered_from_the_roles_of_the_file(tmp_path: Path) -> None:
    passes(
        tmp_path,
        SWAP + "      - {expect: {state: working, pending: {Worker: []}, rejected: []}}\n"
        "      - {advance: PT1M}\n      - {expect: {state: working}}\n",
    )


def test_a_request_that_the_roles_cannot_answer_finds_nobody(tmp_path: Path) -> None:
    passes(
        tmp_path,
        SWAP * 3 + "      - {expect: {state: undone}}\n",
    )


def test_a_bind_step_answers_the_oldest_open_request_of_its_role(tmp_path: Path) -> None:
    passes(
        tmp_path,
        SWAP
        + """
      - {expect: {state: working}}
      - {bind: {role: Worker, agents: [w9]}}
      - {expect: {state: working}}
""",
    )


def test_a_bind_step_may_find_nobody(tmp_path: Path) -> None:
    passes(
        tmp_path,
        SWAP + "      - {bind: {role: Worker, agents: []}}\n      - {expect: {state: undone}}\n",
    )


def test_requests_wait_where_a_scenario_has_a_bind_step_for_their_role(tmp_path: Path) -> None:
    passes(
        tmp_path,
        SWAP
        + """
      - {advance: PT1H}
      - {expect: {state: working}}
      - {bind: {role: Worker, agents: []}}
      - {expect: {state: undone}}
""",
    )


def test_a_bind_step_without_a_request_fails_the_scenario(tmp_path: Path) -> None:
    assert mismatch(tmp_path, "      - {bind: {role: Worker, agents: [w9]}}\n") == (
        "bind Worker",
        "an open request",
        "no request is open",
    )


# -- cancelling, deferring --------------------------------------------------------------------------------------------


def test_a_cancel_step_raises_cancelled(tmp_path: Path) -> None:
    passes(tmp_path, "      - {cancel: too late}\n      - {expect: {state: undone, status: failure}}\n")


def test_cancelling_before_there_is_an_instance_fails_the_scenario(tmp_path: Path) -> None:
    assert mismatch(tmp_path, "      - {cancel: too late}\n", start="")[0] == "cancel"


def test_a_deferred_message_is_taken_when_its_state_has_come(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
      - {from: b, send: Note, payload: {text: hello}}
      - {expect: {state: working, rejected: [], variables: {notes: []}}}
      - {from: b, send: Stop}
      - {expect: {state: done, variables: {notes: [hello]}}}
""",
    )


def test_a_message_deferred_to_the_end_is_refused_as_finished(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
      - {from: b, send: Note, payload: {text: hello}}
      - {child: part, outcome: failure}
      - {expect: {state: undone, rejected: [{from: b, message: Note, by: finished}]}}
""",
    )


# -- what is reported -------------------------------------------------------------------------------------------------


def test_transitions_by_children_that_nothing_reached_are_named_in_words(tmp_path: Path) -> None:
    report = run(tmp_path, "      - {expect: {state: working}}\n")
    assert report.coverage is not None
    assert "3: working -> undone on the end of the child part with failure" in report.coverage.transitions


def test_a_compensation_that_never_ran_is_reported(tmp_path: Path) -> None:
    report = run(tmp_path, "      - {expect: {state: working}}\n")
    assert report.coverage is not None
    assert report.coverage.compensations == ("1: idle -> working on Order",)
    assert "compensations that nothing reached (1 of 1):" in render_report(report)


def test_a_compensation_that_ran_is_reached(tmp_path: Path) -> None:
    report = run(tmp_path, "      - {child: part, outcome: failure}\n      - {expect: {state: undone}}\n")
    assert report.coverage is not None
    assert report.coverage.compensations == ()


def test_a_compensation_that_a_success_makes_needless_is_not_reached(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        """
      - {from: b, send: Stop}
      - {from: b, send: Note, payload: {text: hello}}
      - {expect: {state: done}}
""",
    )
    assert report.coverage is not None
    assert report.coverage.compensations == ("1: idle -> working on Order",)


def test_messages_that_nobody_had_to_defer_are_told(tmp_path: Path) -> None:
    report = run(tmp_path, "      - {expect: {state: working}}\n")
    assert report.coverage is not None
    assert report.coverage.never_deferred == ("Note",)


def test_what_a_retried_message_reaches_counts(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        """
      - {from: b, send: Note, payload: {text: hello}}
      - {from: b, send: Stop}
      - {expect: {state: done}}
""",
    )
    assert report.coverage is not None
    assert report.coverage.never_deferred == ()
    assert not any("on Note" in name for name in report.coverage.transitions)


def test_a_failure_tells_what_children_and_the_directory_did(tmp_path: Path) -> None:
    shown = render_report(
        run(
            tmp_path,
            SWAP
            + """
      - {from: b, send: Note, payload: {text: hello}}
      - {bind: {role: Worker, agents: [w9]}}
      - {child: part, event: Halfway, payload: {percent: 1}}
      - {child: part, outcome: success, result: {price: 1.0}}
      - {cancel: enough}
      - {expect: {state: done}}
""",
        )
    )
    for words in (
        "+ part (Part)",
        "? 1 for Worker",
        "b sends Note                                  deferred",
        "the directory finds w9",
        "child part emits Halfway",
        "child part ends with success",
        "operator cancels: enough",
        "x child part",
        "! Note of b refused (finished)",
    ):
        assert words in shown, (words, shown)


def test_a_large_difference_is_shown_line_by_line(tmp_path: Path) -> None:
    wanted = ", ".join(f"text {number}" for number in range(12))
    shown = render_report(run(tmp_path, f"      - {{expect: {{variables: {{notes: [{wanted}]}}}}}}\n"))
    assert "- expected, + found" in shown
    assert '-   "text 5",' in shown
    assert "+ []" in shown
