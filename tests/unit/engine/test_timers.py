"""Timeouts, deadlines, named timers: when they fire, in which order, and what they do."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import TimerDue, next_due, timer_input
from tests.unit.engine.driver import HOUR, MINUTE, T0, Driver, deliveries, machine_of

COMMON = """
events: {Tick: {}, Tock: {n: integer}, Odd: {}}
variables: {ticks: {type: list<string>, initial: []}, length: {type: duration, initial: PT5M}}
"""


def driver_with(body: str) -> Driver:
    driver = Driver(machine_of(COMMON + body))
    driver.start()
    return driver


def test_a_timeout_raises_its_event_once_at_its_time() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Tick}}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {event: Tick}, actions: [{append_to_list: {list_name: ticks, value: tick}}]}
""")
    assert next_due(driver.it) == ("timeout", T0 + 10 * MINUTE)
    assert driver.advance(10 * MINUTE - 1) == []
    (made,) = driver.advance(1)
    assert made.verdict == "taken"
    assert driver.variables["ticks"] == ["tick"]
    assert driver.it.revision == 2
    assert next_due(driver.it) is None


def test_a_timers_id_is_a_function_of_the_instance_and_what_falls_due() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Tick}}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {event: Tick}}
""")
    due = T0 + 10 * MINUTE
    assert timer_input(driver.it, "timeout", due, due + 5) == TimerDue(
        f"i1:1:timeout@{due}", "timeout", due, due + 5
    )


def test_leaving_the_state_cancels_its_timeout() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Tick}}, calm]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: calm, trigger: {message: Ping}}
deadline: {after: PT1H, fail: over}
""")
    driver.send("w1", "Ping")
    assert [timer.key for timer in driver.it.timers] == ["deadline"]


def test_an_internal_self_transition_leaves_the_timeout_and_reenter_restarts_it() -> None:
    body = """
states: [idle, {{name: busy, on_entry: [{{log: entered}}], timeout: {{after: PT10M, event: Tick}}}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, to: busy, trigger: {{message: Ping}}{reenter}}}
  - {{from: busy, trigger: {{event: Tick}}}}
"""
    for reenter, due, logs in (("", 10, ()), (", reenter: true", 15, ("entered",))):
        driver = driver_with(body.format(reenter=reenter))
        driver.now += 5 * MINUTE
        made = driver.send("w1", "Ping")
        assert next_due(driver.it) == ("timeout", T0 + due * MINUTE)
        assert made.micro_steps[0].logs == logs


def test_a_timeout_may_go_to_a_state_or_fail() -> None:
    body = """
states:
  - idle
  - {{name: busy, on_exit: [{{log: left}}], timeout: {{after: PT10M, {effect}}}}}
  - {{name: calm, on_entry: [{{log: came}}]}}
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: calm, to: busy, trigger: {{message: Ping}}}}
"""
    driver = driver_with(body.format(effect="to: calm"))
    (made,) = driver.advance(10 * MINUTE)
    assert driver.it.state == "calm"
    assert [(move.transition, move.trigger, move.logs) for move in made.micro_steps] == [
        (None, "timer:timeout", ("left", "came"))
    ]
    driver = driver_with(body.format(effect='fail: "waited ${ length } too long"'))
    driver.advance(10 * MINUTE)
    assert (driver.it.status, driver.it.state) == ("failure", "busy")
    assert driver.it.error is not None
    assert driver.it.error.startswith("waited ")


def test_durations_are_evaluated_after_the_entry_actions() -> None:
    driver = driver_with("""
states:
  - idle
  - name: busy
    on_entry: [{set_variable: {name: length, value: PT7M}}]
    timeout: {after: $length, event: Tick}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {event: Tick}}
""")
    assert next_due(driver.it) == ("timeout", T0 + 7 * MINUTE)


def test_the_deadline_holds_for_the_whole_instance() -> None:
    driver = driver_with("""
states: [idle, busy, {name: late, final: failure}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}}
deadline: {after: PT1H, to: late}
""")
    driver.advance(HOUR - 1)
    driver.send("w1", "Ping")
    (made,) = driver.advance(1)
    assert (driver.it.state, driver.it.status) == ("late", "failure")
    assert made.micro_steps[0].trigger == "timer:deadline"


def test_a_deadline_may_be_a_time_of_the_starting_message() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions: [{from: idle, to: busy, trigger: {message: Go}}]
deadline: {at: "2030-01-01T03:00:00Z", fail: over}
""")
    assert next_due(driver.it) == ("deadline", T0 + 3 * HOUR)


NAMED = """
states: [idle, busy, calm]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
      - start_timer: {name: b, duration: PT10M, on_timeout: {event: Tock, payload: {n: "${ message.payload.n }"}}}
      - start_timer: {name: a, duration: PT10M, on_timeout: {event: Tick}}
  - {from: busy, to: calm, trigger: {message: Ping}}
  - {from: busy, trigger: {message: Done}, actions: [{cancel_timer: {name: b}}]}
  - from: busy
    trigger: {message: Pass}
    actions: [{start_timer: {name: b, duration: PT20M, on_timeout: {event: Tick}}}]
  - {from: "*", trigger: {event: Tick}, actions: [{append_to_list: {list_name: ticks, value: tick}}]}
  - from: "*"
    trigger: {event: Tock}
    actions: [{append_to_list: {list_name: ticks, value: "tock ${ event.payload.n }"}}]
