"""`expects`: who owes, how debts are settled, lapse, and are reminded of."""

from __future__ import annotations

from strabo_runtime.engine import Delivery, next_due
from tests.unit.engine.driver import MINUTE, T0, Driver, deliveries, machine_of

COMMON = """
events: { Silent: {}, QuiteSilent: {} }
variables: {seen: {type: list<string>, initial: []}, who: {type: list<string>, initial: []}}
"""


def owing(driver: Driver, role: str = "Worker") -> list[str]:
    return [debt.agent for debt in driver.it.pending if debt.role == role]


def driver_with(expects: str, more: str = "", to: str = "busy", entry: str = "[]") -> Driver:
    driver = Driver(
        machine_of(
            COMMON
            + f"""
states:
  - idle
  - name: busy
    expects:
{expects}
    on_entry: {entry}
  - calm
  - {{name: over, final: success}}
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, trigger: {{message: Done}}}}
  - {{from: busy, trigger: {{message: Ping}}}}
  - {{from: busy, to: calm, trigger: {{message: Pass}}}}
{more}
"""
        )
    )
    driver.start()
    return driver


EACH = "      - {message: Done, from: Worker}"


def test_on_entry_every_agent_of_the_role_owes() -> None:
    assert owing(driver_with(EACH)) == ["w1", "w2", "w3"]


def test_debts_are_filled_before_the_entry_actions() -> None:
    driver = driver_with(EACH, entry='[{set_variable: {name: seen, value: "${ pending.Worker }"}}]')
    assert driver.variables["seen"] == ["w1", "w2", "w3"]


def test_a_message_settles_its_senders_debt_before_the_actions() -> None:
    more = "  - {from: busy, to: over, condition: pending.Worker.size() == 0}\n"
    driver = driver_with(EACH, more)
    driver.send("w2", "Done")
    assert owing(driver) == ["w1", "w3"]
    driver.send("w1", "Done")
    driver.send("w3", "Done")
    assert driver.it.status == "success"


def test_a_second_message_refuses_nothing() -> None:
    driver = driver_with(EACH)
    driver.send("w2", "Done")
    assert driver.send("w2", "Done").verdict == "taken"


def test_one_of_several_types_settles_the_debt_and_other_messages_do_not() -> None:
    driver = driver_with("      - {message: [Done, Talk], from: Worker}")
    driver.send("w1", "Ping")
    assert owing(driver) == ["w1", "w2", "w3"]
    driver.send("w1", "Done")
    assert owing(driver) == ["w2", "w3"]


def test_a_message_that_a_before_constraint_refuses_settles_nothing() -> None:
    driver = driver_with(EACH, 'constraints: [{name: no, expression: "false", enforced_on: Done}]')
    driver.send("w1", "Done")
    assert owing(driver) == ["w1", "w2", "w3"]


def test_a_list_of_agents_may_owe() -> None:
    driver = driver_with("      - {message: Done, from: \"${ roles.Worker.filter(w, w != 'w2') }\"}")
    assert owing(driver) == ["w1", "w3"]


def test_who_is_listed_must_be_bound() -> None:
    driver = Driver(
        machine_of(
            COMMON
            + """
states: [idle, {name: busy, expects: [{message: Done, from: "${ ['nobody'] }"}]}]
transitions: [{from: idle, to: busy, trigger: {message: Go}}, {from: busy, trigger: {message: Done}}]
"""
        )
    )
    made = driver.start()
    assert made.verdict == "failed"
    assert "nobody" in (made.error or "")


def test_leaving_the_state_forgets_its_debts() -> None:
    driver = driver_with(EACH.replace("}", ", within: PT10M}"))
    driver.send("boss", "Pass")
    assert driver.it.pending == ()
    assert next_due(driver.it) is None


def test_debts_that_are_due_together_lapse_in_one_step_and_are_settled() -> None:
    driver = driver_with(EACH.replace("}", ", within: PT10M}"))
    driver.send("w1", "Done")
    (made,) = driver.advance(10 * MINUTE)
    assert made.verdict == "taken"
    assert driver.it.pending == ()
    assert driver.it.roles["Worker"] == ("w1", "w2", "w3")
    assert made.notes == ("w2, w3 owed Done and stayed silent",)


