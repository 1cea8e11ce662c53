"""Cancelling an instance from outside: with and without a transition that takes it."""

from __future__ import annotations

from strabo_runtime.engine import Cancel, ChildCancel, Outcome, next_due
from tests.unit.engine.driver import MINUTE, T0, Driver, machine_of

PLAIN = """
variables: {n: {type: integer, initial: 0}, why: string?}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Done}}
"""
GRACEFUL = """
variables: {n: {type: integer, initial: 0}, why: string?}
states: [idle, busy, closing, {name: over, final: success}, {name: stopped, final: failure}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    to: closing
    trigger: {event: Cancelled}
    condition: event.payload.reason != 'never mind'
    actions: [{set_variable: {name: why, value: $event.payload.reason}}]
  - {from: closing, to: stopped, trigger: {message: Done}}
  - {from: busy, to: over, trigger: {message: Done}}
deadline: {after: PT1H, fail: too long}
"""


def started(body: str) -> Driver:
    driver = Driver(machine_of(body))
    driver.start()
    return driver


def test_an_instance_that_takes_no_cancellation_fails_as_cancelled() -> None:
    driver = started(PLAIN)
    made = driver.cancel("budget cut")
    assert made.verdict == "taken"
    assert (driver.it.status, driver.it.error, driver.it.state) == ("failure", "cancelled", "busy")
    assert any("budget cut" in note for note in made.notes)
    (outcome,) = [output for output in made.outputs if isinstance(output, Outcome)]
    assert outcome.error == "cancelled"


def test_a_cancellation_is_answered_by_no_reply() -> None:
    assert [type(output) for output in started(PLAIN).cancel().outputs] == [Outcome]


def test_an_instance_that_takes_its_cancellation_lives_on() -> None:
    driver = started(GRACEFUL)
    driver.cancel("budget cut")
    assert (driver.it.status, driver.it.state) == ("running", "closing")
    assert driver.variables["why"] == "budget cut"
    driver.send("w1", "Done")
    assert driver.it.state == "stopped"


def test_an_instance_that_lives_on_is_still_under_its_deadline() -> None:
    driver = started(GRACEFUL)
    driver.cancel()
    assert next_due(driver.it) == ("deadline", T0 + 60 * MINUTE)
    driver.advance(60 * MINUTE)
    assert driver.it.error == "too long"


def test_a_transition_whose_condition_does_not_hold_takes_no_cancellation() -> None:
    driver = started(GRACEFUL)
    driver.cancel("never mind")
    assert driver.it.error == "cancelled"


def test_a_second_cancellation_of_one_that_lives_on_fails_it() -> None:
    driver = started(GRACEFUL)
    driver.cancel()
    driver.cancel()
    assert (driver.it.status, driver.it.error) == ("failure", "cancelled")


def test_a_repeated_cancellation_has_one_effect() -> None:
    driver = started(GRACEFUL)
    made = driver.cancel()
    assert driver.take(made.input).verdict == "duplicate"
    assert driver.it.status == "running"


def test_a_cancellation_that_comes_too_late_is_ignored() -> None:
    driver = started(PLAIN)
    driver.send("w1", "Done")
    made = driver.cancel()
    assert made.verdict == "ignored"
    assert made.outputs == ()
    assert driver.it.status == "success"


def test_a_cancellation_of_no_instance_is_ignored() -> None:
    made = Driver(machine_of(PLAIN)).take(Cancel("c", "ops", "x", T0, T0))
    assert made.verdict == "ignored"


def test_a_failing_transition_for_the_cancellation_undoes_it() -> None:
    driver = started(GRACEFUL.replace("value: $event.payload.reason", 'value: "${ string(1 / n) }"'))
    made = driver.cancel()
    assert made.verdict == "failed"
    assert (driver.it.status, driver.it.state) == ("running", "busy")
    assert len(driver.it.incidents) == 1


def test_a_cancelled_instance_cancels_its_children() -> None:
    actions = "actions: [{start_protocol: {protocol: Errand, as: kid}}]"
    driver = started(PLAIN.replace("trigger: {message: Go}", "trigger: {message: Go}, " + actions))
    made = driver.cancel()
    assert [output.to for output in made.outputs if isinstance(output, ChildCancel)] == ["i1:1:child:0"]


def test_a_cancellation_raises_no_event_of_a_kept_back_transition() -> None:
    guard = "constraints: [{name: locked, expression: n > 0, on_violation: {event: Locked}}]\nevents: {Locked: {}}\n"
    driver = Driver(
        machine_of(GRACEFUL + guard.replace("expression: n > 0", "expression: instance.state != 'busy'"))
    )
    driver.start()
    made = driver.cancel()
    assert driver.it.state == "busy"
    assert "the event Locked was dropped: nothing takes it in state busy" in made.notes
