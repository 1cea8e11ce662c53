"""Roles whose `min` and `max` are what their `count` gives for each instance."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.engine import decode_instance, encode_instance
from tests.unit.engine.driver import HEAD, Driver, machine_of, refusal

BODY = """
inputs: {size: integer}
states:
  - idle
  - {name: over, final: success}
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Done}}
  - {from: idle, trigger: {message: Ping}, actions: [{unbind: {role: Worker, agents: w1}}]}
"""


def driver(keys: str = "", found: tuple[str, ...] = ("w1", "w2", "w3")) -> Driver:
    head = HEAD.replace("min: 1, max: 5, count: 3", f"count: size{keys}")
    return Driver(machine_of(BODY, head), found)


def start(made: Driver, size: int, **more: Any) -> Any:
    return made.start(inputs={"size": size}, **more)


def test_fewer_than_the_count_are_too_few() -> None:
    assert refusal(start(driver(), 4)).by == "quorum"
    assert "at least 4" in refusal(start(driver(), 4)).text


def test_as_many_as_the_count_are_taken_and_no_more() -> None:
    made = driver()
    assert start(made, 2).verdict == "taken"
    assert made.it.roles["Worker"] == ("w1", "w2")


def test_more_named_than_the_count_are_refused() -> None:
    named = {"Worker": ("w1", "w2", "w3")}
    assert "at most 2" in refusal(start(driver(), 2, named=named)).text
    assert start(driver(), 3, named=named).verdict == "taken"


def test_fewer_named_than_the_count_are_refused() -> None:
    assert refusal(start(driver(), 3, named={"Worker": ("w1",)})).by == "quorum"


def test_a_min_that_is_written_stands() -> None:
    assert start(driver(", min: 1"), 9).verdict == "taken"


def test_a_max_that_is_written_holds_the_least_down() -> None:
    assert start(driver(", max: 3"), 9).verdict == "taken"


def test_an_open_role_is_full_with_its_count() -> None:
    made = driver(", min: 1, open: true")
    start(made, 4)
    assert made.send("w4", "Done").verdict == "taken"
    assert refusal(made.send("w5", "Done")).by == "unbound"


@pytest.mark.parametrize(("found", "status"), [(3, "failure"), (4, "running")])
def test_the_quorum_is_lost_below_the_count(found: int, status: str) -> None:
    made = driver(", max: 9", ("w1", "w2", "w3", "w4")[:found])
    start(made, 3, named={"Worker": ("w1", "w2", "w3", "w4")[:found]})
    made.send("boss", "Ping")
    assert made.it.status == status


def test_the_count_of_an_instance_is_stored() -> None:
    made = driver()
    start(made, 2)
    assert decode_instance(made.machine, encode_instance(made.it)) == made.it
    assert made.it.counts == {"Worker": 2}
