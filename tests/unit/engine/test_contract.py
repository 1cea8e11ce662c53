"""Sentences of the language's contract that no other test holds, section by section."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.engine import Delivery, Start, Step, next_due
from strabo_runtime.engine.outputs import Outcome, Reply
from strabo_runtime.language import load
from tests.unit.engine.driver import HEAD, HOUR, MINUTE, T0, Driver, deliveries, machine_of, refusal

STARTED = """
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
"""


def driver_with(body: str, head: str = HEAD) -> Driver:
    return Driver(machine_of(body, head))


def sent(made: Step) -> list[Delivery]:
    return [output for output in made.outputs if isinstance(output, Delivery)]


def outcome(made: Step) -> Outcome:
    [found] = [output for output in made.outputs if isinstance(output, Outcome)]
    return found


# -- 1 Participants ---------------------------------------------------------------------------------------------------


def test_1_fewer_named_agents_than_the_minimum_refuse_the_start() -> None:
    driver = driver_with("states: [idle, busy]" + STARTED, HEAD.replace("min: 1, max: 5", "min: 2, max: 5"))
    rejection = refusal(driver.start(named={"Worker": ("w1",)}))
    assert rejection.by == "quorum"
    assert "Worker" in rejection.text
    assert "w1" in rejection.text


def test_1_message_user_is_who_acted_for_a_human_role() -> None:
    driver = driver_with("""
variables: {by: string?}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ruling}, actions: [{set_variable: {name: by, value: $message.user}}]}
""")
    driver.start()
    driver.send("human:Judge", "Ruling", user="anna")
    assert driver.variables["by"] == "anna"


def test_1_what_an_action_sends_to_an_engine_role_is_consumed() -> None:
    head = HEAD.replace("  Ask:", "  Memo: {from: Desk, to: [Desk, Boss], payload: {}}\n  Ask:")
    driver = driver_with(
        """
states:
  - idle
  - {name: busy, on_entry: [{send: {message: Memo, payload: {}}}, {send: {message: Memo, to: Desk, payload: {}}}]}
"""
        + STARTED,
        head,
    )
    assert deliveries(driver.start()) == [("Memo", ("boss",))]


# -- 1 Types ----------------------------------------------------------------------------------------------------------


def test_1_an_optional_field_given_as_null_counts_as_missing() -> None:
    driver = driver_with("""
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Ping}, condition: "!has(message.payload.n)"}
""")
    driver.start()
    driver.send("w1", "Ping", {"n": None})
    assert driver.it.state == "over"


def test_1_a_bare_path_copies_untyped_json_unchanged() -> None:
    head = HEAD.replace("  Ask:", "  Free: {from: Boss, to: Desk, payload: {value: any}}\n  Ask:")
    driver = driver_with(
        """
variables: {kept: any}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Free}, actions: [{set_variable: {name: kept, value: $message.payload.value}}]}
""",
        head,
    )
    driver.start()
    value = {"count": 1, "share": 1.0, "none": None, "list": [1, "a", {"b": False}]}
    driver.send("boss", "Free", {"value": value})
    assert repr(driver.variables["kept"]) == repr(value)


# -- 1 Message types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "to", "seen"),
    [("Talk", None, ["w2", "w3"]), ("Talk", ("w3",), ["w3"]), ("Pass", None, ["w1"])],
)
def test_1_message_to_is_the_resulting_list(kind: str, to: Any, seen: list[str]) -> None:
    driver = driver_with("""
variables: {to: {type: list<string>, initial: []}}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: [{message: Talk}, {message: Pass}], actions: [{set_variable: {name: to, value: $message.to}}]}
""")
    driver.start()
    sender, payload = ("w1", {"text": "a"}) if kind == "Talk" else ("boss", {})
    driver.send(sender, kind, payload, to=to)
    assert driver.variables["to"] == seen


def test_1_in_reply_to_is_the_requests_id_and_goes_on_with_the_message() -> None:
    driver = driver_with("""
variables: {about: string?}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Talk}, actions: [{set_variable: {name: about, value: $message.in_reply_to}}]}
""")
    driver.start()
    made = driver.send("w1", "Talk", {"text": "a"}, in_reply_to="i1:1:0")
    assert driver.variables["about"] == "i1:1:0"
    assert [delivery.in_reply_to for delivery in sent(made)] == ["i1:1:0"]


# -- 1 States ---------------------------------------------------------------------------------------------------------


def test_1_a_timeout_may_be_at_a_time() -> None:
    driver = driver_with(
        """
states:
  - idle
  - {name: busy, timeout: {at: "2030-01-01T02:00:00Z", to: over}}
  - {name: over, final: success}
