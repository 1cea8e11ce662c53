"""How instances begin."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Outcome, Rejection, Reply, Start, binding_needs
from tests.unit.engine.driver import T0, Driver, machine_of, refusal, shipped

BODY = """
variables:
  count: {type: integer, initial: 0}
  first: {type: "integer?"}
states: [idle, busy, {name: over, final: success}]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
      - set_variable: {name: first, value: $message.payload.n}
  - {from: busy, to: over, trigger: {message: Done}}
"""


def test_a_start_binds_sets_initial_values_and_takes_its_message() -> None:
    driver = Driver(machine_of(BODY))
    made = driver.start(payload={"n": 7})
    assert made.verdict == "taken"
    assert driver.it.state == "busy"
    assert driver.it.revision == 1
    assert dict(driver.variables) == {"count": 0, "first": 7}
    assert driver.it.roles == {
        "Boss": ("boss",),
        "Desk": ("engine:Desk",),
        "Worker": ("w1", "w2", "w3"),
        "Judge": ("human:Judge",),
    }
    assert driver.it.started_at == driver.it.now == T0


def test_a_start_is_accepted_under_an_id_of_instance_and_input() -> None:
    made = Driver(machine_of(BODY)).start()
    assert made.outputs == (Reply("i1:m1:accepted", "boss", "accepted", "m1"),)


def test_a_start_that_the_first_state_does_not_take_makes_no_instance() -> None:
    driver = Driver(machine_of(BODY))
    made = driver.start("Ping")
    assert made.after is None
    assert refusal(made).by == "unexpected"
    assert "idle" in refusal(made).text
    assert "Go" in refusal(made).text


def test_a_start_without_a_message_enters_the_first_state() -> None:
    driver = Driver(machine_of(BODY))
    assert driver.start(None).verdict == "taken" or refusal(driver.steps[-1]).by == "quorum"


def test_too_few_agents_refuse_the_start_and_say_which_role_and_what_was_found() -> None:
    made = Driver(machine_of(BODY), workers=()).start()
    assert made.after is None
    assert refusal(made).by == "quorum"
    assert "Worker" in refusal(made).text
    assert "none found" in refusal(made).text


def test_more_named_agents_than_a_role_takes_are_refused() -> None:
    named = {"Worker": tuple(f"w{number}" for number in range(6))}
    assert refusal(Driver(machine_of(BODY)).start(named=named)).by == "quorum"


def test_named_agents_are_taken_as_named() -> None:
    driver = Driver(machine_of(BODY))
    driver.start(named={"Worker": ("x", "y"), "Judge": ("ann",)})
    assert driver.it.roles["Worker"] == ("x", "y")
    assert driver.it.roles["Judge"] == ("ann",)


def test_the_directory_binds_no_more_than_are_sought() -> None:
    driver = Driver(machine_of(BODY))
    driver.start(bound={"Worker": ("a", "b", "c", "d", "e")})
    assert driver.it.roles["Worker"] == ("a", "b", "c")


def test_a_starter_whose_role_was_named_otherwise_is_unbound() -> None:
    made = Driver(machine_of(BODY)).start(named={"Boss": ("another",)})
    assert refusal(made).by == "unbound"


def test_nobody_can_be_named_for_an_engine_role_or_an_unknown_one() -> None:
    assert refusal(Driver(machine_of(BODY)).start(named={"Desk": ("x",)})).by == "unbound"
    text = refusal(Driver(machine_of(BODY)).start(named={"Workr": ("x",)})).text
    assert "did you mean Worker" in text


@pytest.mark.parametrize("agent", ["", "engine:Desk", "engine:Other"])
def test_nobody_has_an_empty_id_or_that_of_an_engine_role(agent: str) -> None:
    assert refusal(Driver(machine_of(BODY)).start(named={"Worker": ("w1", agent)})).by == "unbound"
    assert refusal(Driver(machine_of(BODY)).start(sender=agent)).by == "unbound"


def test_a_starting_payload_that_does_not_fit_is_refused_by_its_field() -> None:
    made = Driver(machine_of(BODY)).start(payload={"n": "one"})
    assert refusal(made).by == "schema"
    assert "/n" in refusal(made).text


def test_a_failing_start_makes_no_instance_and_tells_the_starter() -> None:
    body = BODY.replace("value: $message.payload.n", 'value: "${ 1 / message.payload.n }"')
    made = Driver(machine_of(body)).start(payload={"n": 0})
    assert made.verdict == "failed"
    assert made.after is None
    assert made.error is not None
    assert "set_variable first" in made.error
    (reply,) = made.outputs
    assert isinstance(reply, Reply)
    assert reply.kind == "failed"


def test_the_same_start_again_is_answered_again_and_changes_nothing() -> None:
    driver = Driver(machine_of(BODY))
    first = driver.start()
    again = driver.take(first.input)
    assert again.verdict == "duplicate"
    assert again.after is first.after
    assert again.outputs == first.outputs


def test_another_start_of_a_known_instance_is_a_conflict() -> None:
    driver = Driver(machine_of(BODY))
    driver.start()
    made = driver.start()
    assert refusal(made).by == "conflict"
    assert made.after is made.before


def test_the_same_start_id_with_another_content_is_a_conflict() -> None:
    driver = Driver(machine_of(BODY))
    driver.start(payload={"n": 1}, id="one")
    assert refusal(driver.start(payload={"n": 2}, id="one")).by == "conflict"


def test_a_start_or_send_of_a_known_instance_is_an_ordinary_message() -> None:
    body = BODY.replace(
        "  - {from: busy, to: over", "  - {from: busy, trigger: {message: Ping}}\n  - {from: busy, to: over"
    )
    driver = Driver(machine_of(body))
    driver.start()
    made = driver.start("Ping", {}, sender="w1", or_send=True, id="p")
    assert made.verdict == "taken"
    assert driver.it.revision == 2
    repeat = driver.start("Ping", {}, sender="w1", or_send=True, id="p")
    assert repeat.verdict == "duplicate"
    assert driver.it.revision == 2


def test_a_repeated_start_or_send_that_made_the_instance_is_a_duplicate() -> None:
    driver = Driver(machine_of(BODY))
    driver.start(or_send=True, id="one")
    assert driver.start(or_send=True, id="one").verdict == "duplicate"


def test_a_repeated_start_of_a_finished_instance_gets_its_outcome_again() -> None:
    driver = Driver(machine_of(BODY))
    first = driver.start()
    ended = driver.send("w1", "Done")
    again = driver.take(first.input)
    (outcome,) = [output for output in ended.outputs if isinstance(output, Outcome)]
    assert again.outputs == (*first.outputs, outcome)


def test_binding_needs_ask_for_roles_that_nobody_named() -> None:
    machine = machine_of(BODY)
    start = Driver(machine).start().input
    assert isinstance(start, Start)
    needs = binding_needs(machine, start)
    assert not isinstance(needs, Rejection)
    assert {role: (need.want, need.minimum, need.maximum) for role, need in needs.items()} == {
        "Worker": (3, 1, 5)
    }


def test_a_count_may_depend_on_the_starting_message() -> None:
    machine = shipped("code_review")
    for size, wanted in ((20_000, 3), (20_001, 5)):
        start = Driver(machine).start(
            "InitiateReview", {"pr_url": "u", "diff_content": "x" * size}, sender="ci", bound={}
        )
        needs = binding_needs(machine, start.input)  # type: ignore[arg-type]
        assert not isinstance(needs, Rejection)
        assert needs["reviewer"].want == wanted


def test_a_role_without_bounds_seeks_everybody() -> None:
    machine = shipped("task_auction")
    payload = {
        "task_id": "t",
        "spec": {},
        "budget": 1,
        "deadline": "2030-01-02T00:00:00Z",
        "bidding_duration": "PT5M",
    }
    start = Driver(machine).start("TaskAnnouncement", payload, sender="c", bound={}).input
    needs = binding_needs(machine, start)  # type: ignore[arg-type]
    assert not isinstance(needs, Rejection)
    assert needs["Solver"].want is None


def test_the_starting_message_is_kept_only_where_the_protocol_reads_it() -> None:
    driver = Driver(machine_of(BODY))
    driver.start()
    assert driver.it.starting is None
    reading = Driver(machine_of(BODY + "labels: {n: $starting.payload.n}\n"))
    reading.start(payload={"n": 5})
    assert reading.it.labels == {"n": 5}
    assert reading.it.starting is not None


def test_entry_actions_and_automatic_transitions_come_before_the_starting_message() -> None:
    body = """
variables: {order: {type: list<string>, initial: []}}
states:
  - name: first
    on_entry: [{append_to_list: {list_name: order, value: entered first}}]
  - name: second
    on_entry: [{append_to_list: {list_name: order, value: entered second}}]
transitions:
  - {from: first, to: second}
  - from: second
    trigger: {message: Go}
    actions: [{append_to_list: {list_name: order, value: went}}]
deadline: {after: PT1H, fail: too late}
"""
    driver = Driver(machine_of(body))
    driver.start()
    assert driver.variables["order"] == ["entered first", "entered second", "went"]
    assert driver.it.revision == 1
