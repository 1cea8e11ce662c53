"""`for_each`: an action once for each item of a list, which its expressions read as `each`."""

from __future__ import annotations

from strabo_runtime.engine import ChildStart
from tests.unit.engine.driver import Driver, deliveries, machine_of

BODY = """
variables:
  n: {type: integer, initial: 0}
  items: {type: list<integer>, initial: [1, 2, 3]}
  texts: {type: list<string>, initial: []}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {message: Ping}
    actions:
      - ACTION
"""


def after_ping(action: str, body: str = BODY, items: list[int] | None = None) -> Driver:
    """An instance that has taken one Ping, whose transition does this."""
    if items is not None:
        body = body.replace("initial: [1, 2, 3]", f"initial: {items}")
    driver = Driver(machine_of(body.replace("ACTION", action)))
    driver.start()
    driver.send("boss", "Ping")
    return driver


def test_an_action_is_done_for_each_item_in_order() -> None:
    driver = after_ping("append_to_list: {for_each: items, list_name: texts, value: 'item ${ each }'}")
    assert driver.variables["texts"] == ["item 1", "item 2", "item 3"]


def test_an_action_sees_what_the_item_before_it_did() -> None:
    driver = after_ping('set_variable: {for_each: "${ items }", name: n, value: "${ n * 10 + each }"}')
    assert driver.variables["n"] == 123


def test_the_list_is_read_once_before_the_first_item() -> None:
    driver = after_ping("append_to_list: {for_each: items, list_name: items, value: $each}")
    assert driver.variables["items"] == [1, 2, 3, 1, 2, 3]


def test_an_empty_list_does_nothing() -> None:
    driver = after_ping("set_variable: {for_each: items, name: n, value: $each}", items=[])
    assert driver.steps[-1].verdict == "taken"
    assert driver.variables["n"] == 0


def test_a_broadcast_for_each_item_is_one_record_each() -> None:
    driver = after_ping("broadcast: {for_each: items, message: Tell, payload: {n: $each}}")
    assert deliveries(driver.steps[-1]) == [("Tell", ("w1", "w2", "w3"))] * 3


def test_a_message_may_go_to_each_item() -> None:
    driver = after_ping("send: {for_each: roles.Worker, message: Ask, payload: {}, to: '${ each }'}")
    assert deliveries(driver.steps[-1]) == [("Ask", ("w1",)), ("Ask", ("w2",)), ("Ask", ("w3",))]


def test_a_child_may_be_started_for_each_item() -> None:
    driver = after_ping("start_protocol: {for_each: items, protocol: Errand, as: kid, inputs: {n: $each}}")
    starts = [output for output in driver.steps[-1].outputs if isinstance(output, ChildStart)]
    assert [(start.to, start.inputs) for start in starts] == [
        ("i1:2:child:0", {"n": 1}),
        ("i1:2:child:1", {"n": 2}),
        ("i1:2:child:2", {"n": 3}),
    ]


def test_a_fail_ends_the_items() -> None:
    driver = after_ping("fail: {for_each: items, reason: 'at ${ each }'}")
    assert driver.it.error == "at 1"


def test_an_error_names_the_item() -> None:
    driver = after_ping('set_variable: {for_each: items, name: n, value: "${ 6 / (each - 2) }"}')
    error = str(driver.steps[-1].error)
    assert error.startswith("in state busy, set_variable n: item 2: ")
    assert driver.variables["n"] == 0


def test_ten_thousand_items_are_done() -> None:
    driver = after_ping("set_variable: {for_each: items, name: n, value: $each}", items=[7] * 10_000)
    assert driver.variables["n"] == 7


def test_more_than_ten_thousand_items_in_a_step_are_an_error() -> None:
    twice = "set_variable: {for_each: items, name: n, value: $each}"
    driver = after_ping(f"{twice}\n      - {twice}", items=[7] * 6_000)
    assert driver.steps[-1].verdict == "failed"
    assert "more than 10000 items" in str(driver.steps[-1].error)


def test_what_the_items_write_is_bounded() -> None:
    long = BODY.replace("initial: []", f"initial: ['{'x' * 50_000}']")
    driver = after_ping("log: {for_each: items, text: '${ texts[0] }'}", long, items=[7] * 1_000)
    assert driver.steps[-1].verdict == "failed"
    assert "writes more than" in str(driver.steps[-1].error)