"""
        + STARTED
    )
    driver.start()
    assert next_due(driver.it) == ("timeout", T0 + 2 * HOUR)
    driver.fire()
    assert driver.it.state == "over"


def test_1_a_debt_without_within_never_lapses() -> None:
    driver = driver_with("states: [idle, {name: busy, expects: [{message: Done, from: Worker}]}]" + STARTED)
    driver.start()
    assert next_due(driver.it) is None
    assert [debt.agent for debt in driver.it.pending] == ["w1", "w2", "w3"]


def test_1_a_debt_that_lapses_without_an_effect_is_settled_and_lets_automatic_transitions_go_on() -> None:
    driver = driver_with("""
states: [idle, {name: busy, expects: [{message: Done, from: Worker, within: PT1M}]}, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Done}}
  - {from: busy, to: over, condition: pending.Worker.size() == 0}
""")
    driver.start()
    driver.advance(MINUTE)
    assert driver.it.state == "over"
    assert driver.it.roles["Worker"] == ("w1", "w2", "w3")


def test_1_expects_may_be_settled_by_the_starting_message() -> None:
    driver = driver_with("""
states: [{name: idle, expects: [{message: Go, from: Boss, within: PT1M}]}, busy]
transitions:
  - {from: idle, trigger: {message: Go}}
""")
    driver.start()
    assert driver.it.pending == ()


# -- 1 Transitions ----------------------------------------------------------------------------------------------------


def test_1_the_same_state_is_entered_from_others_and_kept_from_itself() -> None:
    driver = driver_with("""
variables: {entered: {type: integer, initial: 0}}
states: [idle, {name: busy, on_entry: [{set_variable: {name: entered, value: "${ entered + 1 }"}}]}]
transitions:
  - {from: [idle, busy], to: busy, trigger: [{message: Go}, {message: Ping}]}
""")
    driver.start()
    driver.send("w1", "Ping")
    assert driver.variables["entered"] == 1


def test_1_any_state_means_none_that_is_final() -> None:
    machine = machine_of("""
states: [idle, {name: over, final: success}]
transitions:
  - {from: "*", to: over, trigger: {message: Go}}
""")
    assert set(machine.table) == {("idle", "Go")}


# -- 1 Actions --------------------------------------------------------------------------------------------------------


def test_1_fail_in_a_leave_action_keeps_the_state_and_skips_the_rest() -> None:
    driver = driver_with("""
variables: {n: {type: integer, initial: 0}}
states: [{name: idle, on_exit: [{fail: no way}]}, {name: busy, on_entry: [{set_variable: {name: n, value: 2}}]}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, actions: [{set_variable: {name: n, value: 1}}]}
""")
    made = driver.start()
    assert (driver.it.state, driver.it.status, driver.it.error) == ("idle", "failure", "no way")
    assert driver.variables["n"] == 0
    assert outcome(made).status == "failure"


def test_1_cancelling_a_timer_that_is_not_set_does_nothing() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
      - cancel_timer: {name: t}
      - start_timer: {name: t, duration: PT1M, on_timeout: {event: E}}
      - cancel_timer: {name: t}
      - cancel_timer: {name: t}
""")
    assert driver.start().verdict == "taken"
    assert driver.it.timers == ()


def test_1_a_broadcast_is_one_record_however_many_are_bound() -> None:
    workers = tuple(f"w{number}" for number in range(5))
    driver = Driver(
        machine_of(
            "states: [idle, {name: busy, on_entry: [{broadcast: {message: Tell, payload: {n: 1}}}]}]"
            + STARTED
        ),
        workers,
    )
    [delivery] = sent(driver.start(named={"Worker": workers}))
    assert delivery.to == workers


# -- 2 Expressions ----------------------------------------------------------------------------------------------------


def test_2_descriptions_other_than_a_constraints_are_not_evaluated() -> None:
    text = HEAD.replace("{name: Boss}", "{name: Boss, description: '${ nothing'}")
    driver = driver_with(
        """
description: "costs ${ no.such.thing }"
variables: {n: {type: integer, initial: 0, description: "$nothing"}}
states: [idle, {name: busy, description: "${ 1 / 0 }"}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, description: "${ nothing }"}
""",
        text,
    )
    assert driver.start().verdict == "taken"
    assert driver.machine.description == "costs ${ no.such.thing }"


def test_2_starting_is_null_where_nothing_started_it() -> None:
    driver = driver_with("""
variables: {n: {type: integer, initial: "${ starting == null ? 7 : starting.payload.n }"}}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
""")
    driver.start(None, named={"Boss": ("boss",)})
    assert driver.variables["n"] == 7


# -- 3 Constraints ----------------------------------------------------------------------------------------------------


