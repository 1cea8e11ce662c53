"""`on_timeout: replace` (language, §1, States): silent agents are replaced, asked again, and skipped in the end."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Delivery, Step, apply_changes, decode_instance, encode_instance
from tests.unit.engine.driver import HEAD, MINUTE, T0, Driver, asked, deliveries, machine_of

BODY = """
variables:
  events: {type: list<string>, initial: []}
states:
  - name: idle
  - name: busy
    expects:
      - {message: Done, from: FROM, within: PT10M, on_timeout: replaceMORE}
EXPECTS
    on_entry: [{broadcast: {message: Tell, payload: {n: 7}}}]
  - {name: calm}
  - {name: over, final: success}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Done}}
  - {from: busy, trigger: {message: Talk}}
  - {from: busy, to: calm, trigger: {message: Ping}}
  - {from: calm, to: busy, trigger: {message: Ping}}
  - {from: busy, to: over, condition: pending.Worker.size() == 0}
  - from: "*"
    trigger: [{event: Bound}, {event: BindFailed}]
    actions:
      - append_to_list: {list_name: events, value: "${ event.name + ' ' + string(event.payload.agents.size()) }"}
"""


def driver_of(
    workers: tuple[str, ...] = ("w1",),
    *,
    source: str = "Worker",
    more: str = "",
    expects: str = "",
    head: str = HEAD,
) -> Driver:
    body = BODY.replace("FROM", source).replace("replaceMORE", f"replace{more}").replace("EXPECTS", expects)
    driver = Driver(machine_of(body, head), workers)
    driver.start()
    return driver


def lapse(driver: Driver) -> Step:
    """Let the ten minutes of the first debt pass."""
    due = min(debt.due for debt in driver.it.pending if debt.due is not None)
    return driver.advance(due - driver.now)[-1]


def owing(driver: Driver) -> list[str]:
    return [debt.agent for debt in driver.it.pending]


def bound(driver: Driver) -> tuple[str, ...]:
    return driver.it.roles["Worker"]


def test_a_silent_agent_leaves_its_role_and_another_is_asked_for() -> None:
    driver = driver_of(("w1", "w2"), head=HEAD.replace("count: 3}", "count: 3, capabilities: [dig]}"))
    driver.send("w2", "Done")
    (request,) = asked(lapse(driver))
    assert (request.role, request.count, request.capabilities) == ("Worker", 1, ("dig",))
    assert request.excluded == ("w2", "w1")
    assert bound(driver) == ("w2",)


def test_the_debt_stays_open_until_the_answer() -> None:
    driver = driver_of()
    lapse(driver)
    assert owing(driver) == ["w1"]
    assert driver.it.pending[0].due is None
    assert driver.it.status == "running"


def test_replacing_the_only_agent_loses_no_quorum() -> None:
    driver = driver_of()
    lapse(driver)
    assert driver.it.quorum_lost == ()


def test_who_is_found_takes_over_the_debt_with_a_fresh_within() -> None:
    driver = driver_of()
    lapse(driver)
    driver.advance(MINUTE)
    driver.answer("w2")
    (debt,) = driver.it.pending
    assert (debt.agent, debt.since, debt.due) == ("w2", T0 + 11 * MINUTE, T0 + 21 * MINUTE)
    assert debt.replacements == 1
    assert driver.variables["events"] == ["Bound 1"]


def test_who_is_found_is_sent_the_request_again() -> None:
    driver = driver_of()
    (first,) = (output for output in driver.steps[0].outputs if isinstance(output, Delivery))
    lapse(driver)
    made = driver.answer("w2")
    (again,) = (output for output in made.outputs if isinstance(output, Delivery))
    assert (again.type, again.payload, again.to) == (first.type, first.payload, ("w2",))
    assert (again.sender, again.sender_role) == (first.sender, first.sender_role)
    assert again.reminder_of is None
    assert again.sent_at == driver.now
    assert again.id != first.id


def test_the_replacement_pays_by_its_message() -> None:
    driver = driver_of()
    lapse(driver)
    driver.answer("w2")
    driver.send("w2", "Done")
    assert driver.it.status == "success"


def test_several_silent_agents_are_asked_for_at_once_and_sent_one_record() -> None:
    driver = driver_of(("w1", "w2"))
    (request,) = asked(lapse(driver))
    assert request.count == 2
    made = driver.answer("w3", "w4")
    assert owing(driver) == ["w3", "w4"]
    assert deliveries(made) == [("Tell", ("w3", "w4"))]


def test_a_debt_that_nobody_takes_over_is_dropped_as_by_skip() -> None:
    driver = driver_of(("w1", "w2", "w3"))
    driver.send("w3", "Done")
    lapse(driver)
    driver.answer("w4")
    assert owing(driver) == ["w4"]
    assert bound(driver) == ("w3", "w4")
    assert driver.variables["events"] == ["BindFailed 1"]


def test_when_nobody_is_found_nothing_is_owed_and_the_quorum_is_counted() -> None:
    driver = driver_of()
    lapse(driver)
    driver.answer()
    assert driver.it.status == "failure"
    assert "QuorumLost" in str(driver.it.error)


def test_after_three_replacements_the_agent_is_skipped() -> None:
    driver = driver_of(("w1", "keep"))
    driver.send("keep", "Done")
    for number in (2, 3, 4):
        assert len(asked(lapse(driver))) == 1
        driver.answer(f"w{number}")
        assert driver.it.pending[0].replacements == number - 1
    made = lapse(driver)
    assert asked(made) == []
    assert bound(driver) == ("keep",)
    assert driver.it.dropped == {"Worker": ("w1", "w2", "w3", "w4")}
    assert driver.it.status == "success"  # nothing is owed any more


def test_a_replaced_agent_is_never_found_again() -> None:
    driver = driver_of()
    lapse(driver)
    driver.answer("w2")
    (request,) = asked(lapse(driver))
    assert request.excluded == ("w1", "w2")
    driver.answer("w1")
    assert bound(driver) == ()


def test_a_skipped_agent_is_never_found_again() -> None:
    expects = "      - {message: Talk, from: Worker, within: PT5M, on_timeout: skip}"
    driver = driver_of(("w1", "w2"), expects=expects)
    driver.send("w2", "Talk", {"text": "x"})
    lapse(driver)
    (request,) = asked(lapse(driver))
    assert request.excluded == ("w1", "w2")


def test_what_a_silent_agent_owes_besides_waits_too() -> None:
    expects = "      - {message: Talk, from: Worker, within: PT20M}"
    driver = driver_of(expects=expects)
    lapse(driver)
    assert [(debt.agent, debt.expectation, debt.due) for debt in driver.it.pending] == [
        ("w1", 1, None),
        ("w1", 0, None),
    ]
    driver.answer("w2")
    assert sorted((debt.agent, debt.expectation, debt.due) for debt in driver.it.pending) == [
        ("w2", 0, T0 + 20 * MINUTE),
        ("w2", 1, T0 + 30 * MINUTE),
    ]


def test_what_several_expectations_lapse_together_is_one_replacement() -> None:
    expects = "      - {message: Talk, from: Worker, within: PT10M, on_timeout: replace}"
    driver = driver_of(expects=expects)
    (request,) = asked(lapse(driver))
    assert request.count == 1
    driver.answer("w2")
    assert sorted((debt.agent, debt.expectation) for debt in driver.it.pending) == [("w2", 0), ("w2", 1)]


def test_skip_goes_before_replace_when_both_lapse_together() -> None:
    expects = "      - {message: Talk, from: Worker, within: PT10M, on_timeout: skip}"
    driver = driver_of(("w1", "w2"), expects=expects)
    driver.send("w2", "Done")
    driver.send("w2", "Talk", {"text": "x"})
    made = driver.advance(10 * MINUTE)[-1]
    assert asked(made) == []
    assert bound(driver) == ("w2",)


def test_who_owes_by_a_list_is_replaced_too() -> None:
    driver = driver_of(("w1", "w2"), source="\"${ ['w2'] }\"")
    lapse(driver)
    assert bound(driver) == ("w1",)
    driver.answer("w3")
    assert owing(driver) == ["w3"]
    assert bound(driver) == ("w1", "w3")


def test_leaving_the_state_forgets_the_debt_but_not_the_question() -> None:
    driver = driver_of()
    lapse(driver)
    driver.send("boss", "Ping")
    made = driver.answer("w2")
    assert deliveries(made) == []
    assert bound(driver) == ("w2",)
    driver.send("boss", "Ping")
    assert [(debt.agent, debt.replacements) for debt in driver.it.pending] == [("w2", 0)]


def test_a_silent_agent_that_joins_again_owes_for_itself() -> None:
    driver = driver_of(head=HEAD.replace("count: 3", "count: 3, open: true"))
    lapse(driver)
    driver.send("w1", "Talk", {"text": "here I am"})
    assert [(debt.agent, debt.due) for debt in driver.it.pending] == [("w1", T0 + 20 * MINUTE)]
    made = driver.answer("w2")
    assert bound(driver) == ("w1", "w2")
    assert owing(driver) == ["w1", "w2"]
    assert deliveries(made) == []


def test_a_late_message_of_a_replaced_agent_is_unbound() -> None:
    driver = driver_of()
    lapse(driver)
    made = driver.send("w1", "Done")
    assert made.rejection is not None
    assert made.rejection.by == "unbound"


def test_a_replacement_is_reminded_of_what_it_was_sent() -> None:
    driver = driver_of(more=", remind: {every: PT4M, times: 1}")
    lapse(driver)
    made = driver.answer("w2")
    (sent,) = (output for output in made.outputs if isinstance(output, Delivery))
    reminded = driver.advance(4 * MINUTE)[-1]
    (reminder,) = (output for output in reminded.outputs if isinstance(output, Delivery))
    assert reminder.reminder_of == sent.id
    assert reminder.to == ("w2",)


def test_what_the_replaced_agent_was_sent_is_not_kept_for_it() -> None:
    driver = driver_of()
    lapse(driver)
    driver.answer("w2")
    assert driver.it.last_deliveries.keys() == {"w2"}
    assert len(driver.it.deliveries) == 1


def test_an_agent_that_was_sent_nothing_is_replaced_without_a_request() -> None:
    body = BODY.replace("FROM", "Worker").replace("replaceMORE", "replace").replace("EXPECTS", "")
    driver = Driver(
        machine_of(body.replace("    on_entry: [{broadcast: {message: Tell, payload: {n: 7}}}]\n", "")),
        ("w1",),
    )
    driver.start()
    lapse(driver)
    made = driver.answer("w2")
    assert deliveries(made) == []
    assert owing(driver) == ["w2"]


def test_a_joiner_past_max_leaves_no_room_for_the_replacement() -> None:
    driver = driver_of(("w1", "w2"), head=HEAD.replace("max: 5, count: 3", "max: 2, count: 2, open: true"))
    driver.send("w2", "Done")
    lapse(driver)
    driver.send("joiner", "Done")
    driver.answer("w3")
    assert bound(driver) == ("w2", "joiner")
    assert driver.variables["events"] == ["BindFailed 0"]


@pytest.mark.parametrize("answered", [False, True])
def test_an_instance_that_replaces_reads_back_equal(answered: bool) -> None:
    driver = driver_of(("w1", "w2"))
    lapse(driver)
    if answered:
        driver.answer("w3")
    assert decode_instance(driver.machine, encode_instance(driver.it)) == driver.it


def test_a_failed_answer_leaves_nothing_owed_for_ever() -> None:
    body = BODY.replace("FROM", "Worker").replace("replaceMORE", "replace").replace("EXPECTS", "")
    body = body.replace("string(event.payload.agents.size())", "string(1 / event.payload.agents.size())")
    driver = Driver(machine_of(body), ("w1", "w2"))
    driver.start()
    driver.send("w2", "Done")
    lapse(driver)
    made = driver.answer()
    assert made.verdict == "failed"
    assert owing(driver) == []
    assert apply_changes(driver.machine, made.before, made.changes) == driver.it
