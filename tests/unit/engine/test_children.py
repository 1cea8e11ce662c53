"""Child protocols: starting and cancelling them, what comes back of them, and what a child tells its parent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strabo_runtime.engine import (
    ChildCancel,
    ChildEvent,
    ChildFinished,
    ChildStart,
    Outcome,
    Parent,
    ParentEvent,
    Reply,
    Start,
    Step,
    fail_step,
)
from tests.unit.engine.driver import T0, Driver, machine_of, refusal

PARENT = """
events: {Progress: {percent: integer}, Odd: {}}
variables:
  ended: {type: list<string>, initial: []}
  progress: {type: integer, initial: 0}
  sum: {type: integer, initial: 0}
states:
  - idle
  - busy
  - {name: over, final: success}
  - {name: lost, final: failure}
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
      - start_protocol:
          protocol: Errand
          version: "2"
          as: kid
          inputs: {n: "${ message.payload.n }"}
          roles: {Doer: Worker, Chief: "${ message.from }"}
      - start_protocol: {protocol: Errand, as: aside, detach: true}
  - from: busy
    trigger: {child: kid, outcome: success}
    actions:
      - append_to_list: {list_name: ended, value: "${ child.name + ' ' + child.outcome }"}
  - from: busy
    to: lost
    trigger: {child: kid, outcome: failure}
    actions:
      - append_to_list: {list_name: ended, value: "${ child.error }"}
  - from: busy
    trigger: {message: Ping}
    actions:
      - start_protocol: {protocol: Errand, as: kid}
  - from: busy
    trigger: {message: Pass}
    actions:
      - cancel_protocol: {as: kid}
  - from: busy
    trigger: {event: Progress}
    actions:
      - set_variable: {name: progress, value: $event.payload.percent}
  - {from: busy, to: over, trigger: {message: Done}}
constraints:
  - {name: calm, expression: progress < 50, phase: always}
result: {kids: "${ children.kid.size() }"}
"""


@pytest.fixture
def driver() -> Driver:
    driver = Driver(machine_of(PARENT))
    driver.start()
    return driver


def outputs(made: Step, kind: type) -> list[Any]:
    return [output for output in made.outputs if isinstance(output, kind)]


# -- starting ---------------------------------------------------------------------------------------------------------


def test_a_child_is_started_with_inputs_and_roles(driver: Driver) -> None:
    start, _ = outputs(driver.steps[0], ChildStart)
    assert (start.protocol, start.version) == ("Errand", "2")
    assert start.inputs == {"n": 1}
    assert start.named == {"Doer": ("w1", "w2", "w3"), "Chief": ("boss",)}
    assert start.parent == Parent("i1", "kid", 1)


def test_a_childs_id_is_made_of_parent_step_and_position(driver: Driver) -> None:
    first, second = outputs(driver.steps[0], ChildStart)
    assert (first.to, first.id) == ("i1:1:child:0", "i1:1:child:0:start")
    assert (second.to, second.id) == ("i1:1:child:1", "i1:1:child:1:start")


def test_the_parent_goes_on_and_knows_its_running_children(driver: Driver) -> None:
    assert driver.it.state == "busy"
    assert [(child.name, child.status) for child in driver.it.children] == [
        ("kid", "running"),
        ("aside", "running"),
    ]


def test_a_detached_child_is_told_so(driver: Driver) -> None:
    assert outputs(driver.steps[0], ChildStart)[1].parent.detached
    assert driver.it.children[1].detached


def test_the_same_name_may_be_started_again(driver: Driver) -> None:
    driver.send("boss", "Ping")
    assert [child.id for child in driver.it.children if child.name == "kid"] == [
        "i1:1:child:0",
        "i1:2:child:0",
    ]


def test_a_child_of_a_child_is_one_deeper() -> None:
    child = Driver(machine_of(PARENT))
    child.start_as_child(depth=4)
    made = child.send("boss", "Go", {"n": 1})
    assert made.verdict == "rejected"  # nobody is bound as Boss: a child has no starting message
    child = Driver(machine_of(PARENT))
    child.start_as_child(depth=4, Boss=("boss",))
    made = child.send("boss", "Go", {"n": 1})
    assert outputs(made, ChildStart)[0].parent.depth == 5


def test_the_fifteenth_child_of_a_child_starts_the_last_one() -> None:
    child = Driver(machine_of(PARENT))
    child.start_as_child(depth=15, Boss=("boss",))
    made = child.send("boss", "Go", {"n": 1})
    assert outputs(made, ChildStart)[0].parent.depth == 16


def test_the_sixteenth_child_of_a_child_starts_no_other() -> None:
    child = Driver(machine_of(PARENT))
    child.start_as_child(depth=16, Boss=("boss",))
    made = child.send("boss", "Go", {"n": 1})
    assert made.verdict == "failed"
    assert "16 children deep" in str(made.error)
    assert not outputs(made, ChildStart)
    assert child.it.children == ()


def test_a_thousand_children_may_run_and_no_more() -> None:
    driver = Driver(machine_of(PARENT + "limits: {state_bytes: 1000000, steps: 2000}\n"))
    driver.start()
    kids = tuple(replace(driver.it.children[0], id=f"k{number}") for number in range(999))
    driver.instance = replace(driver.it, children=kids)
    assert driver.send("boss", "Ping").verdict == "taken"
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert "1000 children are running" in str(made.error)


def test_ended_children_leave_room_for_others() -> None:
    driver = Driver(machine_of(PARENT + "limits: {state_bytes: 1000000, steps: 2000}\n"))
    driver.start()
    ended = replace(driver.it.children[0], status="success")
    driver.instance = replace(driver.it, children=(ended,) * 1000)
    assert driver.send("boss", "Ping").verdict == "taken"


def test_a_failed_step_starts_no_child(driver: Driver) -> None:
    driver.tell("Progress", {"percent": 49})
    body = PARENT.replace("cancel_protocol: {as: kid}", "set_variable: {name: progress, value: 99}")
    body = body.replace("- start_protocol: {protocol: Errand, as: kid}", START_AND_FAIL)
    driver = Driver(machine_of(body))
    driver.start()
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert [type(output) for output in made.outputs] == [Reply]
    assert len(driver.it.children) == 2


START_AND_FAIL = """
      - start_protocol: {protocol: Errand, as: kid}
      - set_variable: {name: sum, value: "${ 1 / sum }"}
