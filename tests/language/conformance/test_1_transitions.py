"""The language's text, section 1, Transitions: what takes what, and in which order."""

from __future__ import annotations

import pytest

from tests.language.conformance.driver import HEAD, MINUTE, Run, errors_of, protocol, refusal, running

BODY = """
variables: {by: {type: string, initial: ""}}
states: [idle, busy, lazy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
%s
"""


def busy(*transitions: str) -> Run:
    """An instance in the state busy, which has these transitions."""
    return running(BODY % "\n".join(f"  - {one}" for one in transitions))


def says(word: str) -> str:
    """An action that tells which transition was taken."""
    return f"actions: [{{set_variable: {{name: by, value: {word}}}}}]"


# -- from, to ---------------------------------------------------------------------------------------------------------


def test_from_is_a_state() -> None:
    """§1 Transitions: `from`: a state, a list, or "*"."""
    run = busy("{from: busy, to: lazy, trigger: {message: Done}}")
    assert run.send("w1", "Done").verdict == "taken"
    assert run.state == "lazy"
    assert refusal(run.send("w1", "Done")).by == "unexpected"


def test_from_is_a_list_of_states() -> None:
    """§1 Transitions: `from`: a state, a list, or "*"."""
    run = busy("{from: [busy, lazy], to: lazy, trigger: {message: Done}}")
    assert [run.send("w1", "Done").verdict for _ in range(2)] == ["taken", "taken"]


def test_from_is_any_state_that_is_not_final() -> None:
    """§1 Transitions: "*" (any state that is not final)."""
    machine = protocol(BODY % '  - {from: "*", to: over, trigger: {message: Done}}\n')
    sources = {state for (state, key), found in machine.table.items() if key == "Done" and found}
    assert sources == {"idle", "busy", "lazy"}
    run = busy('{from: "*", to: over, trigger: {message: Done}}')
    run.send("w1", "Done")
    assert run.state == "over"
    assert refusal(run.send("w1", "Done")).by == "finished"


def test_without_a_target_it_stays() -> None:
    """§1 Transitions: `to`: omit: stay."""
    run = busy(f"{{from: busy, trigger: {{message: Done}}, {says('taken')}}}")
    run.send("w1", "Done")
    assert (run.state, run.variables["by"]) == ("busy", "taken")


# -- triggers ---------------------------------------------------------------------------------------------------------


def test_a_trigger_is_a_message() -> None:
    """§1 Transitions: {message: T, from: Role}."""
    run = busy("{from: busy, to: over, trigger: {message: Ping, from: Worker}}")
    assert refusal(run.send("boss", "Ping", {})).by == "unexpected"
    assert run.send("w1", "Ping", {}).verdict == "taken"


def test_a_message_trigger_without_a_role_takes_any_sender() -> None:
    """§1 Transitions: {message: T, from: Role}."""
    for sender in ("boss", "w1"):
        assert (
            busy("{from: busy, to: over, trigger: {message: Ping}}").send(sender, "Ping", {}).verdict
            == "taken"
        )


def test_a_trigger_is_an_event() -> None:
    """§1 Transitions: {event: E}."""
    run = busy(
        "{from: busy, trigger: {message: Done}, actions: [{emit: {event: E}}]}",
        "{from: busy, to: over, trigger: {event: E}}",
    )
    run.send("w1", "Done")
    assert run.state == "over"


STARTING = "{from: busy, trigger: {message: Done}, actions: [{start_protocol: {protocol: Kid, as: kid}}]}"


@pytest.mark.parametrize(
    ("trigger", "error", "state"),
    [
        ("{child: kid, outcome: success}", None, "over"),
        ("{child: kid, outcome: success}", "lost", "busy"),
        ("{child: kid, outcome: failure}", None, "busy"),
        ("{child: kid, outcome: failure}", "lost", "over"),
        ("{child: kid}", None, "over"),
        ("{child: kid}", "lost", "over"),
    ],
)
def test_a_trigger_is_the_end_of_a_child(trigger: str, error: str | None, state: str) -> None:
    """§1 Transitions: {child: NAME, outcome: success|failure}."""
    run = busy(STARTING, f"{{from: busy, to: over, trigger: {trigger}}}")
    run.send("w1", "Done")
    run.finish(error=error)
    assert run.state == state


def test_another_outcome_is_an_error() -> None:
    """§1 Transitions: {child: NAME, outcome: success|failure}."""
    wrong = BODY % f"  - {STARTING}\n  - {{from: busy, to: over, trigger: {{child: kid, outcome: done}}}}"
    assert [one.code for one in errors_of(wrong)] == ["bad-value"]


@pytest.mark.parametrize("way", ["message", "event", "child"])
def test_a_trigger_may_be_a_list_of_alternatives(way: str) -> None:
    """§1 Transitions: `trigger` may be a list of alternatives."""
    run = busy(
        STARTING,
        "{from: busy, trigger: {message: Talk}, actions: [{emit: {event: E}}]}",
        "{from: busy, to: over, trigger: [{message: Ping}, {event: E}, {child: kid}]}",
    )
    run.send("w1", "Done")
    match way:
        case "message":
            run.send("boss", "Ping", {})
        case "event":
            run.send("w1", "Talk", {"text": "x"})
        case _:
            run.finish()
    assert run.state == "over"


def test_each_alternative_may_name_its_role() -> None:
    """§1 Transitions: `trigger` may be a list of alternatives."""
    run = busy(
        "{from: busy, to: over, trigger: [{message: Ping, from: Worker}, {message: Talk, from: Worker}]}"
    )
    assert refusal(run.send("boss", "Ping", {})).by == "unexpected"
    assert run.send("w1", "Ping", {}).verdict == "taken"


