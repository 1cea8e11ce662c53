"""Constraints: before, after, always, and each consequence."""

from __future__ import annotations

from strabo_runtime.engine import Outcome
from tests.unit.engine.driver import MINUTE, Driver, deliveries, machine_of, refusal

BODY = """
events: {{Alarm: {{why: string}}, Tick: {{}}}}
variables: {{count: {{type: integer, initial: 0}}, alarms: {{type: list<string>, initial: []}}}}
states: [idle, {{name: busy, timeout: {{after: PT10M, event: Tick}}}}, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - from: busy
    trigger: {{message: Ping}}
    actions: [{{set_variable: {{name: count, value: "${{ count + message.payload.n }}"}}}}]
  - from: busy
    trigger: {{event: Alarm}}
    actions: [{{append_to_list: {{list_name: alarms, value: $event.payload.why}}}}]
  - from: busy
    trigger: {{event: Tick}}
    actions: [{{set_variable: {{name: count, value: "${{ count + 100 }}"}}}}]
  - {{from: busy, to: over, trigger: {{message: Done}}}}
constraints:
{constraints}
"""


def driver_with(constraints: str) -> Driver:
    driver = Driver(machine_of(BODY.format(constraints=constraints)))
    driver.start()
    return driver


def test_all_violated_before_constraints_are_named_in_order_with_their_descriptions() -> None:
    driver = driver_with("""
  - {name: small, description: "At most ${ 3 }.", expression: message.payload.n <= 3, enforced_on: Ping}
  - {name: even, expression: message.payload.n % 2 == 0, enforced_on: Ping}
  - {name: fine, expression: "true", enforced_on: Ping}
""")
    rejection = refusal(driver.send("w1", "Ping", {"n": 5}))
    assert rejection.by == "constraint"
    assert rejection.constraints == ("small", "even")
    assert rejection.descriptions == ("At most 3.", "")
    assert driver.it.revision == 1


def test_a_before_constraint_is_checked_only_once_a_transition_matched() -> None:
    driver = driver_with('  - {name: never, expression: "false", enforced_on: Done}')
    driver.machine = machine_of(
        BODY.format(constraints='  - {name: never, expression: "false", enforced_on: Go}')
    )
    assert refusal(driver.send("boss", "Go", {"n": 1})).by == "unexpected"


def test_a_before_constraint_sees_the_state_before_anything_changes() -> None:
    driver = driver_with("  - {name: fresh, expression: count == 0, enforced_on: Ping}")
    assert driver.send("w1", "Ping", {"n": 1}).verdict == "taken"
    assert refusal(driver.send("w1", "Ping", {"n": 1})).constraints == ("fresh",)


def test_warn_records_and_lets_the_message_pass() -> None:
    driver = driver_with(
        "  - {name: small, description: Small., expression: message.payload.n < 3, enforced_on: Ping,"
        " on_violation: warn}"
    )
    made = driver.send("w1", "Ping", {"n": 5})
    assert made.verdict == "taken"
    assert made.warnings == ("small: Small.",)
    assert made.violations == ("small",)


def test_before_with_an_event_refuses_and_runs_the_event_as_a_step_of_its_own() -> None:
    driver = driver_with("""
  - name: small
    expression: message.payload.n < 3
    enforced_on: Ping
    on_violation: {event: Alarm, payload: {why: "too much: ${ message.payload.n }"}}
""")
    made = driver.send("w1", "Ping", {"n": 5}, id="p")
    assert made.verdict == "rejected"
    assert refusal(made).constraints == ("small",)
    assert driver.variables["alarms"] == ["too much: 5"]
    assert driver.variables["count"] == 0
    assert driver.it.revision == 2
    again = driver.send("w1", "Ping", {"n": 5}, id="p")
    assert again.verdict == "duplicate"
    assert again.rejection == made.rejection
    assert driver.it.revision == 2