def test_skip_drops_the_silent_agents_from_the_role() -> None:
    driver = driver_with(EACH.replace("}", ", within: PT10M, on_timeout: skip}"))
    driver.send("w1", "Done")
    driver.advance(10 * MINUTE)
    assert driver.it.roles["Worker"] == ("w1",)
    made = driver.send("w2", "Done")
    assert made.rejection is not None
    assert made.rejection.by == "unbound"


def test_a_skipped_agents_other_debts_are_cancelled() -> None:
    driver = driver_with(
        "      - {message: Done, from: Worker, within: PT10M, on_timeout: skip}\n      - {message: Ping, from: Worker}"
    )
    driver.send("w1", "Done")
    assert owing(driver).count("w2") == 2
    driver.advance(10 * MINUTE)
    assert owing(driver) == ["w1"]


def test_an_event_is_raised_once_for_debts_that_lapse_together() -> None:
    driver = driver_with(
        EACH.replace("}", ", within: PT10M, on_timeout: {event: Silent}}"),
        "  - {from: busy, trigger: {event: Silent}, actions: [{append_to_list: {list_name: seen, value: silent}}]}",
    )
    driver.advance(10 * MINUTE)
    assert driver.variables["seen"] == ["silent"]


def test_a_lapse_may_lead_to_a_state() -> None:
    driver = driver_with(EACH.replace("}", ", within: PT10M, on_timeout: {to: calm}}"))
    driver.advance(10 * MINUTE)
    assert driver.it.state == "calm"


def test_a_role_that_becomes_too_small_loses_its_quorum_and_the_instance_fails() -> None:
    driver = driver_with(EACH.replace("}", ", within: PT10M, on_timeout: skip}"))
    driver.advance(10 * MINUTE)
    assert driver.it.status == "failure"
    assert driver.it.error == "QuorumLost: the role Worker has 0 of at least 1 agents left"


def test_a_transition_may_take_the_lost_quorum_ahead_of_automatic_ones() -> None:
    more = """
  - {from: busy, to: over, condition: pending.Worker.size() == 0}
  - from: busy
    to: calm
    trigger: {event: QuorumLost}
    actions: [{append_to_list: {list_name: seen, value: $event.payload.role}}]
"""
    driver = driver_with(EACH.replace("}", ", within: PT10M, on_timeout: skip}"), more)
    (made,) = driver.advance(10 * MINUTE)
    assert driver.it.state == "calm"
    assert driver.variables["seen"] == ["Worker"]
    assert [move.trigger for move in made.micro_steps] == ["timer:debts", "!QuorumLost"]


def test_events_already_raised_come_before_the_lost_quorum() -> None:
    expects = (
        "      - {message: Done, from: Worker, within: PT10M, on_timeout: {event: Silent}}\n"
        "      - {message: Ping, from: Worker, within: PT10M, on_timeout: skip}"
    )
    more = """
  - {from: busy, trigger: {event: Silent}}
  - {from: busy, to: calm, trigger: {event: QuorumLost}}
"""
    driver = driver_with(expects, more)
    (made,) = driver.advance(10 * MINUTE)
    assert [move.trigger for move in made.micro_steps] == ["timer:debts", "!Silent", "!QuorumLost"]


def test_a_lost_quorum_is_announced_once() -> None:
    expects = (
        "      - {message: Done, from: Worker, within: PT10M, on_timeout: skip}\n"
        "      - {message: Ruling, from: Judge, within: PT20M}"
    )
    more = "  - {from: busy, trigger: {event: QuorumLost}, actions: [{append_to_list: {list_name: seen, value: lost}}]}"
    driver = driver_with(expects, more)
    driver.advance(30 * MINUTE)
    assert driver.variables["seen"] == ["lost"]
    assert driver.it.quorum_lost == ("Worker",)


# -- reminders --------------------------------------------------------------------------------------------------------

REMINDED = EACH.replace("}", ", within: PT30M, remind: {every: PT10M, times: 2}}")
TOLD = "[{send: {message: Tell, payload: {n: 1}}}]"


