"""Micro-steps: which transition is taken, in which order actions and events run, and how an instance ends."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Delivery, MicroStep, Outcome
from tests.unit.engine.driver import T0, Driver, deliveries, machine_of

COMMON = """
events: {A: {}, B: {}, C: {n: integer}}
variables:
  order: {type: list<string>, initial: []}
  n: {type: integer, initial: 0}
  who: {type: list<string>, initial: []}
"""


def note(text: str) -> str:
    return f"{{append_to_list: {{list_name: order, value: {text}}}}}"


def driver_with(body: str) -> Driver:
    return Driver(machine_of(COMMON + body))


def test_leave_actions_the_transitions_and_entry_actions_run_in_this_order() -> None:
    driver = driver_with(f"""
states:
  - {{name: idle, on_exit: [{note("leave")}]}}
  - {{name: busy, on_entry: [{note("enter")}]}}
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}, actions: [{note("act")}]}}
""")
    made = driver.start()
    assert driver.variables["order"] == ["leave", "act", "enter"]
    assert made.micro_steps == (MicroStep(None, "start", "idle", "idle"), MicroStep(0, "Go", "idle", "busy"))


def test_the_state_is_the_old_one_in_actions_and_the_new_one_in_entry_actions() -> None:
    where = '"${ instance.state }"'
    driver = driver_with(f"""
states:
  - {{name: idle, on_exit: [{note(where)}]}}
  - {{name: busy, on_entry: [{note(where)}]}}
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}, actions: [{note(where)}]}}
""")
    driver.start()
    assert driver.variables["order"] == ["idle", "idle", "busy"]


def test_the_first_match_in_document_order_is_taken_a_named_state_before_any() -> None:
    driver = driver_with(f"""
states: [idle, busy]
transitions:
  - {{from: "*", trigger: {{message: Ping}}, actions: [{note("any")}]}}
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, trigger: {{message: Ping}}, condition: n == 1, actions: [{note("first")}]}}
  - from: busy
    trigger: {{message: Ping}}
    condition: n == 0
    actions: [{note("second")}, {{set_variable: {{name: n, value: 2}}}}]
""")
    driver.start()
    driver.send("w1", "Ping")
    driver.send("w1", "Ping")
    assert driver.variables["order"] == ["second", "any"]


def test_a_trigger_may_be_limited_to_a_role() -> None:
    driver = driver_with(f"""
states: [idle, busy]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, trigger: {{message: Ping, from: Boss}}, actions: [{note("boss")}]}}
  - {{from: busy, trigger: {{message: Ping, from: Worker}}, actions: [{note("worker")}]}}
""")
    driver.start()
    driver.send("w1", "Ping")
    driver.send("boss", "Ping")
    assert driver.variables["order"] == ["worker", "boss"]


def test_events_go_first_in_first_out_before_one_automatic_transition() -> None:
    driver = driver_with(f"""
states: [idle, busy, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}, actions: [{{emit: {{event: A}}}}, {{emit: {{event: B}}}}]}}
  - {{from: busy, trigger: {{event: A}}, actions: [{note("a")}, {{emit: {{event: C, payload: {{n: 3}}}}}}]}}
  - {{from: busy, trigger: {{event: B}}, actions: [{note("b")}]}}
  - {{from: busy, trigger: {{event: C}}, actions: [{note('"c ${ event.payload.n }"')}]}}
  - {{from: busy, to: over, actions: [{note("automatic")}]}}
""")
    made = driver.start()
    assert driver.variables["order"] == ["a", "b", "c 3", "automatic"]
    assert [move.trigger for move in made.micro_steps] == ["start", "Go", "!A", "!B", "!C", None]
    assert driver.it.status == "success"
    assert driver.it.revision == 1


def test_an_event_that_nothing_takes_is_dropped_and_noted() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, actions: [{emit: {event: A}}]}
""")
    assert driver.start().notes == ("the event A was dropped: nothing takes it in state busy",)


