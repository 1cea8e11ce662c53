"""Registered functions: called by name in actions, by pinned version, with everything checked when the file loads."""

from __future__ import annotations

import pytest

from strabo_runtime.engine.machine import CallFunction, ForEach, Machine
from strabo_runtime.expressions.types import (
    INTEGER,
    NUMBER,
    STRING,
    EnumOf,
    Field,
    ListOf,
    OptionalOf,
    Record,
)
from strabo_runtime.functions import Function, Functions, FunctionsError
from strabo_runtime.language import load, loading, registered, render

ITEM = Record((Field("name", STRING), Field("cost", NUMBER)))
RANK = (Field("items", ListOf(ITEM)), Field("most", OptionalOf(INTEGER)))
FUNCTIONS = Functions(
    [
        Function("rank", "1", RANK, ListOf(ITEM), lambda items, most: items),
        Function("rank", "2", RANK, ListOf(ITEM), lambda items, most: items[:most]),
        Function("level", "1", (Field("of", NUMBER),), EnumOf(("low", "high")), lambda of: "low"),
        Function("first", "1", (Field("items", ListOf(ITEM)),), OptionalOf(ITEM), lambda items: items[0]),
        Function("pieces", "7", (), INTEGER, lambda: 1),
    ]
)
BASE = """\
protocol: P
version: "1"
inputs: {budget: number}
participants: [{name: Client}, {name: Desk, played_by: engine}]
types:
  Item: {name: string, cost: number}
message_types:
  Ask: {from: Client, to: Desk, payload: {items: list<Item>}}
variables:
  items: {type: list<Item>, initial: []}
  best: Item?
  text: {type: string, initial: ""}
  level: {type: "enum(low, high)", initial: low}
  total: {type: number, initial: 0}
  anything: any
states: [Idle, {name: Done, final: success}]
transitions:
  - from: Idle
    to: Done
    trigger: {message: Ask}
    actions:
"""


def loaded_with(*actions: str, pins: dict[str, str] | None = None) -> Machine:
    """The machine of a protocol with these actions, which must have no errors."""
    text = BASE + "".join(f"      - {action}\n" for action in actions)
    loaded = load(text, filename="p.yaml", functions=FUNCTIONS, pins=pins or {})
    assert [render(told, text) for told in loaded.diagnostics] == []
    assert loaded.machine is not None
    return loaded.machine


def told(action: str, *, pins: dict[str, str] | None = None) -> list[str]:
    """The code, message and hint of every error of a protocol with this action."""
    loaded = load(BASE + f"      - {action}\n", filename="p.yaml", functions=FUNCTIONS, pins=pins or {})
    return [
        f"{one.code}: {one.message}" + (f" ({one.hint})" if one.hint else "") for one in loaded.diagnostics
    ]


def test_a_function_is_called_with_a_template_for_each_parameter_that_is_given() -> None:
    machine = loaded_with("rank: {items: $message.payload.items, into: items}")
    [call] = machine.transitions[0].actions
    assert isinstance(call, CallFunction)
    assert call.function.version == "2"
    assert [name for name, _ in call.arguments] == ["items"]
    assert call.into == "items"


def test_a_function_may_be_called_for_each_item_and_without_fields() -> None:
    machine = loaded_with("level: {of: $each.cost, into: level, for_each: items}", "pieces:")
    repeated, bare = machine.transitions[0].actions
    assert isinstance(repeated, ForEach)
    assert isinstance(repeated.action, CallFunction)
    assert isinstance(bare, CallFunction)


def test_a_machine_says_which_functions_it_uses_in_actions_and_expressions() -> None:
    machine = loaded_with("rank: {items: $items, into: items}", 'log: "${ level(total) }"')
    assert machine.functions == {"level": "1", "rank": "2"}


def test_a_function_that_only_a_default_or_a_count_calls_is_used_too() -> None:
    text = BASE.replace(
        "{budget: number}", "{budget: number, share: {type: integer, default: '${ pieces() }'}}"
    )
    text = text.replace("[{name: Client}", "[{name: Client}, {name: Crew, count: 'share + rank([]).size()'}")
    loaded = load(text + "      - log: text\n", filename="p.yaml", functions=FUNCTIONS)
    assert [render(told, text) for told in loaded.diagnostics] == []
    assert loaded.machine is not None
    assert loaded.machine.functions == {"pieces": "7", "rank": "2"}


def test_a_pinned_version_is_used_though_a_newer_one_is_installed() -> None:
    machine = loaded_with("rank: {items: $items, into: items}", pins={"rank": "1"})
    assert machine.functions == {"rank": "1"}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (
            "rnk: {items: $items}",
            "unknown-action: there is no action `rnk`, nor is a function of this name registered"
            " (did you mean `rank`?)",
        ),
        (
            "rank: {item: $items, items: $items}",
            "unknown-field: the function `rank` has no parameter `item` (did you mean `items`?)",
        ),
        ("rank: {most: 2}", "missing-field: the function `rank` needs `items`"),
        ("rank: 5", "wrong-type: `rank` is the number `5`"),
        ("rank: {items: $total}", "expression-type: expected list<Item>, but this is number"),
        ("rank: {items: $items, most: many}", "expression-type: expected integer, but this is text"),
        ("rank: {items: $items, into: itmes}", "unknown-variable: there is no variable `itmes`"
         " (did you mean `items`?)"),
        (
            "rank: {items: $items, into: budget}",
            "fixed-input: `budget` is an input, which keeps the value that the starter gave",
        ),
        (
            "rank: {items: $items, into: total}",
            "expression-type: `rank` gives list<{name: string, cost: number}>, and the variable `total`"
            " holds number",
        ),
        (
            "pieces: {into: total}",
            "expression-type: `pieces` gives integer, and the variable `total` holds number",
        ),
        ('log: "${ levle(total) }"', "unknown-function: there is no function `levle` (did you mean `level`?)"),
    ],
)  # fmt: skip
def test_a_call_that_does_not_fit_is_told_where_and_why(action: str, expected: str) -> None:
    assert told(action) == [expected]


@pytest.mark.parametrize("variable", ["text", "level", "anything"])
def test_a_result_may_go_into_a_variable_that_holds_every_value_of_it(variable: str) -> None:
    loaded_with(f"level: {{of: $total, into: {variable}}}")


def test_an_optional_result_needs_an_optional_variable() -> None:
    loaded_with("first: {items: $items, into: best}")
    assert told("first: {items: $items, into: text}") != []


def test_a_version_that_is_pinned_and_not_installed_is_named_where_the_function_is_used() -> None:
    assert told("rank: {items: $items}", pins={"rank": "9"}) == [
        "unknown-action: there is no action `rank`, nor is a function of this name registered"
        " (it is pinned to the version 9, and installed are 1, 2)"
    ]
    assert told("log: text", pins={"rank": "9"}) == []


def test_a_package_that_offers_no_functions_matters_only_to_a_protocol_that_calls_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> Functions:
        raise FunctionsError("the package x offers no function")

    monkeypatch.setattr(registered, "installed_functions", broken)
    assert loading.load(BASE + "      - log: text\n", filename="p.yaml").diagnostics == ()
    [error] = loading.load(BASE + "      - score: {}\n", filename="p.yaml").diagnostics
    assert error.hint == "the functions installed here cannot be had: the package x offers no function"