def test_a_reminder_resends_the_last_message_to_all_who_still_owe_as_one_record() -> None:
    driver = driver_with(REMINDED, entry=TOLD)
    driver.send("w2", "Done")
    (made,) = driver.advance(10 * MINUTE)
    (delivery,) = [output for output in made.outputs if isinstance(output, Delivery)]
    assert delivery == Delivery(
        "i1:3:0",
        "Worker",
        ("w1", "w3"),
        "Tell",
        {"n": 1},
        "engine:Desk",
        "Desk",
        T0 + 10 * MINUTE,
        None,
        "i1:1:0",
    )


def test_reminders_stop_after_so_many_times_and_the_debt_lapses_on_time() -> None:
    driver = driver_with(REMINDED, entry=TOLD)
    made = driver.advance(60 * MINUTE)
    assert [(step.input.key, step.input.due - T0) for step in made] == [  # type: ignore[union-attr]
        ("reminders", 10 * MINUTE),
        ("reminders", 20 * MINUTE),
        ("debts", 30 * MINUTE),
    ]


def test_a_reminder_that_is_due_with_the_lapse_comes_after_it_and_so_never() -> None:
    driver = driver_with(REMINDED.replace("times: 2", "times: 5"), entry=TOLD)
    made = driver.advance(60 * MINUTE)
    assert [step.input.key for step in made] == ["reminders", "reminders", "debts"]  # type: ignore[union-attr]


def test_what_is_delivered_later_is_not_what_a_reminder_resends() -> None:
    driver = driver_with(
        REMINDED,
        "  - {from: busy, trigger: {message: Ruling}, actions: [{send: {message: Tell, payload: {n: 2}}}]}",
        entry=TOLD,
    )
    driver.send("human:Judge", "Ruling")
    (made,) = driver.advance(10 * MINUTE)
    (delivery,) = [output for output in made.outputs if isinstance(output, Delivery)]
    assert delivery.payload == {"n": 1}


def test_a_request_from_before_the_state_may_be_what_a_reminder_resends() -> None:
    driver = Driver(
        machine_of(
            COMMON
            + """
states: [idle, asked, {name: busy, expects: [{message: Done, from: Worker, remind: {every: PT10M, times: 1}}]}]
transitions:
  - {from: idle, to: asked, trigger: {message: Go}, actions: [{send: {message: Tell, payload: {n: 7}}}]}
  - {from: asked, to: busy, trigger: {message: Ping}}
  - {from: busy, trigger: {message: Done}}
"""
        )
    )
    driver.start()
    driver.send("w1", "Ping")
    (made,) = driver.advance(10 * MINUTE)
    assert deliveries(made) == [("Tell", ("w1", "w2", "w3"))]


def test_a_reminder_without_anything_to_resend_is_noted() -> None:
    driver = driver_with(REMINDED)
    (made,) = driver.advance(10 * MINUTE)
    assert deliveries(made) == []
    assert made.notes == ("nothing was delivered to w1, w2, w3 that could be sent again",)
    assert made.verdict == "taken"


def test_reenter_restarts_debts_and_reminders() -> None:
    driver = driver_with(REMINDED, "  - {from: busy, trigger: {message: Ruling}, reenter: true}", entry=TOLD)
    driver.send("w1", "Done")
    driver.now += 5 * MINUTE
    driver.send("human:Judge", "Ruling")
    assert owing(driver) == ["w1", "w2", "w3"]
    assert next_due(driver.it) == ("reminders", T0 + 15 * MINUTE)


def test_only_what_may_be_resent_is_kept() -> None:
    driver = driver_with(
        REMINDED,
        "  - {from: busy, trigger: {message: Ruling}, actions: [{send: {message: Tell, payload: {n: 2}}}]}",
        entry=TOLD,
    )
    for _ in range(3):
        driver.send("human:Judge", "Ruling")
    assert len(driver.it.deliveries) == 2
    driver.send("boss", "Pass")
    kept = [(held["type"], held["payload"]) for held in driver.it.deliveries.values()]  # type: ignore[index,call-overload]
    assert kept == [("Tell", {"n": 2}), ("Pass", {})]
