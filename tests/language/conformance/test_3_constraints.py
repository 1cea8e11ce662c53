"""The language's text, section 3, Constraints: when they are checked, and what a violation does."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from strabo_runtime.engine import Delivery
from strabo_runtime.worker.reporting import report_of, tell
from tests.language.conformance.driver import (
    MINUTE,
    Run,
    deliveries,
    errors_of,
    protocol,
    refusal,
    replies,
    running,
)

BODY = """
events: {{Odd: {{n: integer}}, Even: {{}}, Tick: {{}}}}
variables:
  n: {{type: integer, initial: 0}}
  seen: {{type: list<string>, initial: []}}
states:
  - idle
  - busy
  - {{name: over, final: success}}
transitions:
  - from: idle
    to: busy
    trigger: {{message: Go}}
    actions: [{{start_timer: {{name: t, duration: PT1M, on_timeout: {{event: Tick}}}}}}]
  - from: busy
    trigger: {{message: Ping}}
    actions:
      - set_variable: {{name: n, value: "${{ message.payload.n }}"}}
      - emit: {{event: Even}}
  - {{from: busy, trigger: {{event: Tick}}, actions: [{{set_variable: {{name: n, value: 9}}}}]}}
  - from: busy
    trigger: {{event: Odd}}
    actions: [{{append_to_list: {{list_name: seen, value: "odd ${{ event.payload.n }}"}}}}]
  - from: busy
    trigger: {{event: Even}}
    actions: [{{append_to_list: {{list_name: seen, value: even}}}}]
  - {{from: busy, to: over, trigger: {{message: Done}}}}
