"""What becomes of messages: who may send them, what is remembered, where they go."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Delivery, Reply
from tests.unit.engine.driver import T0, Driver, deliveries, machine_of, refusal

BODY = """
variables: {count: {type: integer, initial: 0}, to: {type: list<string>, initial: []}}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {message: Ping}
    actions: [{set_variable: {name: count, value: "${ count + 1 }"}}]
  - from: busy
    trigger: [{message: Talk}, {message: Pass}, {message: Whisper}]
    actions: [{set_variable: {name: to, value: $message.to}}]
  - {from: busy, to: over, trigger: {message: Done}}
"""


@pytest.fixture
def driver() -> Driver:
    driver = Driver(machine_of(BODY))
    driver.start()
    return driver


def test_a_taken_message_raises_the_revision_by_one(driver: Driver) -> None:
    assert driver.send("w1", "Ping").verdict == "taken"
    assert driver.it.revision == 2
    assert driver.variables["count"] == 1


def test_a_refusal_changes_neither_revision_nor_state_nor_time(driver: Driver) -> None:
    before = driver.it
    driver.now += 5
    made = driver.send("w1", "Go", {"n": 1})
    assert refusal(made).by == "unbound"
    made = driver.send("boss", "Go", {"n": 1})
    assert refusal(made).by == "unexpected"
    after = driver.it
    assert (after.revision, after.state, after.now, after.variables) == (
        before.revision,
        before.state,
        before.now,
        before.variables,
    )


def test_an_unexpected_message_is_told_the_state_and_what_it_takes(driver: Driver) -> None:
    text = refusal(driver.send("boss", "Go", {"n": 1})).text
    assert "busy" in text
    assert "Done, Pass, Ping, Talk, Whisper" in text


def test_a_message_to_no_instance_is_unknown() -> None:
    driver = Driver(machine_of(BODY))
    made = driver.send("w1", "Ping")
    assert refusal(made).by == "unknown"
    assert made.after is None


def test_an_unknown_type_is_refused_with_the_near_name(driver: Driver) -> None:
    text = refusal(driver.send("w1", "Pin")).text
    assert "did you mean Ping" in text


def test_a_stranger_is_unbound_and_leaves_no_trace(driver: Driver) -> None:
    made = driver.send("nobody", "Ping")
    assert refusal(made).by == "unbound"
    assert made.after is made.before


def test_nobody_can_speak_for_the_engine(driver: Driver) -> None:
    assert refusal(driver.send("engine:Desk", "Tell", {"n": 1})).by == "unbound"
    assert refusal(driver.send("engine:Desk", "Tell", {"n": 1}, role="Desk")).by == "unbound"


def test_the_named_role_is_the_senders_else_the_first_that_it_holds(driver: Driver) -> None:
    assert driver.send("w1", "Ping", role="Worker").verdict == "taken"
    assert refusal(driver.send("w1", "Ping", role="Boss")).by == "unbound"
    assert refusal(driver.send("w1", "Ping", role="Judge")).by == "unbound"


@pytest.mark.parametrize("payload", [None, [], "text", {"n": 1.5}, {"n": "1"}, {"m": 1}, {"n": 2**63}])
def test_a_payload_that_does_not_fit_is_refused(driver: Driver, payload: object) -> None:
    made = driver.take(
        driver.message("w1", "Ping", {"x": 1}) if payload is None else driver.message("w1", "Ping", payload)
    )
    assert refusal(made).by == "schema"


def test_a_payload_that_no_record_can_hold_is_refused_as_such(driver: Driver) -> None:
    assert refusal(driver.send("w1", "Ping", {"n": 10**30})).by == "schema"


def test_a_time_outside_of_the_calendar_is_refused(driver: Driver) -> None:
    assert refusal(driver.send("w1", "Ping", sent_at=10**18)).by == "schema"
    assert refusal(driver.send("w1", "Ping", sent_at=-1)).by == "schema"


def test_a_message_that_is_sent_again_is_answered_again_without_effect(driver: Driver) -> None:
    first = driver.send("w1", "Ping", id="p")
    driver.send("w2", "Ping")
    again = driver.send("w1", "Ping", id="p", received_at=T0 + 99, sent_at=T0 + 99)
    assert again.verdict == "duplicate"
    assert again.after is again.before
    assert [output for output in first.outputs if isinstance(output, Reply)] == list(again.outputs)
    assert driver.variables["count"] == 2


def test_a_refused_message_that_is_sent_again_is_refused_again_though_it_would_fit_now(
    driver: Driver,
) -> None:
    fresh = Driver(
        machine_of(
            BODY.replace("{from: idle, to: busy, trigger", "{from: idle, to: idle, trigger").replace(
                "  - {from: busy, to: over",
                "  - {from: idle, to: busy, trigger: {message: Ping}}\n  - {from: busy, to: over",
            )
        )
    )
    fresh.start()
    first = fresh.send("w1", "Done", id="d")
    assert refusal(first).by == "unexpected"
    fresh.send("w1", "Ping")
    assert fresh.it.state == "busy"
    again = fresh.send("w1", "Done", id="d")
    assert again.verdict == "duplicate"
    assert again.rejection == first.rejection
    assert again.outputs == first.outputs
    assert fresh.it.state == "busy"


def test_a_known_id_with_another_content_is_a_conflict(driver: Driver) -> None:
    driver.send("w1", "Ping", {"n": 1}, id="p")
    made = driver.send("w1", "Ping", {"n": 2}, id="p")
    assert refusal(made).by == "conflict"
    assert driver.send("w1", "Ping", {"n": 1}, id="p").verdict == "duplicate"


def test_the_id_of_a_failed_step_may_be_used_again() -> None:
    body = BODY.replace('value: "${ count + 1 }"', 'value: "${ count + 1 / message.payload.n }"')
    driver = Driver(machine_of(body))
    driver.start()
    assert driver.send("w1", "Ping", {"n": 0}, id="p").verdict == "failed"
    assert len(driver.it.incidents) == 1
    assert driver.it.revision == 1
    assert driver.send("w1", "Ping", {"n": 1}, id="p").verdict == "taken"


def test_a_failed_step_changes_nothing_but_its_incident_and_tells_the_sender() -> None:
    body = BODY.replace('value: "${ count + 1 }"', 'value: "${ count + 1 / message.payload.n }"')
    driver = Driver(machine_of(body))
    driver.start()
    before = driver.it
    made = driver.send("w1", "Ping", {"n": 0}, id="p")
    assert made.error is not None
    assert driver.it.incidents[0].reason == made.error
    assert driver.it.variables == before.variables
    assert driver.it.seen == before.seen
    (reply,) = made.outputs
    assert isinstance(reply, Reply)
    assert (reply.to, reply.kind, reply.error) == ("w1", "failed", made.error)


def test_a_finished_instance_refuses_what_is_new_and_answers_what_is_known(driver: Driver) -> None:
    driver.send("w1", "Ping", id="p")
    driver.send("w1", "Done")
    made = driver.send("w2", "Ping")
    assert refusal(made).by == "finished"
    assert made.after is made.before
    assert driver.send("w1", "Ping", id="p").verdict == "duplicate"


def test_a_repeat_of_a_forgotten_message_is_stale(driver: Driver) -> None:
    for number in range(1024):
        driver.now += 1
        driver.send("w1" if number % 2 else "w2", "Ping")
    made = driver.send("w2", "Ping", id="m2", sent_at=T0 + 1)
    assert refusal(made).by == "stale"
    assert made.after is made.before
    assert driver.send("w1", "Ping", id="fresh").verdict == "taken"


def test_the_start_is_never_forgotten(driver: Driver) -> None:
    first = driver.steps[0]
    for _ in range(1001):
        driver.now += 1
        driver.send("boss", "Ping")
    again = driver.take(first.input)
    assert again.verdict == "duplicate"
    assert again.outputs == first.outputs


def test_texts_that_quote_what_was_sent_are_cut(driver: Driver) -> None:
    made = driver.send("w1", "Ping", {f"unknown_field_{number}": number for number in range(500)})
    assert len(refusal(made).text) <= 2000
    assert len(refusal(driver.send("w1", "P" * 5000)).text) <= 2000


def test_an_ignored_message_is_answered_and_changes_nothing() -> None:
    driver = Driver(machine_of(BODY + "unexpected: ignore\n"))
    driver.start()
    made = driver.send("boss", "Go", {"n": 1})
    assert made.verdict == "ignored"
    assert driver.it.revision == 1
    assert deliveries(made) == []


def test_a_type_may_have_its_own_policy() -> None:
    head_change = BODY + "unexpected: ignore\n"
    driver = Driver(machine_of(head_change))
    driver.start()
    assert driver.send("boss", "Go", {"n": 2}).verdict == "ignored"


# -- where they go ----------------------------------------------------------------------------------------------------


def test_an_accepted_message_goes_on_to_the_agents_it_is_addressed_to_but_not_back(driver: Driver) -> None:
    made = driver.send("w2", "Talk", {"text": "hello"}, in_reply_to="x")
    (delivery,) = [output for output in made.outputs if isinstance(output, Delivery)]
    assert delivery == Delivery(
        "i1:2:0", "Worker", ("w1", "w3"), "Talk", {"text": "hello"}, "w2", "Worker", T0, "x"
    )
    assert driver.variables["to"] == ["w1", "w3"]


def test_a_refused_message_goes_nowhere() -> None:
    driver = Driver(machine_of(BODY.replace("[{message: Talk}, ", "[")))
    driver.start()
    made = driver.send("w2", "Talk", {"text": "hello"})
    assert refusal(made).by == "unexpected"
    assert deliveries(made) == []


def test_a_sender_may_narrow_whom_it_reaches(driver: Driver) -> None:
    made = driver.send("w2", "Talk", {"text": "hello"}, to=("w3",))
    assert deliveries(made) == [("Talk", ("w3",))]


def test_narrowing_to_somebody_else_is_refused(driver: Driver) -> None:
    assert refusal(driver.send("w2", "Talk", {"text": "hello"}, to=("boss",))).by == "unbound"


def test_a_bare_role_with_several_agents_must_be_narrowed(driver: Driver) -> None:
    assert refusal(driver.send("boss", "Whisper")).by == "schema"
    assert deliveries(driver.send("boss", "Whisper", to=("w2",))) == [("Whisper", ("w2",))]


def test_a_bare_role_with_one_agent_needs_no_narrowing() -> None:
    driver = Driver(machine_of(BODY), workers=("w1",))
    driver.start()
    assert deliveries(driver.send("boss", "Whisper")) == [("Whisper", ("w1",))]


def test_any_of_a_role_takes_turns_beginning_with_the_first_bound(driver: Driver) -> None:
    reached = [deliveries(driver.send("boss", "Pass"))[0][1] for _ in range(4)]
    assert reached == [("w1",), ("w2",), ("w3",), ("w1",)]


def test_a_message_to_the_engine_alone_is_consumed(driver: Driver) -> None:
    assert deliveries(driver.send("w1", "Ping")) == []
