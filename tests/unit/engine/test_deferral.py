"""`unexpected: defer` (language, §1 and §4): what nothing takes now waits until the state has changed."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import (
    Reply,
    Retry,
    Step,
    apply_changes,
    decode_instance,
    encode_instance,
    fail_step,
    next_retry,
)
from tests.unit.engine.driver import HEAD, MINUTE, T0, Driver, deliveries, machine_of, refusal, replies

BODY = """
unexpected: defer
variables:
  said: {type: list<string>, initial: []}
states:
  - name: idle
    expects: [{message: Talk, from: Worker}]
  - {name: open, timeout: {after: PT5M, to: shut}}
  - shut
  - {name: over, final: success}
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, to: open, trigger: {message: Pass}}
  - {from: open, trigger: {message: Pass}}
  - from: open
    trigger: {message: Talk}
    actions: [{append_to_list: {list_name: said, value: $message.payload.text}}]
  - {from: open, to: shut, trigger: {message: Done}}
  - {from: shut, to: open, trigger: {message: Done}}
  - {from: open, to: open, reenter: true, trigger: {message: Whisper}}
  - {from: [idle, open, shut], to: over, trigger: {message: Ruling}}
  - {from: open, trigger: {message: Ping, from: Worker}, actions: [{log: "${ 1 / message.payload.n }"}]}
constraints:
  - {name: polite, expression: message.payload.text != "shout", enforced_on: Talk, description: Not so loud.}