constraints: [{constraints}]
"""


def guarded(*constraints: str) -> Run:
    """An instance in `busy`, with these constraints."""
    return running(BODY.format(constraints=", ".join(constraints)))


def ping(run: Run, n: int, **more: Any) -> Any:
    return run.send("boss", "Ping", {"n": n}, **more)


# -- what may be written ----------------------------------------------------------------------------------------------


def test_a_description_may_hold_expressions() -> None:
    """§3: `description` may hold `${ }`."""
    run = guarded(
        '{name: low, description: "${ message.payload.n } is not less than ${ n + 5 }.",'
        " expression: message.payload.n < n + 5, enforced_on: Ping}"
    )
    assert refusal(ping(run, 7)).descriptions == ("7 is not less than 5.",)


def test_a_constraint_is_enforced_on_the_types_that_it_names() -> None:
    """§3: `enforced_on`: message types."""
    run = guarded("{name: never, expression: n > 99, enforced_on: [Ping, Talk]}")
    assert refusal(ping(run, 1)).by == "constraint"
    assert run.send("w1", "Done").verdict == "taken"


@pytest.mark.parametrize("phase", ["before", "after", "always"])
def test_without_enforced_on_a_constraint_holds_in_every_step(phase: str) -> None:
    """§3: `enforced_on` omitted: every step."""
    run = guarded(f"{{name: idle_or_less, expression: 'n < 0 || instance.steps == 1', phase: {phase}}}")
    assert refusal(ping(run, 1)).by == "constraint"
    assert refusal(run.send("w1", "Done")).by == "constraint"
    (timer,) = run.advance(MINUTE)
    assert timer.verdict == "failed"


def test_without_enforced_on_a_constraint_holds_in_the_start() -> None:
    """§3: `enforced_on` omitted: every step."""
    run = Run(protocol(BODY.format(constraints="{name: never, expression: n > 99}")))
    assert refusal(run.start()).constraints == ("never",)


def test_the_phase_is_before_where_none_is_written() -> None:
    """§3: `phase`: before (default)."""
    run = guarded("{name: zero, expression: n == 0, enforced_on: Ping}")
    assert ping(run, 5).verdict == "taken"
    assert refusal(ping(run, 0)).constraints == ("zero",)


def test_a_violation_refuses_where_nothing_else_is_written() -> None:
    """§3: `on_violation`: reject (default), which refuses the message."""
    run = guarded("{name: low, expression: message.payload.n < 5, enforced_on: Ping}")
    made = ping(run, 7)
    assert (made.verdict, refusal(made).by) == ("rejected", "constraint")
    assert replies(made) == [("boss", "rejected")]


# -- naming -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["before", "after", "always"])
def test_all_violated_constraints_are_named_in_order(phase: str) -> None:
    """§3: all violated constraints are named, in order."""
    wrong = "n > 99 || instance.steps == 1"
    run = guarded(
        f"{{name: b, expression: '{wrong}', enforced_on: Ping, phase: {phase}}}",
        f"{{name: fine, expression: n < 99, enforced_on: Ping, phase: {phase}}}",
        f"{{name: a, expression: '{wrong}', enforced_on: Ping, phase: {phase}}}",
    )
    assert refusal(ping(run, 1)).constraints == ("b", "a")


def test_a_refusal_names_the_constraint_and_its_description() -> None:
    """§3: a violation refuses the message, naming the constraint and its description."""
    run = guarded(
        "{name: low, description: Not so much., expression: message.payload.n < 5, enforced_on: Ping}"
    )
    made = refusal(ping(run, 7))
    assert (made.constraints, made.descriptions) == (("low",), ("Not so much.",))
    assert "low" in made.text
    assert "Not so much." in made.text


# -- before -----------------------------------------------------------------------------------------------------------


def test_before_is_checked_once_a_transition_matched() -> None:
    """§3: `before`: once a transition matched (a message that nothing takes is `unexpected`)."""
    run = guarded("{name: never, expression: instance.steps == 1, enforced_on: Go}")
    assert refusal(run.send("boss", "Go", {"n": 1})).by == "unexpected"


def test_before_is_checked_before_anything_changes() -> None:
    """§3: `before`: before anything changes."""
    run = guarded("{name: low, expression: message.payload.n < 5, enforced_on: Ping}")
    before = run.it
    ping(run, 7)
    assert (run.it.state, run.it.revision, run.variables) == (
        before.state,
        before.revision,
        before.variables.json,
    )


def test_before_sees_what_was_before_the_step() -> None:
    """§3: `before`: before anything changes."""
    run = guarded("{name: zero, expression: n == 0, enforced_on: Ping}")
    assert ping(run, 3).verdict == "taken"


def test_before_is_not_checked_for_a_transition_that_did_not_match() -> None:
    """§3: `before`: once a transition matched."""
    run = Run(protocol(BODY.format(constraints="{name: never, expression: n > 99, enforced_on: Ping}")))
    assert run.start().verdict == "taken"


EVENT = '{name: low, expression: message.payload.n < 5, enforced_on: Ping, on_violation: {event: Odd, payload: {n: "${ message.payload.n }"}}}'  # noqa: E501
SEND = '{name: low, expression: message.payload.n < 5, enforced_on: Ping, on_violation: {send: {message: Note, payload: {n: "${ message.payload.n }"}}}}'  # noqa: E501


@pytest.mark.parametrize("constraint", [EVENT, SEND])
def test_a_violation_with_an_event_or_a_message_refuses_too(constraint: str) -> None:
    """§3: `before`: a violation refuses the message; `{event}` and `{send}` *then* run."""
    run = guarded(constraint)
    made = ping(run, 7)
    assert refusal(made).constraints == ("low",)
    assert ("boss", "rejected") in replies(made)
    assert run.variables["n"] == 0


def test_the_event_of_a_violation_runs_as_a_step_of_the_refused_inputs_own() -> None:
    """§3: `{event}` then runs as a step of the refused input's own."""
    run = guarded(EVENT)
    before = run.it.revision
    ping(run, 7)
    assert run.variables["seen"] == ["odd 7"]
    assert run.it.revision == before + 1