def test_a_step_that_does_not_settle_is_an_error_and_leaves_everything_as_it_was() -> None:
    driver = driver_with("""
states: [idle, busy, ping, pong]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: ping, trigger: {message: Ping}}
  - {from: ping, to: pong}
  - {from: pong, to: ping}
limits: {microsteps: 10}
""")
    driver.start()
    made = driver.send("w1", "Ping")
    assert made.verdict == "failed"
    assert "limits.microsteps" in (made.error or "")
    assert driver.it.state == "busy"


def test_a_final_state_ends_the_instance_with_its_result_and_tells_the_starter() -> None:
    driver = driver_with("""
states: [idle, busy, {name: over, final: success, on_entry: [{set_variable: {name: n, value: 5}}]}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Done}}
result: {n: $n, half: "${ 1 / (n - 5) }"}
""")
    driver.start()
    made = driver.send("w1", "Done")
    assert driver.it.status == "success"
    assert made.outputs[-1] == Outcome("i1:outcome", "boss", "success", "over", {"n": 5, "half": None}, None)
    assert any(text.startswith("result half is null") for text in made.notes)


def test_a_final_failure_has_no_result_and_says_where_it_ended() -> None:
    driver = driver_with("""
states: [idle, {name: over, final: failure}]
transitions: [{from: idle, to: over, trigger: {message: Go}}]
result: {n: $n}
""")
    made = driver.start()
    assert made.outputs[-1] == Outcome(
        "i1:outcome", "boss", "failure", "over", None, "ended in the state over"
    )


def test_fail_ends_the_instance_where_it_is_skips_what_follows_and_the_first_reason_stands() -> None:
    driver = driver_with(f"""
states: [idle, busy, {{name: over, final: success, on_entry: [{note("entered")}]}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - from: busy
    to: over
    trigger: {{message: Done}}
    actions: [{note("before")}, {{fail: "no ${{ n }}"}}, {note("after")}, {{fail: second}}]
""")
    driver.start()
    driver.send("w1", "Done")
    assert (driver.it.status, driver.it.state, driver.it.error) == ("failure", "busy", "no 0")
    assert driver.variables["order"] == ["before"]


def test_log_goes_into_the_history() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions: [{from: idle, to: busy, trigger: {message: Go}, actions: [{log: "n is ${ message.payload.n }"}]}]
""")
    assert driver.start(payload={"n": 4}).micro_steps[-1].logs == ("n is 4",)


def test_labels_are_evaluated_when_a_step_settles_and_null_where_they_fail() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}, actions: [{set_variable: {name: n, value: 1}}]}
labels: {n: $n, inverse: "${ 10 / n }"}
""")
    driver.start()
    assert driver.it.labels == {"n": 0, "inverse": None}
    driver.send("w1", "Ping")
    assert driver.it.labels == {"n": 1, "inverse": 10}


# -- sending ----------------------------------------------------------------------------------------------------------


def sending(action: str, workers: tuple[str, ...] = ("w1", "w2", "w3")) -> Driver:
    driver = Driver(
        machine_of(
            COMMON
            + f"""
states: [idle, busy]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, trigger: {{message: Ping}}, actions: [{action}]}}
"""
        ),
        workers,
    )
    driver.start()
    return driver


def test_a_broadcast_is_one_record_by_the_engines_role() -> None:
    made = sending("{broadcast: {message: Tell, payload: {n: 3}}}").send("w1", "Ping")
    (delivery,) = [output for output in made.outputs if isinstance(output, Delivery)]
    assert delivery == Delivery(
        "i1:2:0", "Worker", ("w1", "w2", "w3"), "Tell", {"n": 3}, "engine:Desk", "Desk", T0
    )