def test_without_a_trigger_it_is_automatic() -> None:
    """§1 Transitions: with none the transition is **automatic**."""
    run = busy(
        f"{{from: busy, trigger: {{message: Done}}, {says('ready')}}}",
        "{from: busy, to: lazy, condition: by == 'ready'}",
        "{from: lazy, to: over}",
    )
    assert run.state == "busy"
    run.send("w1", "Done")
    assert run.state == "over"


def test_an_automatic_transition_fires_after_the_start_too() -> None:
    """§1 Transitions: with none the transition is **automatic**."""
    body = """
states: [idle, {name: over, final: success}]
transitions: [{from: idle, trigger: {message: Go}}, {from: idle, to: over, condition: instance.steps == 1}]
"""
    run = running(body, kind=None, named={"Boss": ("boss",)})
    assert run.state == "over"


# -- priority ---------------------------------------------------------------------------------------------------------


def test_the_first_match_in_the_document_is_taken() -> None:
    """§1 Transitions: the first match in document order is taken."""
    run = busy(
        f"{{from: busy, trigger: {{message: Ping}}, condition: has(message.payload.n), {says('first')}}}",
        f"{{from: busy, trigger: {{message: Ping}}, {says('second')}}}",
        f"{{from: busy, trigger: {{message: Ping}}, {says('third')}}}",
    )
    run.send("boss", "Ping", {})
    assert run.variables["by"] == "second"
    run.send("boss", "Ping", {"n": 1})
    assert run.variables["by"] == "first"


def test_a_role_that_does_not_fit_lets_the_next_one_try() -> None:
    """§1 Transitions: the first match in document order is taken."""
    run = busy(
        f"{{from: busy, trigger: {{message: Ping, from: Worker}}, {says('worker')}}}",
        f"{{from: busy, trigger: {{message: Ping}}, {says('other')}}}",
    )
    run.send("boss", "Ping", {})
    assert run.variables["by"] == "other"
    run.send("w1", "Ping", {})
    assert run.variables["by"] == "worker"


def test_a_named_state_comes_before_any_state() -> None:
    """§1 Transitions: a named state before `"*"`."""
    run = busy(
        f'{{from: "*", trigger: {{message: Ping}}, {says("any")}}}',
        f"{{from: busy, trigger: {{message: Ping}}, condition: '!has(message.payload.n)', {says('named')}}}",
    )
    run.send("boss", "Ping", {})
    assert run.variables["by"] == "named"
    run.send("boss", "Ping", {"n": 1})
    assert run.variables["by"] == "any"


def test_a_named_state_comes_before_any_state_for_events_and_automatic_transitions() -> None:
    """§1 Transitions: a named state before `"*"`."""
    run = busy(
        "{from: busy, trigger: {message: Done}, actions: [{emit: {event: E}}]}",
        f'{{from: "*", trigger: {{event: E}}, {says("any")}}}',
        f"{{from: busy, trigger: {{event: E}}, {says('named')}}}",
        "{from: '*', to: lazy, condition: by != ''}",
        "{from: busy, to: over, condition: by == 'named'}",
    )
    run.send("w1", "Done")
    assert run.state == "over"


def test_a_state_in_a_list_is_named() -> None:
    """§1 Transitions: a named state before `"*"`."""
    run = busy(
        f'{{from: "*", trigger: {{message: Done}}, {says("any")}}}',
        f"{{from: [lazy, busy], trigger: {{message: Done}}, {says('named')}}}",
    )
    run.send("w1", "Done")
    assert run.variables["by"] == "named"


# -- condition, actions, compensation ---------------------------------------------------------------------------------


def test_a_condition_that_does_not_hold_takes_nothing() -> None:
    """§1 Transitions: `condition`."""
    run = busy("{from: busy, to: over, trigger: {message: Ping}, condition: has(message.payload.n)}")
    assert refusal(run.send("boss", "Ping", {})).by == "unexpected"
    assert run.send("boss", "Ping", {"n": 1}).verdict == "taken"


def test_a_condition_stands_for_a_timers_event_too() -> None:
    """§1 Transitions: `condition`."""
    run = busy(
        "{from: busy, trigger: {message: Done}, actions:"
        " [{start_timer: {name: t, duration: PT1M, on_timeout: {event: E}}}]}",
        "{from: busy, to: lazy, trigger: {event: E}, condition: by == 'x'}",
        "{from: busy, to: over, trigger: {event: E}}",
    )
    run.send("w1", "Done")
    run.advance(MINUTE)
    assert run.state == "over"


def test_actions_and_compensation_belong_to_the_transition_that_is_taken() -> None:
    """§1 Transitions: `actions`, `compensation`."""
    run = busy(
        f"{{from: busy, trigger: {{message: Done}}, {says('acted')}, compensation: [{{log: undone}}]}}",
        "{from: busy, trigger: {message: Ping}, actions: [compensate]}",
    )
    run.send("w1", "Done")
    assert run.variables["by"] == "acted"
    made = run.send("boss", "Ping", {})
    assert [log for micro in made.micro_steps for log in micro.logs] == ["undone"]


def test_a_transition_of_a_state_that_does_not_exist_is_an_error() -> None:
    """§1 Transitions: `from`, `to`: a state."""
    for wrong in ("{from: bsy, to: over}", "{from: busy, to: ovr}"):
        assert "unknown-state" in [one.code for one in errors_of(BODY % f"  - {wrong}", head=HEAD)]
