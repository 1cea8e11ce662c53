"""`Role[any]` (language, §1, Message types): one of the role, in turn within the instance, whoever joins or leaves."""

from __future__ import annotations

import pytest

from strabo_runtime.engine.turns import next_in_turn, turn_after_leaving
from tests.unit.engine.driver import HEAD, Driver, deliveries, machine_of

BODY = """
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Pass}}
  - {from: busy, trigger: {message: Done}}
  - {from: busy, trigger: {message: Ping}, actions: [{unbind: {role: Worker, agents: $message.from}}]}
  - {from: busy, trigger: {message: Ruling}, actions: [{send: {message: Ask, to: "Worker[any]", payload: {}}}]}
"""
PEERS = HEAD.replace('Talk: {from: Worker, to: "Worker[all]"', 'Talk: {from: Worker, to: "Worker[any]"')


def driver_of(workers: tuple[str, ...], head: str = HEAD, body: str = BODY) -> Driver:
    driver = Driver(machine_of(body, head.replace("count: 3", "count: 3, open: true")), workers)
    driver.start()
    return driver


def reached(driver: Driver) -> str:
    """Whom the next message to any worker reaches."""
    ((_, (agent,)),) = deliveries(driver.send("boss", "Pass"))
    return agent


def test_it_begins_with_the_first_bound_and_goes_round() -> None:
    driver = driver_of(("w1", "w2", "w3"))
    assert [reached(driver) for _ in range(5)] == ["w1", "w2", "w3", "w1", "w2"]


def test_messages_of_agents_and_of_the_engine_share_the_turn() -> None:
    driver = driver_of(("w1", "w2", "w3"))
    assert reached(driver) == "w1"
    assert deliveries(driver.send("human:Judge", "Ruling")) == [("Ask", ("w2",))]
    assert reached(driver) == "w3"


def test_nobody_is_passed_over_when_another_leaves() -> None:
    driver = driver_of(("w1", "w2", "w3"))
    assert reached(driver) == "w1"
    driver.send("w1", "Ping")
    assert [reached(driver) for _ in range(3)] == ["w2", "w3", "w2"]


def test_whose_turn_it_is_may_leave() -> None:
    driver = driver_of(("w1", "w2", "w3"))
    assert reached(driver) == "w1"
    driver.send("w2", "Ping")
    assert [reached(driver) for _ in range(2)] == ["w3", "w1"]


def test_nobody_is_reached_twice_in_a_row_because_another_joins() -> None:
    driver = driver_of(("w1", "w2"))
    assert [reached(driver) for _ in range(3)] == ["w1", "w2", "w1"]
    driver.send("w3", "Done")
    assert [reached(driver) for _ in range(3)] == ["w2", "w3", "w1"]


def test_a_sender_of_the_role_is_passed_over_in_its_own_turn() -> None:
    body = BODY + "  - {from: busy, trigger: {message: Talk}}\n"
    driver = driver_of(("w1", "w2", "w3"), PEERS, body)

    def said_by(sender: str) -> str:
        ((_, (agent,)),) = deliveries(driver.send(sender, "Talk", {"text": "x"}))
        return agent

    assert [said_by("w1"), said_by("w3"), said_by("w1")] == ["w2", "w1", "w2"]


def test_a_refused_message_takes_no_turn() -> None:
    driver = driver_of(("w1", "w2"))
    driver.send("boss", "Pass", {"n": 1})
    assert reached(driver) == "w1"


@pytest.mark.parametrize(("turn", "expected"), [(0, ("a", 1)), (1, ("c", 3)), (2, ("c", 3)), (3, ("a", 1))])
def test_the_first_candidate_from_the_turn_on_is_next(turn: int, expected: tuple[str, int]) -> None:
    assert next_in_turn(("a", "b", "c"), turn, ("a", "c")) == expected


def test_without_a_candidate_there_is_no_next() -> None:
    with pytest.raises(ValueError, match="none of the candidates"):
        next_in_turn(("a",), 0, ("b",))


@pytest.mark.parametrize(("leaving", "turn"), [(("a",), 1), (("c",), 2), (("a", "b"), 0), (("a", "c"), 1)])
def test_a_turn_stays_with_who_has_it(leaving: tuple[str, ...], turn: int) -> None:
    assert turn_after_leaving(("a", "b", "c"), 2, leaving) == turn