@pytest.mark.parametrize(
    ("to", "reached"),
    [
        ('"Worker[all]"', ("w1", "w2", "w3")),
        ('"Worker[all] except ${ message.from }"', ("w1", "w3")),
        ("\"${ 'w3' }\"", ("w3",)),
        ("\"${ ['w3', 'w1', 'w3'] }\"", ("w3", "w1")),
    ],
)
def test_recipients_may_be_a_role_all_but_some_or_ids(to: str, reached: tuple[str, ...]) -> None:
    driver = sending(f"{{send: {{message: Tell, to: {to}, payload: {{n: 1}}}}}}")
    assert deliveries(driver.send("w2", "Ping")) == [("Tell", reached)]


def test_an_empty_list_sends_nothing() -> None:
    driver = sending('{send: {message: Tell, to: "${ who }", payload: {n: 1}}}')
    made = driver.send("w2", "Ping")
    assert made.verdict == "taken"
    assert deliveries(made) == []


def test_an_unbound_id_is_an_error_of_the_step() -> None:
    driver = sending("{send: {message: Tell, to: \"${ 'stranger' }\", payload: {n: 1}}}")
    made = driver.send("w2", "Ping")
    assert made.verdict == "failed"
    assert "stranger" in (made.error or "")


def test_any_takes_turns_within_the_instance() -> None:
    driver = sending('{send: {message: Ask, to: "Worker[any]", payload: {}}}')
    reached = [deliveries(driver.send("boss", "Ping"))[0][1] for _ in range(4)]
    assert reached == [("w1",), ("w2",), ("w3",), ("w1",)]


def test_a_bare_role_with_several_agents_is_an_error_of_the_step() -> None:
    assert sending("{send: {message: Ask, payload: {}}}").send("boss", "Ping").verdict == "failed"
    driver = sending("{send: {message: Ask, payload: {}}}", workers=("w1",))
    assert deliveries(driver.send("boss", "Ping")) == [("Ask", ("w1",))]


def test_a_human_role_is_reached_under_its_own_id() -> None:
    assert deliveries(sending("{send: {message: Call, payload: {}}}").send("boss", "Ping")) == [
        ("Call", ("human:Judge",))
    ]


def test_an_answer_to_the_sender_carries_its_messages_id() -> None:
    driver = sending("{send: {message: Note, payload: {n: 1}}}")
    made = driver.send("boss", "Ping", id="question")
    (delivery,) = [output for output in made.outputs if isinstance(output, Delivery)]
    assert delivery.in_reply_to == "question"
    (delivery,) = [output for output in driver.send("w1", "Ping").outputs if isinstance(output, Delivery)]
    assert delivery.in_reply_to is None


# -- limits -----------------------------------------------------------------------------------------------------------


def test_at_its_last_step_an_instance_fails() -> None:
    driver = driver_with("""
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}}
  - {from: busy, to: over, trigger: {message: Done}}
limits: {steps: 3}
""")
    driver.start()
    steps = [driver.send("w1", "Ping") for _ in range(2)]
    assert [made.verdict for made in steps] == ["taken", "taken"]
    assert [made.after and made.after.status for made in steps] == ["running", "failure"]
    assert "limits.steps" in (driver.it.error or "")


def test_refusals_do_not_count_as_steps() -> None:
    driver = driver_with("""
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Done}}
limits: {steps: 2}
""")
    driver.start()
    for _ in range(5):
        driver.send("boss", "Go", {"n": 1})
    driver.send("w1", "Done")
    assert driver.it.status == "success"


def test_an_instance_that_outgrows_its_limit_is_an_error_of_the_step() -> None:
    driver = driver_with("""
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {message: Talk}
    actions: [{append_to_list: {list_name: order, value: $message.payload.text}}]
limits: {state_bytes: 2048}
""")
    driver.start()
    verdicts = [driver.send("w1", "Talk", {"text": "x" * 100}).verdict for _ in range(30)]
    assert verdicts[0] == "taken"
    assert verdicts[-1] == "failed"
    assert "limits.state_bytes" in driver.it.incidents[-1].reason
    assert driver.it.size_bound <= 2048
