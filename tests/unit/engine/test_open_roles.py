"""Open roles (language, §1, Participants): who joins by a message, who may not, and what a joiner owes."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Delivery, Need, Start, binding_needs
from tests.unit.engine.driver import HEAD, MINUTE, T0, Driver, deliveries, machine_of, refusal

OPEN = HEAD.replace("min: 1, max: 5, count: 3", "min: 0, max: 3, open: true")
BODY = """
variables: {seen: {type: list<string>, initial: []}, busy: {type: boolean, initial: false}}
states:
  - idle
  - name: gathering
    expects: [{message: Done, from: Worker, within: PT10M, on_timeout: skip}]
  - {name: over, final: success}
transitions:
  - {from: idle, to: gathering, trigger: {message: Go}}
  - from: gathering
    trigger: {message: Ping, from: Worker}
    condition: "!(message.from in roles.Worker) || message.payload.n > 0"
    actions: [{set_variable: {name: seen, value: $roles.Worker}}]
  - {from: gathering, trigger: {message: Done}}
  - {from: gathering, trigger: {message: Talk}}
constraints:
  - name: polite
    description: Not so loud.
    expression: message.payload.text != "shout" && (message.from in roles.Worker) == (message.payload.text == "bound")
    enforced_on: Talk
"""


def driver_of(workers: tuple[str, ...] = (), body: str = BODY, head: str = OPEN) -> Driver:
    driver = Driver(machine_of(body, head), workers)
    driver.start()
    return driver


@pytest.fixture
def driver() -> Driver:
    return driver_of()


def owing(driver: Driver) -> list[tuple[str, int | None]]:
    return [(debt.agent, debt.due) for debt in driver.it.pending]


def test_an_agent_whose_message_is_taken_is_thereby_bound(driver: Driver) -> None:
    assert driver.send("late", "Done").verdict == "taken"
    assert driver.it.roles["Worker"] == ("late",)


def test_joiners_are_bound_in_the_order_in_which_they_came(driver: Driver) -> None:
    for agent in ("b", "a"):
        driver.send(agent, "Done")
    assert driver.it.roles["Worker"] == ("b", "a")


def test_a_joiner_is_bound_before_the_actions_of_its_message(driver: Driver) -> None:
    driver.send("late", "Ping", {"n": 1}, role="Worker")
    assert driver.variables["seen"] == ["late"]


def test_conditions_do_not_see_the_joiner_bound(driver: Driver) -> None:
    assert driver.send("late", "Ping", {"n": 0}, role="Worker").verdict == "taken"
    assert driver.send("late", "Ping", {"n": 0}, role="Worker").verdict == "rejected"


def test_before_constraints_do_not_see_the_joiner_bound(driver: Driver) -> None:
    assert driver.send("late", "Talk", {"text": "hello"}).verdict == "taken"
    assert driver.send("late", "Talk", {"text": "bound"}).verdict == "taken"


def test_a_joiner_that_a_constraint_refuses_stays_unbound(driver: Driver) -> None:
    before = driver.it
    made = driver.send("late", "Talk", {"text": "shout"})
    assert refusal(made).constraints == ("polite",)
    assert made.after is before


def test_a_joiner_whose_message_nothing_takes_stays_unbound(driver: Driver) -> None:
    assert refusal(driver.send("late", "Ping", {}, role="Boss")).by == "unbound"
    idle = Driver(driver.machine, ())
    idle.start(None, named={"Boss": ("boss",)})
    before = idle.it
    assert refusal(idle.send("late", "Done")).by == "unexpected"
    assert idle.it is before


def test_a_joiner_of_a_step_that_is_undone_stays_unbound() -> None:
    body = BODY.replace(
        "trigger: {message: Done}}", "trigger: {message: Done}, actions: [{log: '${ seen[9] }'}]}"
    )
    driver = driver_of(body=body)
    assert driver.send("late", "Done").verdict == "failed"
    assert driver.it.roles["Worker"] == ()


def test_one_who_finds_the_open_role_full_is_unbound() -> None:
    driver = driver_of()
    for agent in ("a", "b", "c"):
        driver.send(agent, "Done")
    refused = refusal(driver.send("d", "Done"))
    assert refused.by == "unbound"
    assert refused.text == "'d' cannot join the role Worker: it has its 3 agents already"
    assert driver.send("a", "Done").verdict == "taken"


def test_without_a_max_an_open_role_is_never_full() -> None:
    driver = driver_of(
        head=HEAD.replace("max: 5, count: 3", "multiplicity: multiple, open: true").replace("min: 1, ", ""),
        workers=("w1",),
    )
    for number in range(20):
        assert driver.send(f"late{number}", "Done").verdict == "taken"
    assert len(driver.it.roles["Worker"]) == 21


def test_a_role_that_is_not_open_takes_nobody() -> None:
    driver = driver_of(head=HEAD, workers=("w1",))
    assert refusal(driver.send("late", "Done")).by == "unbound"


def test_a_sender_who_names_no_role_joins_the_first_open_one_of_the_type(driver: Driver) -> None:
    # Ping is from [Boss, Worker], and Boss is not open.
    assert driver.send("late", "Ping", {"n": 0}).verdict == "taken"
    assert driver.it.roles["Worker"] == ("late",)


def test_a_sender_who_names_a_role_joins_no_other(driver: Driver) -> None:
    assert refusal(driver.send("late", "Ping", {"n": 0}, role="Boss")).by == "unbound"


def test_an_agent_without_an_id_joins_nothing(driver: Driver) -> None:
    assert refusal(driver.send("", "Done")).by == "unbound"


def test_who_is_bound_to_another_role_may_join_too(driver: Driver) -> None:
    assert driver.send("boss", "Done").verdict == "taken"
    assert driver.it.roles["Worker"] == ("boss",)


def test_a_joiner_settles_by_its_message_what_it_would_owe(driver: Driver) -> None:
    driver.send("late", "Done")
    assert owing(driver) == []


def test_an_agent_that_joins_while_the_state_lasts_owes_too(driver: Driver) -> None:
    driver.advance(3 * MINUTE)
    driver.send("late", "Talk", {"text": "hello"})
    assert owing(driver) == [("late", T0 + 13 * MINUTE)]
    driver.advance(10 * MINUTE)
    assert driver.it.roles["Worker"] == ()


def test_an_agent_that_joins_twice_owes_once(driver: Driver) -> None:
    driver.send("late", "Talk", {"text": "hello"})
    driver.send("late", "Talk", {"text": "bound"})
    assert [agent for agent, _ in owing(driver)] == ["late"]


def test_an_agent_that_silence_cost_its_role_may_join_again(driver: Driver) -> None:
    driver.send("late", "Talk", {"text": "hello"})
    driver.advance(10 * MINUTE)
    assert driver.it.dropped == {"Worker": ("late",)}
    assert driver.send("late", "Done").verdict == "taken"
    assert driver.it.roles["Worker"] == ("late",)


def test_a_joiner_is_sent_what_comes_after(driver: Driver) -> None:
    driver.send("a", "Done")
    driver.send("b", "Done")
    assert deliveries(driver.send("a", "Talk", {"text": "bound"})) == [("Talk", ("b",))]


def test_nobody_is_sent_its_own_message_by_joining(driver: Driver) -> None:
    driver.send("a", "Done")
    made = driver.send("b", "Talk", {"text": "hello"})
    assert deliveries(made) == [("Talk", ("a",))]
    (delivery,) = (output for output in made.outputs if isinstance(output, Delivery))
    assert (delivery.sender, delivery.sender_role) == ("b", "Worker")


def test_a_repeat_of_what_made_an_agent_join_has_one_effect(driver: Driver) -> None:
    driver.send("late", "Done", id="x")
    assert driver.send("late", "Done", id="x").verdict == "duplicate"
    assert driver.it.revision == 2


def test_a_message_that_is_ignored_binds_nobody_and_is_not_remembered() -> None:
    driver = driver_of(
        body="unexpected: ignore\n" + BODY.replace("trigger: {message: Done}}", "trigger: {message: Ruling}}")
    )
    before = driver.it
    assert driver.send("late", "Done").verdict == "ignored"
    assert driver.it == before


# -- starts -----------------------------------------------------------------------------------------------------------

STARTED = """
states: [idle, busy]
transitions: [{from: idle, to: busy, trigger: {message: Done}}]
"""


def test_the_starter_is_bound_to_the_open_role_that_it_starts_as() -> None:
    driver = Driver(machine_of(STARTED, OPEN), ())
    driver.start("Done", {}, sender="a", named={"Boss": ("boss",)})
    assert driver.it.roles["Worker"] == ("a",)


def test_a_starter_joins_those_named_for_an_open_role() -> None:
    driver = Driver(machine_of(STARTED, OPEN), ())
    driver.start("Done", {}, sender="a", named={"Boss": ("boss",), "Worker": ("b", "c")})
    assert driver.it.roles["Worker"] == ("b", "c", "a")


def test_a_starter_that_finds_the_open_role_full_is_unbound() -> None:
    driver = Driver(machine_of(STARTED, OPEN), ())
    made = driver.start("Done", {}, sender="a", named={"Boss": ("boss",), "Worker": ("b", "c", "d")})
    assert refusal(made).by == "unbound"
    assert "it has its 3 agents already" in refusal(made).text


def test_an_open_role_that_needs_nobody_asks_the_directory_for_nobody() -> None:
    machine = machine_of(STARTED, OPEN)
    needs = binding_needs(machine, Start("s", "i", "boss", T0, T0, None, {"Boss": ("boss",)}, {}))
    assert needs == {}


def test_an_open_role_is_filled_from_the_directory_up_to_its_count() -> None:
    machine = machine_of(STARTED, OPEN.replace("open: true", "open: true, count: 2"))
    needs = binding_needs(machine, Start("s", "i", "boss", T0, T0, None, {"Boss": ("boss",)}, {}))
    assert needs == {"Worker": Need("Worker", (), 2, 0, 3)}


def test_a_start_or_send_lets_its_sender_join_a_known_instance() -> None:
    driver = driver_of()
    made = driver.start("Done", {}, sender="late", or_send=True)
    assert made.verdict == "taken"
    assert driver.it.roles["Worker"] == ("late",)


def test_the_id_of_an_engine_role_joins_nothing(driver: Driver) -> None:
    assert refusal(driver.send("engine:Desk", "Done")).by == "unbound"