"""
IGNORING = HEAD.replace("Talk: {", "Talk: {unexpected: defer, ")


@pytest.fixture
def driver() -> Driver:
    return driver_of()


def driver_of(body: str = BODY, head: str = HEAD) -> Driver:
    driver = Driver(machine_of(body, head), ("w1", "w2"))
    driver.start()
    return driver


def talk(driver: Driver, text: str, sender: str = "w1") -> Step:
    return driver.send(sender, "Talk", {"text": text}, id=text)


def waiting(driver: Driver) -> list[str]:
    return [message.id for message in driver.it.deferred]


def said(driver: Driver) -> list[str]:
    found: list[str] = driver.variables["said"]
    return found


# -- deferring --------------------------------------------------------------------------------------------------------


def test_a_message_that_nothing_takes_is_deferred_and_not_answered_yet(driver: Driver) -> None:
    made = talk(driver, "a")
    assert made.verdict == "deferred"
    assert made.outputs == ()
    assert waiting(driver) == ["a"]


def test_deferring_is_no_step(driver: Driver) -> None:
    made = talk(driver, "a")
    assert made.before is not None
    assert made.after is not None
    assert made.after.revision == made.before.revision
    assert made.after.now == made.before.now
    assert made.micro_steps == ()


def test_a_deferred_message_settles_no_debt_and_goes_nowhere(driver: Driver) -> None:
    made = talk(driver, "a")
    assert [debt.agent for debt in driver.it.pending] == ["w1", "w2"]
    assert deliveries(made) == []


def test_a_type_may_defer_though_the_protocol_refuses() -> None:
    driver = driver_of(BODY.replace("unexpected: defer\n", ""), IGNORING)
    assert talk(driver, "a").verdict == "deferred"
    assert driver.send("w1", "Done").verdict == "rejected"


def test_a_type_may_refuse_though_the_protocol_defers() -> None:
    driver = driver_of(head=HEAD.replace("Talk: {", "Talk: {unexpected: reject, "))
    assert talk(driver, "a").verdict == "rejected"


def test_only_what_is_allowed_is_deferred(driver: Driver) -> None:
    assert refusal(talk(driver, "a", "stranger")).by == "unbound"
    assert refusal(driver.send("w1", "Talk", {"text": 3})).by == "schema"
    assert waiting(driver) == []


def test_a_message_that_a_constraint_refuses_is_not_deferred(driver: Driver) -> None:
    driver.send("boss", "Pass")
    assert refusal(talk(driver, "shout")).by == "constraint"
    assert waiting(driver) == []


def test_a_repeat_of_a_deferred_message_has_no_effect_and_no_answer(driver: Driver) -> None:
    talk(driver, "a")
    made = talk(driver, "a")
    assert made.verdict == "duplicate"
    assert made.outputs == ()
    assert made.after is made.before


def test_the_id_of_a_deferred_message_with_another_content_is_a_conflict(driver: Driver) -> None:
    talk(driver, "a")
    assert refusal(driver.send("w1", "Talk", {"text": "b"}, id="a")).by == "conflict"
    assert waiting(driver) == ["a"]


def test_one_more_than_the_limit_is_an_error_of_the_step() -> None:
    driver = driver_of(BODY + "limits: {deferred: 2}\n")
    talk(driver, "a")
    talk(driver, "b")
    made = talk(driver, "c")
    assert made.verdict == "failed"
    assert "limits.deferred" in str(made.error)
    assert replies(made) == [("w1", "failed")]
    assert waiting(driver) == ["a", "b"]


def test_a_message_that_was_too_many_may_be_sent_again() -> None:
    driver = driver_of(BODY + "limits: {deferred: 1}\n")
    talk(driver, "a")
    talk(driver, "b")
    driver.send("boss", "Pass")
    driver.retry()
    assert talk(driver, "b").verdict == "taken"


def test_deferred_messages_count_to_the_size_of_the_state() -> None:
    driver = driver_of(BODY + "limits: {state_bytes: 2000}\n")
    made = talk(driver, "x" * 1800)
    assert made.verdict == "failed"
    assert "limits.state_bytes" in str(made.error)


def test_deferred_messages_survive_being_stored(driver: Driver) -> None:
    talk(driver, "a")
    driver.send("w2", "Ping", {"n": 1}, to=("engine:Desk",), user="ann", in_reply_to="x")
    driver.send("boss", "Pass")
    assert driver.it.retry == 0
    read = decode_instance(driver.machine, encode_instance(driver.it))
    assert read == driver.it


# -- retrying ---------------------------------------------------------------------------------------------------------


def test_nothing_is_tried_again_while_the_state_stays(driver: Driver) -> None:
    talk(driver, "a")
    driver.send("boss", "Go", {"n": 1})
    assert next_retry(driver.it, T0) is None


def test_deferred_messages_are_tried_in_arrival_order_each_as_its_own_step(driver: Driver) -> None:
    for text in ("b", "a", "c"):
        talk(driver, text)
    driver.send("boss", "Pass")
    made = driver.retry()
    assert [one.verdict for one in made] == ["taken"] * 3
    assert [one.after.revision for one in made if one.after is not None] == [3, 4, 5]
    assert said(driver) == ["b", "a", "c"]
    assert waiting(driver) == []
    assert driver.it.retry is None


def test_a_message_that_is_taken_at_last_is_answered_and_goes_on(driver: Driver) -> None:
    talk(driver, "a")
    driver.send("boss", "Pass")
    (made,) = driver.retry()
    (reply,) = (output for output in made.outputs if isinstance(output, Reply))
    assert (reply.to, reply.kind, reply.in_reply_to) == ("w1", "accepted", "a")
    assert deliveries(made) == [("Talk", ("w2",))]
    assert [one.trigger for one in made.micro_steps] == ["Talk"]


def test_a_repeat_of_a_message_that_was_taken_at_last_is_answered_as_taken(driver: Driver) -> None:
    talk(driver, "a")
    driver.send("boss", "Pass")
    driver.retry()
    made = talk(driver, "a")
    assert made.verdict == "duplicate"
    assert replies(made) == [("w1", "accepted")]


def test_received_at_is_when_the_message_came_and_now_goes_on(driver: Driver) -> None:
    body = BODY.replace(
        "value: $message.payload.text", "value: \"${ string(message.received_at) + ' ' + string(now) }\""
    )
    driver = driver_of(body)
    talk(driver, "a")
    driver.advance(MINUTE)
    driver.send("boss", "Pass")
    driver.retry()
    assert said(driver) == ["2030-01-01T00:00:00Z 2030-01-01T00:01:00Z"]


def test_a_retry_that_leaves_the_message_deferred_changes_nothing_else() -> None:
    driver = driver_of()
    driver.send("w1", "Done", id="d")
    talk(driver, "a")
    driver.send("boss", "Pass")
    (done, talked) = driver.retry()
    assert done.verdict == "taken"  # open takes Done and leads to shut, where Talk is not taken
    assert talked.verdict == "deferred"
    assert talked.outputs == ()
    assert talked.before is not None
    assert talked.after is not None
    assert talked.after.revision == talked.before.revision
    assert waiting(driver) == ["a"]
    assert driver.it.retry is None
    driver.send("w2", "Done")
    driver.retry()
    assert said(driver) == ["a"]


def test_a_retry_that_enters_a_state_begins_again_with_the_first(driver: Driver) -> None:
    driver.send("w1", "Done", id="d1")
    talk(driver, "a")
    driver.send("w1", "Done", id="d2")
    driver.send("boss", "Pass")
    made = driver.retry()
    # d1 leads to shut, which does not take a, and d2 back to open, where a is tried once more.
    assert [(one.input.id, one.verdict) for one in made] == [
        ("i1:2:retry:d1", "taken"),
        ("i1:3:retry:a", "deferred"),
        ("i1:3:retry:d2", "taken"),
        ("i1:4:retry:a", "taken"),
    ]


def test_what_stays_deferred_is_passed_over_for_what_came_after_it(driver: Driver) -> None:
    driver.send("boss", "Pass")
    driver.send("boss", "Go", {"n": 1}, id="x")
    driver.send("w1", "Done")
    talk(driver, "a")
    driver.send("w1", "Done")
    made = driver.retry()
    assert [(one.input.id, one.verdict) for one in made] == [
        ("i1:4:retry:x", "deferred"),
        ("i1:4:retry:a", "taken"),
    ]
    assert waiting(driver) == ["x"]


def test_reenter_retries_and_staying_does_not(driver: Driver) -> None:
    driver.send("boss", "Pass")
    driver.send("boss", "Go", {"n": 1}, id="x")
    driver.send("boss", "Pass")
    assert next_retry(driver.it, T0) is None
    driver.send("boss", "Whisper", to=("w1",))
    assert next_retry(driver.it, T0) is not None


def test_a_timer_that_changes_the_state_retries_too(driver: Driver) -> None:
    driver.send("boss", "Pass")
    driver.send("boss", "Go", {"n": 1}, id="x")
    driver.advance(5 * MINUTE)
    assert driver.it.state == "shut"
    assert next_retry(driver.it, driver.now) is not None


def test_without_anything_deferred_nothing_is_retried(driver: Driver) -> None:
    driver.send("boss", "Pass")
    assert driver.it.retry is None
    assert driver.retry() == []


def test_a_retrys_id_is_a_function_of_instance_step_and_message(driver: Driver) -> None:
    talk(driver, "a")
    driver.send("boss", "Pass")
    assert next_retry(driver.it, T0 + 5) == Retry("i1:2:retry:a", "a", T0 + 5)


def test_a_retry_refused_by_a_constraint_is_answered_so_and_remembered(driver: Driver) -> None:
    talk(driver, "shout")
    driver.send("boss", "Pass")
    (made,) = driver.retry()
    assert made.verdict == "rejected"
    assert refusal(made).constraints == ("polite",)
    assert replies(made) == [("w1", "rejected")]
    assert waiting(driver) == []
    assert said(driver) == []
    again = talk(driver, "shout")
    assert again.verdict == "duplicate"
    assert replies(again) == [("w1", "rejected")]


def test_a_refused_retry_is_no_step_and_gives_the_next_its_turn(driver: Driver) -> None:
    talk(driver, "shout")
    talk(driver, "a")
    driver.send("boss", "Pass")
    revision = driver.it.revision
    refused, taken = driver.retry()
    assert refused.after is not None
    assert refused.after.revision == revision
    assert taken.verdict == "taken"
    assert said(driver) == ["a"]


def test_a_retry_that_fails_is_consumed_with_an_incident_and_its_sender_is_told(driver: Driver) -> None:
    driver.send("w1", "Ping", {"n": 0}, id="poison", role="Worker")
    talk(driver, "a")
    driver.send("boss", "Pass")
    failed, taken = driver.retry()
    assert failed.verdict == "failed"
    assert replies(failed) == [("w1", "failed")]
    assert driver.it.incidents[-1].input_id == "i1:2:retry:poison"
    assert taken.verdict == "taken"
    assert waiting(driver) == []


def test_a_retry_that_cannot_be_carried_out_is_consumed_too(driver: Driver) -> None:
    talk(driver, "a")
    driver.send("boss", "Pass")
    due = next_retry(driver.it, T0)
    assert due is not None
    made = fail_step(driver.machine, driver.it, due, "no topic can hold it")
    assert made.after is not None
    assert made.after.deferred == ()
    assert made.after.retry is None
    assert replies(made) == [("w1", "failed")]


def test_a_sender_that_has_left_meanwhile_is_refused(driver: Driver) -> None:
    body = BODY.replace(
        "{from: idle, to: open, trigger: {message: Pass}}",
        "{from: idle, to: open, trigger: {message: Pass}, actions: [{unbind: {role: Worker, agents: w1}}]}",
    )
    driver = driver_of(body)
    talk(driver, "a")
    driver.send("boss", "Pass")
    (made,) = driver.retry()
    assert refusal(made).by == "unbound"
    assert waiting(driver) == []


@pytest.mark.parametrize("given", [Retry("r", "b", T0), Retry("r", "nothing", T0)])
def test_a_retry_that_is_not_due_changes_nothing(driver: Driver, given: Retry) -> None:
    talk(driver, "a")
    talk(driver, "b")
    driver.send("boss", "Pass")
    made = driver.take(given)
    assert made.verdict == "ignored"
    assert made.after is made.before


def test_a_retry_without_an_instance_or_anything_deferred_is_ignored(driver: Driver) -> None:
    assert driver.take(Retry("r", "a", T0)).verdict == "ignored"
    driver.send("human:Judge", "Ruling")
    assert driver.take(Retry("r", "a", T0)).verdict == "ignored"


def test_a_retry_that_a_constraint_undoes_is_refused_and_not_kept() -> None:
    driver = driver_of(
        BODY + "  - {name: brief, expression: said.size() < 1, enforced_on: Talk, phase: after}\n"
    )
    talk(driver, "a")
    driver.send("boss", "Pass")
    (made,) = driver.retry()
    assert refusal(made).constraints == ("brief",)
    assert made.violations == ("brief",)
    assert said(driver) == []
    assert waiting(driver) == []


def test_what_a_constraint_raises_against_a_retry_is_a_step_of_the_refused_message() -> None:
    loud = "expression: message.payload.text != 'loud', enforced_on: Talk, on_violation: {event: Loud}"
    more = """
  - {from: "*", to: shut, trigger: {event: Loud}}