def test_the_message_of_a_violation_is_sent_in_a_step_of_the_refused_inputs_own() -> None:
    """§3: `{send}` then runs as a step of the refused input's own."""
    run = guarded(SEND)
    before = run.it.revision
    made = ping(run, 7)
    assert deliveries(made) == [("Note", ("boss",))]
    assert [output.payload for output in made.outputs if isinstance(output, Delivery)] == [{"n": 7}]
    assert run.it.revision == before + 1


@pytest.mark.parametrize("constraint", [EVENT, SEND])
def test_a_refusal_repeated_runs_nothing_again(constraint: str) -> None:
    """§4 Known?: same id and content: the same answer again, taken or refused, no effect."""
    run = guarded(constraint)
    ping(run, 7, id="same")
    before = run.it
    made = ping(run, 7, id="same")
    assert replies(made) == [("boss", "rejected")]
    assert deliveries(made) == []
    assert run.it == before


# -- after ------------------------------------------------------------------------------------------------------------


def test_after_sees_what_the_inputs_own_transition_did() -> None:
    """§3: `after`: when the input's own transition has acted."""
    run = guarded("{name: low, expression: n < 5, enforced_on: Ping, phase: after}")
    assert ping(run, 3).verdict == "taken"
    assert refusal(ping(run, 7)).constraints == ("low",)


def test_after_sees_the_state_that_was_entered() -> None:
    """§4 Actions: leave actions, the transition's, entry actions; then `after` constraints."""
    run = guarded("{name: busy, expression: instance.state == 'busy', enforced_on: Done, phase: after}")
    assert refusal(run.send("w1", "Done")).constraints == ("busy",)


def test_after_is_checked_before_raised_events() -> None:
    """§3: `after`: before raised events."""
    run = guarded("{name: unseen, expression: seen.size() == 0, enforced_on: Ping, phase: after}")
    assert ping(run, 3).verdict == "taken"
    assert run.variables["seen"] == ["even"]


AUTOMATIC = """
variables: {{n: {{type: integer, initial: 0}}}}
states: [idle, busy, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, to: over, actions: [{{set_variable: {{name: n, value: 1}}}}]}}
constraints: [{{name: c, expression: n == {n}, phase: {phase}}}]
"""


def test_after_is_checked_before_automatic_transitions() -> None:
    """§3: `after`: before automatic transitions."""
    assert running(AUTOMATIC.format(n=0, phase="after")).state == "over"


def test_after_is_checked_once() -> None:
    """§3: `after`: once."""
    run = guarded("{name: warned, expression: n > 99, enforced_on: Ping, phase: after, on_violation: warn}")
    assert ping(run, 3).violations == ("warned",)


# -- always -----------------------------------------------------------------------------------------------------------


def test_always_is_checked_when_the_step_has_settled() -> None:
    """§3: `always`: when the step has settled."""
    assert running(AUTOMATIC.format(n=1, phase="always")).state == "over"
    run = Run(protocol(AUTOMATIC.format(n=0, phase="always")))
    assert refusal(run.start()).constraints == ("c",)


def test_always_sees_what_raised_events_did() -> None:
    """§3: `always`: when the step has settled."""
    run = guarded("{name: unseen, expression: seen.size() == 0, phase: always}")
    assert refusal(ping(run, 3)).constraints == ("unseen",)


def test_always_raises_no_events() -> None:
    """§3: `always` (it raises no events)."""
    constraint = "{name: c, expression: n < 5, phase: always, on_violation: {event: Odd, payload: {n: 1}}}"
    found = errors_of(BODY.format(constraints=constraint))
    assert [one.code for one in found] == ["bad-combination"]


# -- what a violation does --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["after", "always"])
def test_a_reject_undoes_the_step_of_a_message_and_refuses_it(phase: str) -> None:
    """§3: `reject` in `after` or `always` undoes the step: a message is refused."""
    run = guarded(f"{{name: low, expression: n < 5, phase: {phase}}}")
    before = run.it
    made = ping(run, 7)
    assert (made.verdict, refusal(made).by) == ("rejected", "constraint")
    assert deliveries(made) == []
    assert (run.it.variables, run.it.revision, run.it.timers) == (
        before.variables,
        before.revision,
        before.timers,
    )


