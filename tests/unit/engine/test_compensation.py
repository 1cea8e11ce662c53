"""Compensations: when they are kept, with what values, and when and in which order they run."""

from __future__ import annotations

import orjson

from strabo_runtime.engine import ChildStart, Step, decode_instance, encode_instance
from tests.unit.engine.driver import MINUTE, Driver, deliveries, machine_of

BODY = """
events: {Undo: {}, Tick: {}}
variables:
  n: {type: integer, initial: 0}
  trail: {type: list<string>, initial: []}
states: [idle, busy, {name: over, final: success}, {name: lost, final: failure, on_entry: [{append_to_list: {
  list_name: trail, value: entered}}]}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {message: Ping}
    actions:
      - set_variable: {name: n, value: "${ n + 1 }"}
    compensation:
      - append_to_list: {list_name: trail, value: "undo ${ n }"}
  - from: busy
    trigger: {message: Pass}
    actions:
      - append_to_list: {list_name: trail, value: compensating}
      - compensate: {}
      - append_to_list: {list_name: trail, value: compensated}
  - {from: busy, to: lost, trigger: {message: Whisper}}
  - {from: busy, to: over, trigger: {message: Done}}
  - {from: busy, trigger: {message: Talk}, actions: [{fail: gone wrong}]}
deadline: {after: PT1H, fail: too late}
"""


def started(body: str = BODY) -> Driver:
    driver = Driver(machine_of(body))
    driver.start()
    return driver


def trail(driver: Driver) -> list[str]:
    return list(driver.variables["trail"])


def replaced(old: str, new: str, body: str = BODY) -> str:
    assert old in body
    return body.replace(old, new)


def test_a_compensation_is_evaluated_after_its_transitions_actions() -> None:
    driver = started()
    driver.send("boss", "Ping")
    assert [kept.actions for kept in driver.it.compensations] == [(["append_to_list", "trail", "undo 1"],)]


def test_compensate_runs_the_newest_first() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.send("boss", "Ping")
    made = driver.send("boss", "Pass")
    assert trail(driver) == ["compensating", "undo 2", "undo 1", "compensated"]
    assert made.notes.count("transition 2 was compensated") == 2


def test_a_compensation_is_removed_as_it_runs() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.send("boss", "Pass")
    assert driver.it.compensations == ()
    driver.send("boss", "Pass")
    assert trail(driver).count("undo 1") == 1


def test_compensate_without_anything_kept_does_nothing() -> None:
    driver = started()
    assert driver.send("boss", "Pass").verdict == "taken"
    assert trail(driver) == ["compensating", "compensated"]


def test_reaching_a_failure_runs_what_is_left_after_the_entry_actions() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.send("boss", "Whisper", to=("w1",))
    assert driver.it.status == "failure"
    assert trail(driver) == ["entered", "undo 1"]


def test_reaching_a_success_runs_nothing() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.send("w1", "Done")
    assert trail(driver) == []
    assert driver.it.compensations == ()


def test_fail_runs_what_is_left() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.send("w1", "Talk", {"text": "x"})
    assert (driver.it.status, driver.it.error, trail(driver)) == ("failure", "gone wrong", ["undo 1"])


def test_a_deadline_that_fails_the_instance_runs_what_is_left() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.advance(60 * MINUTE)
    assert (driver.it.error, trail(driver)) == ("too late", ["undo 1"])


def test_a_cancellation_that_fails_the_instance_runs_what_is_left() -> None:
    driver = started()
    driver.send("boss", "Ping")
    driver.cancel()
    assert (driver.it.error, trail(driver)) == ("cancelled", ["undo 1"])


def test_a_constraint_that_fails_the_instance_runs_what_is_left() -> None:
    driver = started(
        BODY + "constraints: [{name: few, expression: n < 2, phase: always, on_violation: fail}]\n"
    )
    driver.send("boss", "Ping")
    driver.send("boss", "Ping")
    assert trail(driver) == ["undo 2", "undo 1"]


def test_fail_in_entry_actions_of_a_failure_runs_each_once() -> None:
    entry = "value: entered}}]"
    driver = started(replaced(entry, "value: entered}}, {fail: twice}, {log: never}]"))
    driver.send("boss", "Ping")
    made = driver.send("boss", "Whisper", to=("w1",))
    assert trail(driver) == ["entered", "undo 1"]
    assert driver.it.error == "twice"
    assert [one.logs for one in made.micro_steps] == [()]


def test_a_transition_that_fails_the_instance_keeps_no_compensation() -> None:
    driver = started(
        replaced("actions: [{fail: gone wrong}]", "actions: [{fail: x}], compensation: [{log: undone}]")
    )
    made = driver.send("w1", "Talk", {"text": "x"})
    assert not any("undone" in one.logs for one in made.micro_steps)


def test_an_error_while_a_compensation_is_evaluated_undoes_the_step() -> None:
    driver = started(replaced("undo ${ n }", "undo ${ 6 / (n - 1) }"))
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert "the compensation of transition 2, append_to_list trail" in str(made.error)
    assert (driver.variables["n"], driver.it.compensations) == (0, ())


COMPENSATION = '      - append_to_list: {list_name: trail, value: "undo ${ n }"}\n'


def with_compensation(actions: str) -> Driver:
    driver = started(replaced(COMPENSATION, actions))
    driver.send("boss", "Ping")
    driver.send("boss", "Ping")
    return driver