constraints:
  - {name: hush, LOUD}
"""
    body = BODY[: BODY.index("constraints:")] + more.replace("LOUD", loud)
    driver = driver_of(body)
    talk(driver, "loud")
    driver.send("boss", "Pass")
    (made,) = driver.retry()
    assert made.verdict == "rejected"
    assert replies(made) == [("w1", "rejected")]
    assert driver.it.state == "shut"
    assert waiting(driver) == []


# -- joiners ----------------------------------------------------------------------------------------------------------

OPEN = HEAD.replace("min: 1, max: 5, count: 3", "min: 1, max: 3, open: true")


def test_a_joiners_message_may_wait_and_binds_it_when_it_is_taken() -> None:
    driver = driver_of(head=OPEN)
    talk(driver, "a", "late")
    assert "late" not in driver.it.roles["Worker"]
    driver.send("boss", "Pass")
    driver.retry()
    assert "late" in driver.it.roles["Worker"]


def test_a_joiner_whose_turn_comes_when_the_role_is_full_is_refused() -> None:
    driver = Driver(machine_of(BODY, OPEN), ("w1",))
    driver.start(named={"Worker": ("w1",)})
    for number in (1, 2, 3):
        talk(driver, f"t{number}", f"late{number}")
    driver.send("boss", "Pass")
    assert [one.verdict for one in driver.retry()] == ["taken", "taken", "rejected"]
    assert driver.it.roles["Worker"] == ("w1", "late1", "late2")


# -- the end ----------------------------------------------------------------------------------------------------------


def test_at_the_end_deferred_messages_are_refused_as_finished(driver: Driver) -> None:
    talk(driver, "a")
    talk(driver, "b", "w2")
    made = driver.send("human:Judge", "Ruling")
    refusals = [output for output in made.outputs if isinstance(output, Reply) and output.kind == "rejected"]
    assert [(reply.to, reply.in_reply_to) for reply in refusals] == [("w1", "a"), ("w2", "b")]
    assert {reply.rejection.by for reply in refusals if reply.rejection is not None} == {"finished"}
    assert driver.it.deferred == ()
    assert driver.it.retry is None


def test_a_repeat_of_what_was_refused_at_the_end_gets_the_same_answer(driver: Driver) -> None:
    talk(driver, "a")
    made = driver.send("human:Judge", "Ruling")
    told = [output for output in made.outputs if isinstance(output, Reply) and output.in_reply_to == "a"]
    assert list(talk(driver, "a").outputs) == told


def test_a_retry_that_ends_the_instance_refuses_the_rest(driver: Driver) -> None:
    body = BODY.replace(
        "{from: open, to: shut, trigger: {message: Done}}", "{from: open, to: over, trigger: {message: Done}}"
    )
    driver = driver_of(body)
    driver.send("w1", "Done", id="d")
    talk(driver, "a")
    driver.send("boss", "Pass")
    (made,) = driver.retry()
    assert replies(made) == [("w1", "accepted"), ("w1", "rejected")]
    assert driver.it.status == "success"


# -- what is recorded -------------------------------------------------------------------------------------------------


def test_recorded_changes_tell_of_deferring_and_retrying(driver: Driver) -> None:
    talk(driver, "shout")
    talk(driver, "a")
    driver.send("w1", "Done")
    driver.send("boss", "Pass")
    driver.retry()
    for made in driver.steps:
        assert made.after is not None
        assert apply_changes(driver.machine, made.before, made.changes) == made.after