@pytest.mark.parametrize("phase", ["after", "always"])
def test_a_reject_undoes_the_step_of_a_timer_as_an_error(phase: str) -> None:
    """§3: any other input is a step error."""
    run = guarded(f"{{name: low, expression: n < 5, phase: {phase}}}")
    (made,) = run.advance(MINUTE)
    assert made.verdict == "failed"
    assert "low" in (made.error or "")
    assert run.variables["n"] == 0
    assert len(run.it.incidents) == 1


@pytest.mark.parametrize("phase", ["before", "after", "always"])
def test_a_warning_is_recorded_and_the_step_goes_on(phase: str) -> None:
    """§3: `warn` records and alerts."""
    run = guarded(f"{{name: low, expression: n > 99, phase: {phase}, enforced_on: Ping, on_violation: warn}}")
    made = ping(run, 7)
    assert (made.verdict, run.variables["n"]) == ("taken", 7)
    assert made.violations == ("low",)
    assert len(made.warnings) == 1
    assert "low" in made.warnings[0]


def test_a_warning_alerts_whoever_runs_the_worker() -> None:
    """§3: `warn` records and *alerts*: a warning in the worker's structured log."""
    run = guarded(
        "{name: low, description: Too much., expression: n > 99, enforced_on: Ping, on_violation: warn}"
    )
    report = report_of(ping(run, 7), "i1", "Sample")
    assert report is not None
    with capture_logs() as told:
        tell([report])
    assert [(one["log_level"], one["constraint"]) for one in told] == [("warning", "low: Too much.")]


def test_a_warning_refuses_nothing_and_is_not_named_in_a_refusal() -> None:
    """§3: `warn` records; a refusal names the constraints that refuse."""
    run = guarded(
        "{name: warned, expression: n > 99, enforced_on: Ping, on_violation: warn}",
        "{name: low, expression: n > 99, enforced_on: Ping}",
    )
    made = ping(run, 7)
    assert refusal(made).constraints == ("low",)
    assert made.violations == ("warned", "low")


@pytest.mark.parametrize("phase", ["before", "after", "always"])
def test_a_fail_ends_the_instance_as_failed(phase: str) -> None:
    """§3: `fail` ends the instance as failed."""
    run = guarded(f"{{name: low, expression: n > 99, phase: {phase}, enforced_on: Ping, on_violation: fail}}")
    ping(run, 7)
    assert run.it.status == "failure"
    assert "low" in (run.it.error or "")


@pytest.mark.parametrize(
    ("action", "effect"),
    [("{event: Odd, payload: {n: 1}}", ["odd 1"]), ("{send: {message: Note, payload: {n: 1}}}", [])],
)
def test_after_an_event_or_a_message_follows_and_the_step_stands(action: str, effect: list[str]) -> None:
    """§3: `on_violation`: `{event: X, payload: {...}}` | `{send: {...}}`."""
    run = guarded(
        f"{{name: low, expression: n < 5, phase: after, enforced_on: Ping, on_violation: {action}}}"
    )
    made = ping(run, 7)
    assert (made.verdict, run.variables["n"]) == ("taken", 7)
    assert [seen for seen in run.variables["seen"] if seen != "even"] == effect
    assert deliveries(made) == ([] if effect else [("Note", ("boss",))])


def test_always_may_send() -> None:
    """§3: `on_violation`: `{send: {...}}`; `always` raises no events, and nothing more."""
    run = guarded(
        "{name: low, expression: n < 5, phase: always, on_violation: {send: {message: Note, payload: {n: 1}}}}"
    )
    assert deliveries(ping(run, 7)) == [("Note", ("boss",))]
