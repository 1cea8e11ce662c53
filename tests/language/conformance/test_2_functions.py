"""The language's text, section 2, Expressions: the functions beyond CEL's, and what becomes of an error."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.functions import Functions, function
from strabo_runtime.language import load
from tests.language.conformance.driver import (
    HEAD,
    Run,
    error_of,
    errors_of,
    expression_errors,
    protocol,
    running,
    value_of,
)

TYPES = "types: {Bid: {cost: number, solver: string, place: integer?}}"
BIDS = """
bids:
  type: list<Bid>
  initial: [{cost: 3, solver: a}, {cost: 1, solver: b}, {cost: 3, solver: c}, {cost: 1, solver: d}]
nothing: {type: list<Bid>, initial: []}
"""


def value(expression: str, **more: Any) -> Any:
    return value_of(expression, declared=TYPES, variables=BIDS, **more)


def error(expression: str) -> str:
    return error_of(expression, declared=TYPES, variables=BIDS)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("min_by(bids, 'cost').cost", 1),
        ("max_by(bids, 'cost').cost", 3),
        ("sort_by(bids, 'cost').map(b, b.cost)", [1, 1, 3, 3]),
        ("sum_by(bids, 'cost')", 8),
        ("avg_by(bids, 'cost')", 2),
        ("count_by(bids, 'solver')", {"a": 1, "b": 1, "c": 1, "d": 1}),
        ("count_by(bids.filter(b, b.cost < 2.0), 'cost').size()", 1),
        ("distinct([3, 1, 3, 2, 1])", [3, 1, 2]),
        ("[least(2, 1), least(1, 2)]", [1, 1]),
        ("[greatest(2, 1), greatest(1, 2)]", [2, 2]),
        ("merge({'a': 1, 'b': 1}, {'b': 2})", {"a": 1, "b": 2}),
        ("without({'a': 1, 'b': 2}, 'a')", {"b": 2}),
        ("is_schema({'type': 'string'})", True),
        ("is_schema({'type': 'nothing of the kind'})", False),
        ("schema_errors(1, {'type': 'integer'})", []),
    ],
)
def test_functions_beyond_cels(expression: str, expected: Any) -> None:
    """§2: functions beyond CEL's: `min_by`, `max_by`, `sort_by`, `sum_by`, `avg_by`, `count_by`, ... `is_schema`."""
    assert value(expression) == expected


@pytest.mark.parametrize("name", ["min_by", "max_by"])
def test_the_least_and_the_most_of_nothing_are_an_error(name: str) -> None:
    """§2: `min_by(list, 'field')`, `max_by` (empty list: error)."""
    assert name in error(f"{name}(nothing, 'cost').solver")


@pytest.mark.parametrize(("name", "first"), [("min_by", "b"), ("max_by", "a")])
def test_of_ties_the_first_is_taken(name: str, first: str) -> None:
    """§2: ties: the first."""
    assert value(f"{name}(bids, 'cost').solver") == first


def test_sorting_is_ascending() -> None:
    """§2: `sort_by` (ascending)."""
    assert value("sort_by(bids, 'cost').map(b, b.cost)") == [1, 1, 3, 3]


def test_sorting_is_stable() -> None:
    """§2: `sort_by` (stable)."""
    assert value("sort_by(bids, 'cost').map(b, b.solver)") == ["b", "d", "a", "c"]


def test_schema_errors_gives_a_list_of_texts() -> None:
    """§2: `schema_errors(value, schema)` (list of texts)."""
    found = value(
        "schema_errors({'a': 'x', 'b': 1}, {'properties': {'a': {'type': 'integer'}}, 'required': ['c']})"
    )
    assert len(found) == 2
    assert all(isinstance(text, str) for text in found)


@pytest.mark.parametrize("reference", ["https://example.org/schema", "other.json", "file:///etc/passwd"])
def test_a_reference_elsewhere_is_refused(reference: str) -> None:
    """§2: a `$ref` elsewhere is refused."""
    assert "schema_errors" in error(f"schema_errors(1, {{'$ref': '{reference}'}})")
    assert value(f"is_schema({{'$ref': '{reference}'}})") is False


def test_a_reference_inside_the_schema_is_followed() -> None:
    """§2: a `$ref` *elsewhere* is refused."""
    assert value("schema_errors('a', {'$ref': '#/$defs/n', '$defs': {'n': {'type': 'integer'}}}).size()") == 1


# -- registered functions ---------------------------------------------------------------------------------------------


@function(version="1")
def doubled(n: int) -> int:
    """Twice the number."""
    return 2 * n


@function(name="doubled", version="2")
def doubled_anew(n: int) -> int:
    """Twice the number, and a hundred."""
    return 2 * n + 100


CALLING = """
variables: {out: any}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{set_variable: {name: out, value: "${ doubled(message.payload.n) }"}}]
"""


def test_a_package_may_register_functions() -> None:
    """§2: and those that a package registers."""
    run = Run(protocol(CALLING, functions=[doubled]))
    run.start(payload={"n": 4})
    assert run.variables["out"] == 8