"""


# -- ending -----------------------------------------------------------------------------------------------------------


def test_the_parent_reacts_to_the_outcome_that_its_trigger_names(driver: Driver) -> None:
    made = driver.finish(result={"x": 1})
    assert made.verdict == "taken"
    assert driver.variables["ended"] == ["kid success"]
    assert driver.it.state == "busy"


def test_a_failure_comes_with_its_error_and_no_result(driver: Driver) -> None:
    driver.finish(error="out of time", result={"x": 1})
    assert driver.it.state == "lost"
    assert driver.variables["ended"] == ["out of time"]
    child = driver.it.children[0]
    assert (child.status, child.result, child.error) == ("failure", None, "out of time")


def test_an_end_that_nothing_takes_is_recorded_and_dropped(driver: Driver) -> None:
    made = driver.finish(1, {"x": 1})
    assert made.verdict == "taken"
    assert "nothing takes it in state busy" in made.notes[0]
    assert driver.it.children[1].status == "success"
    assert driver.it.children[1].result == {"x": 1}


def test_the_parent_reacts_once_however_often_the_end_is_told(driver: Driver) -> None:
    driver.finish()
    made = driver.finish()
    assert made.verdict == "duplicate"
    assert made.after is made.before
    assert driver.variables["ended"] == ["kid success"]


def test_a_second_end_of_a_child_is_ignored(driver: Driver) -> None:
    driver.finish()
    child = driver.child()
    made = driver.take(ChildFinished("other", child, "failure", None, "x", T0, T0))
    assert made.verdict == "ignored"
    assert made.after is made.before
    assert "is known already" in made.notes[0]


def test_an_end_with_a_known_id_and_another_content_is_refused_as_a_conflict(driver: Driver) -> None:
    driver.finish()
    made = driver.finish(error="x")
    assert made.verdict == "rejected"
    assert made.rejection is not None
    assert made.rejection.by == "conflict"
    assert made.outputs == ()
    assert made.after is made.before


def test_nobody_can_take_the_id_of_a_childs_end_away_by_a_message(driver: Driver) -> None:
    assert driver.send("w1", "Ping", id=f"{driver.child()}:outcome").verdict == "taken"
    assert driver.finish().verdict == "taken"
    assert driver.variables["ended"] == ["kid success"]


def test_the_end_of_a_strangers_child_is_ignored(driver: Driver) -> None:
    made = driver.take(ChildFinished("x", "j:1:child:0", "success", None, None, T0, T0))
    assert made.verdict == "ignored"
    assert "is no child of i1" in made.notes[0]


def test_an_end_for_no_instance_is_ignored() -> None:
    driver = Driver(machine_of(PARENT))
    made = driver.take(ChildFinished("x", "i1:1:child:0", "success", None, None, T0, T0))
    assert made.verdict == "ignored"
    assert made.after is None


def test_an_end_after_the_parents_own_is_ignored(driver: Driver) -> None:
    driver.send("w1", "Done")
    made = driver.finish()
    assert made.verdict == "ignored"
    assert "has ended" in made.notes[0]


def test_a_failed_step_leaves_the_child_running_and_its_end_may_come_again() -> None:
    body = PARENT.replace("child.name + ' ' + child.outcome", "string(1 / sum)")
    driver = Driver(machine_of(body))
    driver.start()
    assert driver.finish().verdict == "failed"
    assert [child.status for child in driver.it.children] == ["running", "running"]
    driver.instance = replace(
        driver.it, variables=type(driver.it.variables).of({**driver.variables, "sum": 1})
    )
    assert driver.finish().verdict == "taken"
    assert [child.status for child in driver.it.children] == ["success", "running"]


def test_expressions_read_children_in_start_order() -> None:
    body = PARENT.replace(
        "child.name + ' ' + child.outcome", "children.kid.map(k, k.status + (has(k.result) ? '!' : ''))[1]"
    )
    driver = Driver(machine_of(body))
    driver.start()
    driver.send("boss", "Ping")
    driver.finish(1 + 1, {"x": 1})
    assert driver.variables["ended"] == ["success!"]


def test_a_join_waits_for_all_children() -> None:
    body = PARENT.replace(
        "constraints:",
        "  - {from: busy, to: over, condition: \"children.kid.all(k, k.status == 'success')\"}\nconstraints:",
    )
    driver = Driver(machine_of(body.replace("as: aside", "as: kid")))
    driver.start()
    assert driver.finish(1).after.state == "busy"  # type: ignore[union-attr]
    assert driver.finish(0).after.state == "over"  # type: ignore[union-attr]


def test_an_after_constraint_holds_for_the_transition_that_a_childs_end_takes() -> None:
    constraint = "constraints:\n  - {name: few, expression: ended.size() < 1, phase: after}\n"
    driver = Driver(machine_of(PARENT.replace("constraints:\n", constraint)))
    driver.start()
    made = driver.finish()
    assert made.verdict == "failed"
    assert "few" in str(made.error)
    assert driver.variables["ended"] == []


def test_a_before_constraint_that_objects_to_a_childs_end_is_an_error() -> None:
    constraint = "constraints:\n  - {name: never, expression: instance.state == 'idle'}\n"
    driver = Driver(machine_of(PARENT.replace("constraints:\n", constraint)))
    driver.start()
    made = driver.finish()
    assert made.verdict == "failed"
    assert "never" in str(made.error)
    assert driver.it.children[0].status == "running"


def test_the_events_raised_by_a_childs_end_are_settled_in_its_step() -> None:
    body = PARENT.replace(
        "- append_to_list: {list_name: ended, value: \"${ child.name + ' ' + child.outcome }\"}",
        "- emit: {event: Progress, payload: {percent: 7}}",
    )
    driver = Driver(machine_of(body))
    driver.start()
    made = driver.finish()
    assert driver.variables["progress"] == 7
    assert [one.trigger for one in made.micro_steps] == ["^kid", "!Progress"]


# -- cancelling -------------------------------------------------------------------------------------------------------


def test_cancel_protocol_cancels_every_running_child_of_the_name_once(driver: Driver) -> None:
    driver.send("boss", "Ping")
    made = driver.send("boss", "Pass")
    assert [output.to for output in outputs(made, ChildCancel)] == ["i1:1:child:0", "i1:2:child:0"]
    assert not outputs(driver.send("boss", "Pass"), ChildCancel)


def test_a_cancelled_child_runs_until_its_end_comes_back(driver: Driver) -> None:
    driver.send("boss", "Pass")
    assert driver.it.children[0].status == "running"
    assert driver.it.children[0].cancelled
    driver.finish(error="cancelled")
    assert driver.variables["ended"] == ["cancelled"]


def test_a_child_that_ended_before_its_cancellation_came_counts_as_it_ended(driver: Driver) -> None:
    driver.send("boss", "Pass")
    driver.finish(result={"x": 1})
    assert driver.variables["ended"] == ["kid success"]


def test_cancel_protocol_without_a_running_child_does_nothing(driver: Driver) -> None:
    driver.finish()
    made = driver.send("boss", "Pass")
    assert made.verdict == "taken"
    assert not outputs(made, ChildCancel)


def test_finishing_cancels_running_children_but_no_detached_ones(driver: Driver) -> None:
    made = driver.send("w1", "Done")
    assert [output.to for output in outputs(made, ChildCancel)] == ["i1:1:child:0"]


def test_finishing_cancels_no_child_twice(driver: Driver) -> None:
    driver.send("boss", "Pass")
    assert not outputs(driver.send("w1", "Done"), ChildCancel)


# -- a child's side ---------------------------------------------------------------------------------------------------

CHILD = """
events: {Halfway: {percent: integer}}
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}, {name: lost, final: failure}]
transitions:
  - from: idle
    trigger: {message: Ping}
    actions:
      - emit: {event: Halfway, payload: {percent: 50}, to: parent}
  - from: idle
    to: over
    trigger: {message: Done}
    actions:
      - emit: {event: Halfway, payload: {percent: 100}, to: parent}
  - {from: idle, to: lost, trigger: {message: Pass}}
