"""`labels` (language, §1): by what operators find an instance, evaluated whenever a step settles."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import apply_changes, decode_instance, encode_instance
from tests.unit.engine.driver import MINUTE, Driver, machine_of

BODY = """
inputs: {order: string}
variables:
  n: {type: integer, initial: 2}
states:
  - {name: idle, timeout: {after: PT5M, to: late}}
  - late
  - {name: over, final: success}
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Ping}, actions: [{set_variable: {name: n, value: "${ n - 1 }"}}]}
  - {from: idle, to: over, trigger: {message: Ruling}}
  - {from: idle, trigger: {message: Done}, actions: [{unbind: {role: Worker, agents: $message.from}}]}
constraints:
  - {name: never, expression: "false", enforced_on: Talk}
labels:
  order: $order
  half: "${ 6 / n }"
  state: "${ instance.state }"
  workers: "${ roles.Worker }"
"""


@pytest.fixture
def driver() -> Driver:
    driver = Driver(machine_of(BODY), ("w1", "w2"))
    driver.start(inputs={"order": "o-17"})
    return driver


def test_labels_read_inputs_variables_roles_and_the_instance(driver: Driver) -> None:
    assert driver.it.labels == {"order": "o-17", "half": 3, "state": "idle", "workers": ["w1", "w2"]}


def test_a_label_follows_every_step_and_is_null_where_it_fails(driver: Driver) -> None:
    driver.send("boss", "Ping")
    assert driver.it.labels["half"] == 6
    driver.send("boss", "Ping")
    assert driver.it.labels["half"] is None
    assert driver.it.status == "running"
    driver.send("boss", "Ping")
    assert driver.it.labels["half"] == -6


def test_a_label_follows_timers_and_roles(driver: Driver) -> None:
    driver.send("w1", "Done")
    driver.advance(5 * MINUTE)
    assert driver.it.labels["workers"] == ["w2"]
    assert driver.it.labels["state"] == "late"


def test_a_finished_instance_keeps_its_labels(driver: Driver) -> None:
    driver.send("human:Judge", "Ruling")
    assert driver.it.labels["state"] == "over"
    assert driver.it.labels["order"] == "o-17"


def test_a_refusal_leaves_the_labels_alone(driver: Driver) -> None:
    labels = driver.it.labels
    driver.send("w1", "Talk", {"text": "x"})
    assert driver.it.labels is labels


def test_labels_that_stay_the_same_are_not_recorded_again(driver: Driver) -> None:
    made = driver.send("boss", "Go", {"n": 1})
    assert "labels" not in dict(made.changes)
    assert made.before is not None
    assert driver.it.labels is made.before.labels


def test_changed_labels_are_recorded_and_stored(driver: Driver) -> None:
    made = driver.send("boss", "Ping")
    assert apply_changes(driver.machine, made.before, made.changes).labels == driver.it.labels
    assert decode_instance(driver.machine, encode_instance(driver.it)).labels == driver.it.labels