def test_a_function_that_nobody_registered_is_an_error() -> None:
    """§2: everything is name-checked when the file loads."""
    assert [one.code for one in errors_of(CALLING)] == ["unknown-function"]


def test_a_call_of_a_registered_function_is_type_checked() -> None:
    """§2: everything is type-checked when the file loads."""
    text = HEAD + CALLING.replace("message.payload.n", "'four'")
    loaded = load(text, filename="sample.yaml", functions=Functions([doubled]))
    assert [one.code for one in loaded.diagnostics] == ["expression-type"]


def test_an_instance_pins_the_version_of_a_function() -> None:
    """§2: named with a version that an instance pins."""
    both = Functions([doubled, doubled_anew])
    for version, expected in (("1", 2), ("2", 102)):
        loaded = load(HEAD + CALLING, filename="sample.yaml", functions=both, pins={"doubled": version})
        assert loaded.machine is not None
        assert loaded.machine.functions == {"doubled": version}
        run = Run(loaded.machine)
        run.start()
        assert run.variables["out"] == expected


@pytest.mark.parametrize(
    "call", ["now()", "random()", "uuid()", "today()", "read('/etc/passwd')", "getenv('HOME')"]
)
def test_there_is_no_clock_no_random_and_no_io(call: str) -> None:
    """§2: no clock, random or I/O."""
    assert {one.code for one in expression_errors(call)} == {"unknown-function"}


# -- errors -----------------------------------------------------------------------------------------------------------

FAILING = [
    "1 / (message.payload.n - 1) == 0",
    "message.payload.rest.missing == 1",
    "numbers[message.payload.n + 9] == 1",
    "numbers.all(a, numbers.all(b, numbers.all(c, many.all(d, a + b + c + d != 0))))",
]
"""A division by zero, a missing field, an index out of range, more than 10,000 iterations."""

WITH_ERROR = """
variables:
  numbers: {{type: list<integer>, initial: {numbers}}}
  many: {{type: list<integer>, initial: {many}}}
  out: {{type: integer, initial: 0}}
states: [idle, busy, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, to: over, trigger: {{message: Try}}, {place}}}
  - {{from: busy, trigger: {{message: Try}}}}
constraints: [{constraint}]
"""
TRY = HEAD + "  Try: {from: Boss, to: Desk, payload: {n: integer, rest: object}}\n"


def with_error(place: str = "", constraint: str = "") -> Run:
    text = WITH_ERROR.format(
        numbers=list(range(1, 6)),
        many=list(range(1, 200)),
        place=place or "condition: true",
        constraint=constraint,
    )
    return running(text, head=TRY)


@pytest.mark.parametrize("expression", FAILING)
def test_an_error_in_a_condition_is_an_error_of_the_step_and_no_false(expression: str) -> None:
    """§2: an evaluation error is an error of the step, never a false."""
    run = with_error(f'condition: "{expression}"')
    assert run.send("boss", "Try", {"n": 1, "rest": {}}).verdict == "failed"
    assert run.state == "busy"


@pytest.mark.parametrize("expression", FAILING)
def test_an_error_in_a_constraint_is_an_error_of_the_step_and_no_false(expression: str) -> None:
    """§2: an evaluation error is an error of the step, never a false."""
    run = with_error(constraint=f'{{name: c, expression: "{expression}", enforced_on: Try}}')
    assert run.send("boss", "Try", {"n": 1, "rest": {}}).verdict == "failed"


@pytest.mark.parametrize("expression", FAILING)
def test_an_error_in_an_action_is_an_error_of_the_step(expression: str) -> None:
    """§2: an evaluation error (missing field, division by zero, budget) is an error of the step."""
    run = with_error(f'actions: [{{set_variable: {{name: out, value: "${{ {expression} ? 1 : 2 }}"}}}}]')
    assert run.send("boss", "Try", {"n": 1, "rest": {}}).verdict == "failed"
    assert (run.state, run.variables["out"]) == ("busy", 0)


@pytest.mark.parametrize("key", [None, {}, [], "2030-01-01T00:00:00Z"])
def test_a_key_that_no_object_can_have_is_an_error_and_no_false(key: Any) -> None:
    """§2: an evaluation error is an error of the step, never a false."""
    run = with_error('condition: "message.payload.rest.key in message.payload.rest"')
    made = run.send("boss", "Try", {"n": 1, "rest": {"key": key}})
    assert made.verdict == ("taken" if isinstance(key, str) else "failed")


def test_what_is_not_reached_is_no_error() -> None:
    """§2: CEL: `&&`, `||` and `?:` do not need what does not decide."""
    assert value_of("message.payload.n == 1 || 1 / (message.payload.n - 1) == 0") is True


@pytest.mark.parametrize(("length", "fits"), [(99, True), (101, False)])
def test_an_expression_has_10000_iterations_in_all(length: int, fits: bool) -> None:
    """§2: budget; §1: an expression's budget is fixed: 10,000 iterations in all."""
    many = f"many: {{type: list<integer>, initial: {list(range(1, length + 1))}}}"
    nested = "many.all(a, many.all(b, a + b > 0))"
    if fits:
        assert value_of(nested, variables=many) is True
    else:
        assert "10000 iterations" in error_of(nested, variables=many)