result: {parent: $instance.parent}
"""


def a_child(*, start: bool = True) -> Driver:
    driver = Driver(machine_of(CHILD))
    if start:
        driver.start_as_child(Boss=("boss",))
    return driver


def test_a_child_is_started_without_a_reply() -> None:
    driver = a_child(start=False)
    made = driver.start_as_child(Boss=("boss",))
    assert made.verdict == "taken"
    assert made.outputs == ()
    assert driver.it.parent == Parent("p1", "kid", 1)


def test_the_end_of_a_child_is_told_to_its_parent() -> None:
    made = a_child().send("w1", "Done")
    (outcome,) = outputs(made, Outcome)
    assert (outcome.to, outcome.to_parent, outcome.status) == ("p1", True, "success")
    assert outcome.result == {"parent": "p1"}


def test_a_failed_child_tells_its_error_and_no_result() -> None:
    (outcome,) = outputs(a_child().send("boss", "Pass"), Outcome)
    assert (outcome.status, outcome.result) == ("failure", None)
    assert outcome.error == "ended in the state lost"


def test_a_detached_child_tells_its_end_too() -> None:
    driver = a_child(start=False)
    driver.start_as_child(detached=True, Boss=("boss",))
    assert outputs(driver.send("w1", "Done"), Outcome)


def test_a_child_that_cannot_start_has_failed() -> None:
    driver = a_child(start=False)
    made = driver.start_as_child()
    assert made.verdict == "rejected"
    (outcome,) = made.outputs
    assert isinstance(outcome, Outcome)
    assert (outcome.id, outcome.to, outcome.to_parent) == ("i1:outcome", "p1", True)
    assert outcome.status == "failure"
    assert "Boss" in str(outcome.error)


def test_a_child_whose_start_is_an_error_has_failed() -> None:
    driver = Driver(machine_of(CHILD.replace("initial: 0", 'initial: "${ 1 / int(now.getSeconds()) }"')))
    made = driver.start_as_child(Boss=("boss",))
    assert made.verdict == "failed"
    (outcome,) = made.outputs
    assert isinstance(outcome, Outcome)
    assert outcome.error == made.error


def test_a_child_that_its_host_cannot_start_has_failed() -> None:
    driver = a_child()
    made = fail_step(driver.machine, None, driver.steps[0].input, "no such protocol")
    (outcome,) = made.outputs
    assert isinstance(outcome, Outcome)
    assert (outcome.id, outcome.to, outcome.error) == ("i1:outcome", "p1", "no such protocol")


def test_nobody_can_start_an_instance_under_an_id_that_a_child_may_get() -> None:
    driver = Driver(machine_of(PARENT))
    made = driver.take(replace(go(driver), instance_id="i1:3:child:0"))
    assert refusal(made).by == "schema"
    assert "choose another instance id" in refusal(made).text


def test_a_child_whose_id_is_taken_by_another_instance_has_failed() -> None:
    driver = a_child()
    parent = Parent("another", "kid", 1)
    made = driver.take(Start("s", "i1", "another", T0, T0, None, {"Boss": ("boss",)}, {}, parent=parent))
    (outcome,) = made.outputs
    assert isinstance(outcome, Outcome)
    assert (outcome.to, outcome.status) == ("another", "failure")
    assert driver.it.status == "running"


def go(driver: Driver) -> Start:
    message = driver.message("boss", "Go", {"n": 1})
    return Start(message.id, "i1", "boss", T0, T0, message, {}, {"Worker": ("w1",)})


def test_a_childs_start_that_comes_again_is_told_its_end_again() -> None:
    driver = a_child()
    first = driver.steps[0].input
    assert driver.take(first).outputs == ()
    driver.send("w1", "Done")
    (again,) = driver.take(first).outputs
    assert isinstance(again, Outcome)
    assert again.to_parent


def test_an_event_for_the_parent_goes_out_and_is_not_handled_here() -> None:
    made = a_child().send("boss", "Ping")
    assert outputs(made, ParentEvent) == [ParentEvent("i1:2:parent:0", "p1", "Halfway", {"percent": 50})]
    assert made.notes == ()


def test_an_event_for_the_parent_comes_before_the_end() -> None:
    made = a_child().send("w1", "Done")
    assert [type(output) for output in made.outputs][-2:] == [ParentEvent, Outcome]


def test_an_event_for_a_parent_that_there_is_not_is_noted() -> None:
    driver = a_child(start=False)
    driver.take(Start("s", "i1", "boss", T0, T0, None, {"Boss": ("boss",)}, {"Worker": ("w1",)}))
    made = driver.send("boss", "Ping")
    assert made.verdict == "taken"
    assert not outputs(made, ParentEvent)
    assert "there is no parent" in made.notes[0]


def test_a_childs_event_is_taken_as_an_event_of_the_parent(driver: Driver) -> None:
    made = driver.tell("Progress", {"percent": 20})
    assert made.verdict == "taken"
    assert driver.variables["progress"] == 20


def test_a_repeated_childs_event_has_one_effect(driver: Driver) -> None:
    made = driver.tell("Progress", {"percent": 20})
    assert driver.take(made.input).verdict == "duplicate"


def test_an_event_of_a_childs_that_nothing_takes_is_dropped(driver: Driver) -> None:
    made = driver.tell("Odd", {})
    assert made.verdict == "taken"
    assert "nothing takes it" in made.notes[0]


def test_an_event_that_is_not_as_the_parent_declares_it_is_an_error(driver: Driver) -> None:
    made = driver.tell("Progress", {"percent": "a lot"})
    assert made.verdict == "failed"
    assert "/percent" in str(made.error)
    assert driver.variables["progress"] == 0


def test_an_event_that_the_engine_alone_raises_is_ignored(driver: Driver) -> None:
    made = driver.tell("QuorumLost", {"role": "Worker"})
    assert made.verdict == "ignored"
    assert driver.it.status == "running"


def test_an_event_of_a_strangers_child_is_ignored(driver: Driver) -> None:
    made = driver.take(ChildEvent("x", "elsewhere", "Progress", {"percent": 1}, T0, T0))
    assert made.verdict == "ignored"


def test_a_childs_event_that_an_always_constraint_forbids_is_an_error(driver: Driver) -> None:
    made = driver.tell("Progress", {"percent": 80})
    assert made.verdict == "failed"
    assert "calm" in str(made.error)
    assert driver.variables["progress"] == 0
