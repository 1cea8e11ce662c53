"""Evaluation: logic with errors, the budget, encoding, determinism, and that nothing but EvaluationError comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_runtime.expressions import (
    Context,
    Environment,
    EvaluationError,
    ExpressionError,
    InstanceFacts,
    Variables,
)
from strabo_runtime.expressions.types import (
    BOOLEAN,
    NUMBER,
    OBJECT,
    STRING,
    Field,
    Json,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("winner.cost > 1.0 || true", True),
        ("true || winner.cost > 1.0", True),
        ("winner.cost > 1.0 && false", False),
        ("false && winner.cost > 1.0", False),
        ("bids.exists(b, winner.cost > 1.0 || b.cost == 40.0)", True),
        ("findings.exists(f, f.at < now)", True),
        ("findings.all(f, f.at > now)", False),
        ("1 / 0 == 1 || ready", True),
    ],
)
def test_a_side_that_decides_makes_up_for_one_that_fails(world: Any, text: str, value: bool) -> None:
    assert world.test(text) is value


@pytest.mark.parametrize(
    "text",
    [
        "winner.cost > 1.0 || false",
        "true && winner.cost > 1.0",
        "findings.exists(f, f.at > now)",
        "findings.all(f, f.at < now)",
        "findings.exists_one(f, f.at < now)",
        "findings.filter(f, f.at < now).size() > 0",
    ],
)
def test_an_error_is_never_a_false(world: Any, text: str) -> None:
    with pytest.raises(EvaluationError):
        world.test(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("1.0 / 0.0", "division by zero"),
        ("9223372036854775807 + count", "integer overflow"),
        ("-9223372036854775808 - count", "integer overflow"),
        ("count * 9223372036854775807", "integer overflow"),
        ("int(1e30)", "integer overflow"),
        ("now + duration('P3000000D') + duration('P3000000D')", "out of range"),
        ("dyn(name) + 1", "`+` does not take string and integer"),
        ("-dyn(name)", "`-` does not take string"),
        ("dyn(1) in dyn(2)", "`in` does not take integer and integer"),
        ("dyn(1)[0]", "does not take"),
        ("size(dyn(1))", "does not take"),
        ("dyn(1).x", "has no fields"),
        ("dyn(5).map(x, x)", "is not a list but integer"),
        ("dyn('x') ? 1 : 2", "not true or false"),
        ("!dyn(1)", "not true or false"),
        ("dyn(name).matches('[')", None),
        ("timestamp(name)", "is not an RFC 3339 timestamp"),
        ("duration(name)", "is not an ISO 8601 duration"),
        ("int(name)", "int()"),
        ("double(name)", "double()"),
        ("bool(name)", "bool()"),
        ("{name: 1, dyn(1): 2}", "the keys of an object are texts"),
        ("now.getHours('nowhere')", "getHours()"),
        ("dyn(1).getHours()", "does not take"),
        ("dyn(now) < dyn(1)", "does not take"),
    ],
)
def test_a_failing_operation_says_what_failed_and_where(world: Any, text: str, says: str | None) -> None:
    try:
        with pytest.raises(EvaluationError) as caught:
            world.value(text)
    except ExpressionError:
        assert says is None or text.startswith("int(1e30)")
        return
    assert says is not None
    assert says in caught.value.text
    assert caught.value.text.startswith(f"`{text}`")


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("numbers.all(n, n >= 0.0)", True),
        ("numbers.all(n, numbers.all(m, n + m >= 0.0))", False),
        ("numbers.exists(n, numbers.exists(m, m == 0.0) && n < 0.0)", True),
        ("numbers.map(n, numbers).size() == 150", True),
        ("numbers.map(n, numbers + numbers).size() == 150", False),
        ("numbers.map(n, rows.exists(r, r.x == n)).size() == 150", False),
        ("numbers.map(n, sort_by(rows, 'x').size()).size() == 150", False),
        ("numbers.map(n, text + 'x').size() == 150", True),
        ("numbers.map(n, text + text + text).size() == 150", False),
        ("numbers.map(n, [text].map(t, [t, t])[0][0] + text + text).size() == 150", False),
        ("numbers.map(n, merge(names, names).size()).size() == 150", False),
        ("numbers.map(n, without(names, 'x').size()).size() == 150", False),
    ],
)
def test_an_evaluation_has_ten_thousand_iterations_in_all(text: str, within: bool) -> None:
    row = Record((Field("x", NUMBER),))
    environment = Environment(
        types={},
        messages={},
        events={},
        variables={"numbers": ListOf(NUMBER), "rows": ListOf(row), "text": STRING, "names": MapOf(NUMBER)},
        roles=[],
        starting=[],
    )
    variables = Variables.of(
        {
            "numbers": [float(n) for n in range(150)],
            "rows": [{"x": -1.0}] * 150,
            "text": "x" * 10_000,
            "names": {str(n): 1.0 for n in range(100)},
        }
    )
    scope = environment.scope(
        variables, now=0, instance=InstanceFacts("i", "P", "1", "S", 0, 0, None), roles={}, pending={}
    )
    expression = environment.expression(text, Context(), expect=BOOLEAN)
    if within:
        assert isinstance(expression.test(scope), bool)
        return
    with pytest.raises(EvaluationError, match="more than 10000 iterations in one evaluation"):
        expression.test(scope)


@pytest.mark.parametrize(
    "text", ["text + text", "loose.text + loose.text", "items + items", "loose.items + loose.items"]
)
def test_what_is_joined_is_bounded(text: str) -> None:
    environment = Environment(
        types={},
        messages={},
        events={},
        variables={"text": STRING, "items": ListOf(NUMBER), "loose": OBJECT},
        roles=[],
        starting=[],
    )
    values: dict[str, Json] = {"text": "x" * 600_000, "items": [1.0] * 60_000}
    scope = environment.scope(
        Variables.of({**values, "loose": values}),
        now=0,
        instance=InstanceFacts("i", "P", "1", "S", 0, 0, None),
        roles={},
        pending={},
    )
    with pytest.raises(EvaluationError, match="would have more than"):
        environment.expression(text, Context()).evaluate(scope)


def test_the_budget_is_not_passed_over_by_a_side_that_decides() -> None:
    environment = Environment(
        types={}, messages={}, events={}, variables={"n": ListOf(NUMBER)}, roles=[], starting=[]
    )
    scope = environment.scope(
        Variables.of({"n": [1.0] * 200}),
        now=0,
        instance=InstanceFacts("i", "P", "1", "S", 0, 0, None),
        roles={},
        pending={},
    )
    with pytest.raises(EvaluationError, match="iterations"):
        environment.expression("n.all(x, n.all(y, x == y)) || true", Context()).test(scope)


def test_each_evaluation_has_a_budget_of_its_own(world: Any) -> None:
    expression = world.environment.expression("bids.all(b, b.cost > 0.0)", Context())
    scope = world.scope()
    assert all(expression.test(scope) for _ in range(5_000))


def test_a_result_is_the_same_byte_for_byte_each_time(world: Any) -> None:
    text = (
        "{'z': now, 'a': extra, 'm': merge(scores, {'c': 3.0}), 'k': extra.map(k, k), "
        "'w': wait + wait, 'd': 0.1 + 0.2}"
    )
    expression = world.environment.expression(text, Context())
    first = orjson.dumps(expression.evaluate(world.scope()))
    assert first == orjson.dumps(expression.evaluate(world.scope()))
    assert first == (
        b'{"z":"2030-01-01T12:00:00Z","a":{"size":3.0,"deep":{"list":[1.0,{"y":2.0}]},"nothing":null},'
        b'"m":{"a":1.0,"b":2.5,"c":3.0},"k":["size","deep","nothing"],"w":"PT1H","d":0.30000000000000004}'
    )


def test_evaluating_changes_nothing(world: Any) -> None:
    before = orjson.dumps(world.variables)
    for text in (
        "bids + bids",
        "sort_by(bids, 'cost')",
        "merge(extra, {'x': 1})",
        "without(extra, 'size')",
        "bids.map(b, b)",
    ):
        world.value(text)
    assert orjson.dumps(world.variables) == before


def test_the_commonest_rule_gives_the_same_in_its_short_way(with_message: Callable[..., Any]) -> None:
    world = with_message("Bid")
    assert world.test("bids.exists(b, b.solver_id == message.payload.solver_id)") is True
    assert world.test("bids.exists(b, message.payload.solver_id == b.solver_id)") is True
    assert world.test("bids.all(b, b.solver_id != 'nobody')") is True
    assert world.test("bids.all(b, b.solver_id != message.from)") is False
    assert world.test("bids.exists(b, b.solver_id == winner.solver_id)", bids=[]) is False
    with pytest.raises(EvaluationError, match="`winner` is null"):
        world.test("bids.exists(b, b.solver_id == winner.solver_id)")
    assert world.test("findings.exists(f, f.level == level)") is False
    assert world.test("findings.exists(f, f.level == level)", level="high") is True


names = st.sampled_from(
    [
        "bids",
        "b",
        "x",
        "text",
        "maybe",
        "data",
        "now",
        "instance",
        "roles",
        "message",
        "cost",
        "has",
        "size",
        "min_by",
        "dyn",
    ]
)
tokens = st.one_of(
    names,
    st.sampled_from(
        [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ".",
            ",",
            ":",
            "?",
            "+",
            "-",
            "*",
            "/",
            "%",
            "&&",
            "||",
            "!",
            "==",
            "!=",
            "<",
            ">=",
            " in ",
            "null",
            "true",
            "1",
            "2.5",
            "'a'",
            "'cost'",
            '"',
            "exists(b,",
            "map(b, b)",
            "all(",
            "filter(",
            " ",
            "\n",
            "//",
            "$",
            "é",
            "\\",
            "0x",
            "u",
            "1e999",
        ]
    ),
)
environment = Environment(
    types={},
    messages={},
    events={},
    variables={
        "bids": ListOf(Record((Field("cost", NUMBER), Field("note", OptionalOf(STRING))))),
        "text": STRING,
        "maybe": OptionalOf(ListOf(STRING)),
        "data": OBJECT,
    },
    roles=["R"],
    starting=[],
)
scope = environment.scope(
    Variables.of({"bids": [{"cost": 1.0}], "text": "t", "maybe": None, "data": {"x": [1, None]}}),
    now=0,
    instance=InstanceFacts("i", "P", "1", "S", 0, 0, None),
    roles={"R": ("a",)},
    pending={},
)


@given(st.lists(tokens, max_size=14).map("".join))
def test_any_text_loads_or_is_an_expression_error_and_runs_or_is_an_evaluation_error(text: str) -> None:
    try:
        expression = environment.expression(text, Context())
    except ExpressionError as error:
        assert all(
            0 <= each.offset <= len(text) and each.length >= 1 and each.message for each in error.flattened()
        )
        return
    try:
        orjson.dumps(expression.evaluate(scope))
    except EvaluationError as failure:
        assert failure.text


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(
        [
            "data.x",
            "data.x.y",
            "data.x[0]",
            "data.x == data.x",
            "data.x + data.x",
            "data.x.map(k, k)",
            "distinct(data.x)",
            "min_by(data.x, 'y')",
            "count_by(data.x, 'y')",
            "merge(data.x, data.x)",
            "without(data.x, 'y')",
            "data.x.size()",
            "{'v': data.x}",
            "[data.x, 1]",
            "dyn(data.x) in [1, 'a']",
            "is_schema(data.x)",
            "schema_errors(1, data.x)",
            "-data.x",
        ]
    ),
)
def test_any_untyped_value_gives_json_or_an_evaluation_error(value: Any, text: str) -> None:
    held = environment.scope(
        Variables.of({"data": {"x": value}}),
        now=0,
        instance=InstanceFacts("i", "P", "1", "S", 0, 0, None),
        roles={},
        pending={},
    )
    try:
        expression = environment.expression(text, Context())
    except ExpressionError as error:
        raise AssertionError(f"{text}: {error.message}") from None
    try:
        orjson.dumps(expression.evaluate(held))
    except EvaluationError as failure:
        assert failure.text