"""


def test_timers_that_are_due_together_fire_in_the_order_set_each_as_its_own_step() -> None:
    driver = driver_with(NAMED)
    made = driver.advance(10 * MINUTE)
    assert driver.variables["ticks"] == ["tock 1", "tick"]
    assert len(made) == 2
    assert driver.it.revision == 3


def test_a_named_timer_outlives_states() -> None:
    driver = driver_with(NAMED)
    driver.send("w1", "Ping")
    driver.advance(10 * MINUTE)
    assert driver.variables["ticks"] == ["tock 1", "tick"]


def test_a_cancelled_timer_does_not_fire() -> None:
    driver = driver_with(NAMED)
    driver.send("w1", "Done")
    driver.advance(10 * MINUTE)
    assert driver.variables["ticks"] == ["tick"]
    assert driver.send("w2", "Done").verdict == "taken"


def test_starting_a_timer_again_restarts_it() -> None:
    driver = driver_with(NAMED)
    driver.send("boss", "Pass")
    driver.advance(10 * MINUTE)
    assert driver.variables["ticks"] == ["tick"]
    assert next_due(driver.it) == ("timer:b", T0 + 20 * MINUTE)


def test_a_timer_set_in_the_past_fires_in_the_next_step() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions: [{start_timer: {name: past, at: "2029-12-31T00:00:00Z", on_timeout: {event: Tick}}}]
  - {from: busy, trigger: {event: Tick}, actions: [{set_variable: {name: ticks, value: ["${ string(now) }"]}}]}
""")
    made = driver.fire()
    assert made.verdict == "taken"
    assert driver.it.now == T0
    assert driver.variables["ticks"] == ["2030-01-01T00:00:00Z"]


def test_a_timer_outside_of_the_calendar_is_an_error_of_the_step() -> None:
    driver = Driver(
        machine_of(
            COMMON
            + """
states: [idle, busy]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions: [{start_timer: {name: far, duration: P3000000D, on_timeout: {event: Tick}}}]
"""
        )
    )
    made = driver.start()
    assert made.verdict == "failed"
    assert "the timer far" in (made.error or "")


def test_an_event_of_a_timer_that_nothing_takes_is_dropped_and_noted() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Odd}}, calm]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: calm, to: busy, trigger: {event: Odd}}
""")
    (made,) = driver.advance(10 * MINUTE)
    assert made.verdict == "taken"
    assert made.notes == ("the event Odd was dropped: nothing takes it in state busy",)
    assert next_due(driver.it) is None


@pytest.mark.parametrize(
    ("key", "due"), [("timeout", T0), ("deadline", T0 + HOUR), ("debts", T0), ("timer:x", T0)]
)
def test_a_timer_that_is_not_what_falls_due_next_changes_nothing(key: str, due: int) -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Tick}}]
transitions: [{from: idle, to: busy, trigger: {message: Go}}, {from: busy, trigger: {event: Tick}}]
deadline: {after: PT1H, fail: over}
""")
    made = driver.take(TimerDue("t", key, due, T0 + HOUR))
    assert made.verdict == "ignored"
    assert made.after is made.before


def test_finishing_cancels_every_timer() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Tick}}, {name: over, final: success}]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions: [{start_timer: {name: a, duration: PT10M, on_timeout: {event: Tick}}}]
  - {from: busy, to: over, trigger: {message: Done}}
deadline: {after: PT1H, fail: over}
""")
    driver.send("w1", "Done")
    assert driver.it.timers == ()
    assert next_due(driver.it) is None


def test_automatic_transitions_are_tried_after_a_timer_too() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Odd}}, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, condition: "now >= timestamp('2030-01-01T00:10:00Z')"}
""")
    driver.advance(10 * MINUTE)
    assert driver.it.state == "over"


def test_time_never_goes_back() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions: [{from: idle, to: busy, trigger: {message: Go}}, {from: busy, trigger: {message: Ping}}]
""")
    driver.send("w1", "Ping", now=T0 + 50, received_at=T0 + 70)
    assert driver.it.now == T0 + 70
    driver.send("w1", "Ping", now=T0 + 10, received_at=T0 + 10)
    assert driver.it.now == T0 + 70


def test_nothing_is_delivered_by_a_timer_that_fails() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT10M, event: Tick}}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {event: Tick}
    actions:
      - send: {message: Note, payload: {n: 1}}
      - set_variable: {name: ticks, value: ["${ string(1 / ticks.size()) }"]}
""")
    (made,) = driver.advance(10 * MINUTE)
    assert made.verdict == "failed"
    assert deliveries(made) == []
    assert next_due(driver.it) is None