def test_a_fail_in_a_compensation_leaves_out_what_follows_it_and_runs_what_is_older() -> None:
    driver = with_compensation(COMPENSATION + "      - fail: undoing ${ n }\n      - log: never\n")
    made = driver.send("boss", "Pass")
    assert trail(driver) == ["compensating", "undo 2", "undo 1"]
    assert driver.it.error == "undoing 2"
    assert not any("never" in one.logs for one in made.micro_steps)


def test_a_compensate_in_a_compensation_runs_what_is_older_first() -> None:
    driver = with_compensation("      - compensate: {}\n" + COMPENSATION)
    driver.send("boss", "Pass")
    assert trail(driver) == ["compensating", "undo 1", "undo 2", "compensated"]


def test_many_compensations_that_compensate_need_no_deep_stack() -> None:
    driver = with_compensation("      - compensate: {}\n" + COMPENSATION)
    for _ in range(1500):
        driver.now += 1
        assert driver.send("boss", "Ping").verdict == "taken"
    assert driver.send("boss", "Pass").verdict == "taken"
    assert trail(driver)[1] == "undo 1"
    assert len(trail(driver)) == 1504


def test_an_event_raised_by_a_compensation_is_handled_in_the_step() -> None:
    driver = with_compensation("      - emit: {event: Tick}\n")
    made = driver.send("boss", "Pass")
    assert made.notes.count("the event Tick was dropped: nothing takes it in state busy") == 2


def test_a_compensations_message_goes_to_who_is_bound_when_it_runs() -> None:
    driver = with_compensation("      - broadcast: {message: Tell, payload: {n: $n}}\n")
    made = driver.send("boss", "Whisper", to=("w1",))
    assert [to for kind, to in deliveries(made) if kind == "Tell"] == [("w1", "w2", "w3")] * 2


def test_a_compensations_message_to_an_agent_that_has_left_is_left_out() -> None:
    driver = with_compensation('      - send: {message: Ask, payload: {}, to: "${ [roles.Worker[0]] }"}\n')
    assert driver.instance is not None
    roles = {**driver.it.roles, "Worker": ("w2", "w3")}
    driver.instance = decode_instance(
        driver.machine, {**encode_instance(driver.it), "roles": {k: list(v) for k, v in roles.items()}}
    )
    made = driver.send("boss", "Pass")
    assert made.verdict == "taken"
    assert "Ask" not in [kind for kind, _ in deliveries(made)]
    assert any("w1 was left out" in note for note in made.notes)


def test_children_of_a_compensation_are_detached() -> None:
    driver = with_compensation("      - start_protocol: {protocol: Refund, as: refund, inputs: {n: $n}}\n")
    made = driver.send("boss", "Whisper", to=("w1",))
    starts = [output for output in made.outputs if isinstance(output, ChildStart)]
    assert [(start.parent.detached, start.inputs) for start in starts] == [(True, {"n": 2}), (True, {"n": 1})]


def test_a_for_each_in_a_compensation_is_expanded_when_it_is_kept() -> None:
    driver = with_compensation(
        '      - append_to_list: {for_each: "${ roles.Worker }", list_name: trail, value: "${ each } ${ n }"}\n'
    )
    driver.send("boss", "Pass")
    assert trail(driver)[1:4] == ["w1 2", "w2 2", "w3 2"]


def test_a_compensations_timer_counts_from_when_it_runs() -> None:
    driver = with_compensation(
        "      - start_timer: {name: later, duration: PT5M, on_timeout: {event: Tick}}\n"
    )
    driver.advance(7 * MINUTE)
    driver.send("boss", "Pass")
    (timer,) = [timer for timer in driver.it.timers if timer.key == "timer:later"]
    assert timer.due == driver.now + 5 * MINUTE


def test_a_log_of_a_compensation_at_the_end_is_in_the_history() -> None:
    driver = with_compensation("      - log: undoing ${ n }\n")
    made = driver.cancel()
    assert [one.logs for one in made.micro_steps if one.trigger == "compensate"] == [
        ("undoing 2", "undoing 1")
    ]


def test_an_undone_step_runs_no_compensation() -> None:
    driver = started(BODY + "constraints: [{name: few, expression: trail.size() < 3, phase: always}]\n")
    driver.send("boss", "Ping")
    made = driver.send("boss", "Pass")
    assert made.verdict == "rejected"
    assert len(driver.it.compensations) == 1


def test_a_kept_compensation_survives_being_stored() -> None:
    driver = with_compensation(
        COMPENSATION
        + "      - start_protocol: {protocol: Refund, as: refund, roles: {A: Worker, B: '${ [\"w1\"] }'}}\n"
    )
    stored = orjson.loads(orjson.dumps(encode_instance(driver.it)))
    restored = decode_instance(driver.machine, stored)
    assert restored == driver.it
    driver.instance = restored
    made: Step = driver.send("boss", "Pass")
    assert next(output.named for output in made.outputs if isinstance(output, ChildStart)) == {
        "A": ("w1", "w2", "w3"),
        "B": ("w1",),
    }


def test_kept_compensations_count_to_the_size_of_the_state() -> None:
    driver = started(BODY + "limits: {state_bytes: 1500}\n")
    verdicts = [driver.send("boss", "Ping").verdict for _ in range(40)]
    assert verdicts[0] == "taken"
    assert verdicts[-1] == "failed"
    assert len(orjson.dumps(driver.it.compensations and encode_instance(driver.it)["compensations"])) < 1500