def test_before_with_send_refuses_and_sends() -> None:
    driver = driver_with("""
  - name: small
    expression: message.payload.n < 3
    enforced_on: Ping
    on_violation: {send: {message: Note, payload: {n: $message.payload.n}}}
""")
    made = driver.send("w1", "Ping", {"n": 5})
    assert made.verdict == "rejected"
    assert deliveries(made) == [("Note", ("boss",))]


def test_before_with_fail_refuses_and_ends_the_instance() -> None:
    driver = driver_with(
        "  - {name: small, description: Small., expression: message.payload.n < 3, enforced_on: Ping,"
        " on_violation: fail}"
    )
    made = driver.send("w1", "Ping", {"n": 5})
    assert made.verdict == "rejected"
    assert driver.it.status == "failure"
    assert driver.it.error is not None
    assert "small" in driver.it.error or "Small." in driver.it.error
    assert any(isinstance(output, Outcome) for output in made.outputs)


def test_after_sees_what_the_transition_did_and_reject_undoes_it() -> None:
    driver = driver_with("  - {name: low, expression: count < 5, enforced_on: Ping, phase: after}")
    assert driver.send("w1", "Ping", {"n": 4}).verdict == "taken"
    made = driver.send("w1", "Ping", {"n": 4}, id="p")
    assert refusal(made).constraints == ("low",)
    assert made.violations == ("low",)
    assert driver.variables["count"] == 4
    assert driver.it.revision == 2
    assert driver.send("w1", "Ping", {"n": 4}, id="p").verdict == "duplicate"


def test_after_with_an_event_raises_it_in_the_same_step() -> None:
    driver = driver_with("""
  - name: low
    expression: count < 5
    enforced_on: Ping
    phase: after
    on_violation: {event: Alarm, payload: {why: high}}
""")
    made = driver.send("w1", "Ping", {"n": 9})
    assert made.verdict == "taken"
    assert driver.variables["alarms"] == ["high"]
    assert [move.trigger for move in made.micro_steps] == ["Ping", "!Alarm"]


def test_after_with_fail_ends_the_instance_in_its_state() -> None:
    driver = driver_with("  - {name: low, expression: count < 5, phase: after, on_violation: fail}")
    driver.send("w1", "Ping", {"n": 9})
    assert (driver.it.status, driver.it.state) == ("failure", "busy")


def test_always_is_checked_when_the_step_has_settled_and_undoes_it() -> None:
    driver = driver_with("  - {name: bounded, expression: count < 50, phase: always}")
    made = driver.send("w1", "Ping", {"n": 60})
    assert refusal(made).constraints == ("bounded",)
    assert driver.variables["count"] == 0


def test_always_on_a_timer_is_an_error_of_the_step_and_the_timer_is_consumed() -> None:
    driver = driver_with("  - {name: bounded, expression: count < 50, phase: always}")
    (made,) = driver.advance(10 * MINUTE)
    assert made.verdict == "failed"
    assert driver.variables["count"] == 0
    assert driver.it.timers == ()
    assert len(driver.it.incidents) == 1
    assert driver.advance(10 * MINUTE) == []


def test_a_before_constraint_on_every_step_that_rejects_a_timer_is_an_error_of_the_step() -> None:
    driver = driver_with("  - {name: calm, expression: instance.steps < 2}")
    (made,) = driver.advance(10 * MINUTE)
    assert made.verdict == "failed"
    assert "calm" in (made.error or "")


def test_a_constraint_that_cannot_be_evaluated_is_an_error_never_a_false() -> None:
    driver = driver_with("  - {name: odd, expression: 10 / message.payload.n > 1, enforced_on: Ping}")
    made = driver.send("w1", "Ping", {"n": 0})
    assert made.verdict == "failed"
    assert "odd" in (made.error or "")


def test_a_start_that_a_constraint_refuses_makes_no_instance() -> None:
    driver = Driver(
        machine_of(
            BODY.format(
                constraints="  - {name: small, expression: message.payload.n < 3, enforced_on: Go,"
                " on_violation: {event: Tick}}"
            )
        )
    )
    made = driver.start(payload={"n": 5})
    assert made.after is None
    assert refusal(made).constraints == ("small",)