def test_3_a_constraint_without_messages_is_checked_at_every_step() -> None:
    driver = driver_with("""
states: [idle, {name: busy, timeout: {after: PT1M, event: Late}}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}}
  - {from: busy, trigger: {event: Late}}
constraints:
  - {name: never, expression: "false", on_violation: warn}
""")
    assert driver.start().warnings == ("never",)
    assert driver.send("w1", "Ping").warnings == ("never",)
    assert driver.fire().warnings == ("never",)


def test_3_always_may_send() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
constraints:
  - name: told
    expression: "instance.state == 'idle'"
    phase: always
    on_violation: {send: {message: Note, payload: {n: 1}}}
""")
    assert deliveries(driver.start()) == [("Note", ("boss",))]


def test_3_after_is_checked_before_raised_events() -> None:
    driver = driver_with("""
variables: {n: {type: integer, initial: 0}}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}, actions: [{emit: {event: More}}]}
  - {from: busy, trigger: {event: More}, actions: [{set_variable: {name: n, value: 9}}]}
constraints:
  - {name: small, expression: n < 5, phase: after}
""")
    driver.start()
    assert driver.send("w1", "Ping").verdict == "taken"
    assert driver.variables["n"] == 9


def test_3_events_that_lapsed_debts_raise_are_raised_events_which_before_and_after_do_not_check() -> None:
    driver = driver_with("""
states: [idle, {name: busy, expects: [{message: Done, from: Worker, within: PT1M, on_timeout: {event: Late}}]}, calm]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Done}}
  - {from: busy, to: calm, trigger: {event: Late}}
constraints:
  - {name: early, expression: "instance.state == 'idle'"}
  - {name: late, expression: "instance.state != 'calm'", phase: after}
""")
    driver.start()
    assert driver.advance(MINUTE)[0].verdict == "taken"
    assert driver.it.state == "calm"


# -- 4 One step -------------------------------------------------------------------------------------------------------


def test_4_a_start_whose_message_nothing_takes_makes_no_instance_whatever_the_policy() -> None:
    driver = driver_with("""
states: [idle, busy]
unexpected: ignore
transitions:
  - {from: busy, to: idle, trigger: {message: Go}}
  - {from: idle, to: busy, trigger: {message: Ping}}
""")
    assert refusal(driver.start()).by == "unexpected"
    assert driver.instance is None


def test_4_a_refusal_names_the_state_and_what_it_takes_though_the_type_is_among_them() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: [{message: Ping, from: Boss}, {message: Done}]}
""")
    driver.start()
    rejection = refusal(driver.send("w1", "Ping"))
    assert rejection.by == "unexpected"
    assert "state busy" in rejection.text
    assert "takes Done, Ping" in rejection.text


def test_4_a_start_counts_as_one_step() -> None:
    driver = driver_with("""
variables: {steps: {type: integer, initial: "${ instance.steps }"}}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
""")
    driver.start()
    assert (driver.variables["steps"], driver.it.revision) == (1, 1)


def test_4_finishing_tells_the_starter_once() -> None:
    driver = driver_with("""
states: [idle, {name: over, final: success, on_entry: [{send: {message: Note, payload: {n: 1}}}]}]
transitions:
  - {from: idle, to: over, trigger: {message: Go}}
""")
    made = driver.start()
    assert [type(output) for output in made.outputs] == [Reply, Delivery, Outcome]
    assert outcome(made).to == "boss"


def test_4_now_is_the_largest_of_wall_clock_last_now_and_arrival() -> None:
    driver = driver_with("""
variables: {at: timestamp?}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}, actions: [{set_variable: {name: at, value: $now}}]}
""")
    driver.start()
    for received, wall, seen in (
        (T0 + MINUTE, T0, "2030-01-01T00:01:00Z"),
        (T0, T0 + 2 * MINUTE, "2030-01-01T00:02:00Z"),
        (T0, T0, "2030-01-01T00:02:00Z"),
    ):
        driver.send("w1", "Ping", received_at=received, now=wall)
        assert driver.variables["at"] == seen


def test_4_a_start_without_a_message_is_a_step_with_a_reply() -> None:
    driver = driver_with("states: [idle, busy]" + STARTED)
    made = driver.take(
        Start("s1", "i1", "anybody", T0, T0, None, {"Boss": ("boss",)}, {"Worker": driver.workers})
    )
    assert [output.id for output in made.outputs if isinstance(output, Reply)] == ["i1:s1:accepted"]
    assert driver.it.starter == "anybody"


def test_4_every_event_but_the_built_in_ones_is_declared_in_an_events_section() -> None:
    loaded = load(
        HEAD
        + """
events: {Known: {}}
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: [{event: Known}, {event: QuorumLost}, {event: Unknown}]}
""",
        filename="p.yaml",
    )
    assert [(told.code, told.message) for told in loaded.diagnostics] == [
        ("unknown-event", "there is no event `Unknown`")
    ]
