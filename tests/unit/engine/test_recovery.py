"""Recovery: what many recorded steps give back is what they gave."""

from __future__ import annotations

import orjson
import pytest

from strabo_runtime.engine import (
    AgentsFound,
    Change,
    Step,
    UnreadableState,
    apply_changes,
    next_retry,
    recover,
)
from tests.unit.engine.driver import MINUTE, T0, Driver, machine_of
from tests.unit.engine.test_step_properties import MACHINES


def recorded(made: Step) -> list[Change]:
    return [(path, value) for path, value in orjson.loads(orjson.dumps(made.changes))]


@pytest.fixture(scope="module")
def eventful() -> Driver:
    """An instance in whose life everything changes that can change."""
    driver = Driver(MACHINES["long"])
    driver.start(payload={"n": 3})
    driver.send("boss", "Split", {"parts": [1, 2]})
    driver.send("guest", "Knock")
    driver.send("boss", "Ping", {"n": 2})
    driver.tell("Progress", {"percent": 7})
    driver.finish(1, {"x": 1})
    driver.advance(5 * MINUTE)
    driver.send("boss", "Swap", {"leaver": "w3", "joiner": "w4"})
    for request in driver.it.requests:
        driver.take(AgentsFound(f"{request.id}:found", request.id, ("w5",), T0, T0))
    driver.send("w1", "Done")
    while (retry := next_retry(driver.it, driver.now)) is not None:
        driver.take(retry)
    driver.send("stranger", "Done")
    driver.send("boss", "Split", {"parts": [0]})
    driver.send("boss", "Go", {"n": 1})
    driver.send("boss", "Split", {"parts": [0]})
    driver.send("boss", "Stop", {"undo": True})
    return driver


def paths(driver: Driver) -> set[str]:
    return {path for made in driver.steps[1:] for path, _ in made.changes}


def test_the_eventful_life_changes_every_kind_of_field(eventful: Driver) -> None:
    assert paths(eventful) >= {
        "variables.sum",
        "variables.trail+",
        "roles.Worker",
        "dropped.Worker",
        "children",
        "compensations",
        "deferred",
        "retry",
        "requests",
        "deliveries",
        "pending",
        "timers",
        "seen+",
        "incidents+",
        "labels",
        "state",
    }


def test_the_changes_of_each_step_give_the_instance_after_it(eventful: Driver) -> None:
    for made in eventful.steps[1:]:
        assert made.after == apply_changes(eventful.machine, made.before, recorded(made))


def test_the_changes_of_all_steps_give_the_instance_after_the_last(eventful: Driver) -> None:
    everything = [recorded(made) for made in eventful.steps]
    assert recover(eventful.machine, None, everything) == eventful.it


@pytest.mark.parametrize("place", range(1, 16, 3))
def test_recovery_may_begin_anywhere(eventful: Driver, place: int) -> None:
    before = eventful.steps[place].before
    stored = orjson.dumps([recorded(made) for made in eventful.steps])
    for _ in range(2):  # the instance it begins with stays what it was
        later = [recorded(made) for made in eventful.steps[place:]]
        assert recover(eventful.machine, before, later) == eventful.it
    assert orjson.dumps([recorded(made) for made in eventful.steps]) == stored
    assert before == eventful.steps[place - 1].after


def test_of_an_instance_that_nothing_was_recorded_of_there_is_none() -> None:
    assert recover(MACHINES["long"], None, []) is None
    assert recover(MACHINES["long"], None, [()]) is None
    with pytest.raises(UnreadableState, match="has no recorded changes"):
        apply_changes(MACHINES["long"], None, [])


def test_what_follows_no_beginning_cannot_be_applied(eventful: Driver) -> None:
    with pytest.raises(UnreadableState, match="cannot begin with the change 'revision'"):
        recover(eventful.machine, None, [[("revision", 2)]])


def test_a_retry_that_failed_is_recovered_as_one() -> None:
    body = """
variables: {n: {type: integer, initial: 0}}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: idle, trigger: {message: Pass}}
  - {from: idle, trigger: {message: Ping}, actions: [{set_variable: {name: n, value: "${ 1 / n }"}}]}
unexpected: defer
"""
    driver = Driver(machine_of(body))
    driver.start()
    driver.send("boss", "Ping")
    driver.send("boss", "Pass")
    retry = next_retry(driver.it, driver.now)
    assert retry is not None
    made = driver.take(retry)
    assert made.verdict == "failed"
    assert driver.it.deferred == ()
    assert apply_changes(driver.machine, made.before, recorded(made)) == driver.it
