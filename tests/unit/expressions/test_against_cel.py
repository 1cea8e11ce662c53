"""Our evaluation of checked expressions is CEL's: random expressions give what the CEL library gives."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cel_expr_python import cel
from hypothesis import given, settings
from hypothesis import strategies as st

from strabo_runtime.expressions import (
    ChildFacts,
    Context,
    Environment,
    EvaluationError,
    ExpressionError,
    InstanceFacts,
    Variables,
)
from strabo_runtime.expressions.time import from_timedelta
from strabo_runtime.expressions.types import (
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    ListOf,
    MapOf,
)

pytestmark = pytest.mark.slow

VARIABLES = {
    "i": INTEGER,
    "j": INTEGER,
    "d": NUMBER,
    "s": STRING,
    "b": BOOLEAN,
    "t": TIMESTAMP,
    "w": DURATION,
    "ints": ListOf(INTEGER),
    "texts": ListOf(STRING),
    "table": MapOf(INTEGER),
    "o": OBJECT,
}
INPUTS = {"limit": INTEGER, "topic": STRING}
OURS = Environment(
    types={},
    messages={},
    events={},
    variables=VARIABLES,
    roles=[],
    starting=[],
    inputs=INPUTS,
    children=["reviews"],
)
PLACE = Context(child_names=("reviews",), each=OBJECT)
T = cel.Type
THEIRS = cel.NewEnv(
    variables={
        "i": T.INT,
        "j": T.INT,
        "d": T.DOUBLE,
        "s": T.STRING,
        "b": T.BOOL,
        "t": T.TIMESTAMP,
        "w": T.DURATION,
        "ints": T("list<int>"),
        "texts": T("list<string>"),
        "table": T("map<string, int>"),
        "o": T("map<string, dyn>"),
        "limit": T.INT,
        "topic": T.STRING,
        "child": T("map<string, dyn>"),
        "children": T("map<string, list<map<string, dyn>>>"),
        "each": T("map<string, dyn>"),
    }
)
INSTANCE = InstanceFacts("i", "P", "1", "S", 0, 0, None)

words = st.sampled_from(["", "a", "ab", "b", "é", "z9"])
small = st.integers(-3, 3)
integers = small | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 10])
floats = st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, -1.5, 1e300, 3.0])
untyped = st.dictionaries(
    st.sampled_from(["x", "y", "z"]),
    floats
    | words
    | st.booleans()
    | st.none()
    | st.lists(floats, max_size=2)
    | st.dictionaries(words, floats, max_size=2),
    max_size=3,
)
# A failed child has no result, one that succeeded no error, one that is running neither.
ended = st.one_of(
    st.fixed_dictionaries({"outcome": st.just("success"), "result": untyped}),
    st.fixed_dictionaries({"outcome": st.just("failure"), "error": words}),
)
listed = st.one_of(
    ended.map(
        lambda given: {"status": given["outcome"], **{k: v for k, v in given.items() if k != "outcome"}}
    ),
    st.just({"status": "running"}),
).map(lambda given: {"id": "c", **given})
values = st.fixed_dictionaries(
    {
        "limit": integers,
        "topic": words,
        "child": ended.map(lambda given: {"name": "reviews", "id": "c1", **given}),
        "children": st.fixed_dictionaries({"reviews": st.lists(listed, max_size=3)}),
        "each": untyped,
        "i": integers,
        "j": integers,
        "d": floats,
        "s": words,
        "b": st.booleans(),
        "t": st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)).map(
            lambda t: t.replace(microsecond=0, tzinfo=UTC)
        ),
        "w": st.integers(-10_000, 10_000).map(lambda s: timedelta(seconds=s)),
        "ints": st.lists(small, max_size=4),
        "texts": st.lists(words, max_size=4),
        "table": st.dictionaries(words, small, max_size=3),
        "o": untyped,
    }
)


def joined(
    operator: st.SearchStrategy[str], left: st.SearchStrategy[str], right: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    return st.tuples(left, operator, right).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})")


def expressions(depth: int) -> dict[str, st.SearchStrategy[str]]:
    """Strategies of well-typed expressions, by type."""
    leaf = {
        "int": st.sampled_from(
            ["i", "j", "limit", "children.reviews.size()", "0", "1", "-2", "9223372036854775807"]
        ),
        "double": st.sampled_from(["d", "0.5", "2.0", "-1.0"]),
        "string": st.sampled_from(
            [
                "s",
                "topic",
                "child.id",
                "child.error",
                "children.reviews[0].error",
                "'a'",
                '"é"',
                "''",
                r"'\n'",
            ]
        ),
        "bool": st.sampled_from(
            [
                "b",
                "true",
                "false",
                "has(child.error)",
                "has(child.result)",
                "has(child.result.x)",
                "child.outcome == 'success'",
                "child.outcome in ['failure']",
                "has(children.reviews[1].result)",
                "has(each.x)",
            ]
        ),
        "time": st.sampled_from(["t", "timestamp('2030-01-01T00:00:00Z')"]),
        "span": st.sampled_from(["w", "duration('90s')", "duration('1h')"]),
        "ints": st.sampled_from(["ints", "[1, 2]", "[0, 0, 3]"]),
        "texts": st.sampled_from(["texts", "['a', 'b']"]),
        "dyn": st.sampled_from(
            [
                "o.x",
                "o.y",
                "o['z']",
                "each.x",
                "each",
                "child.result",
                "child.result.y",
                "children.reviews[0].result.x",
                "dyn(1)",
                "dyn('a')",
                "dyn([1, 2])",
                "dyn(1.0)",
                "o",
            ]
        ),
    }
    if depth == 0:
        return leaf
    sub = expressions(depth - 1)
    any_value = st.one_of(*(sub[name] for name in ("int", "double", "string", "bool", "dyn")))
    arithmetic = st.sampled_from(["+", "-", "*", "/", "%"])
    orders = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    equality = st.sampled_from(["==", "!="])
    predicate = st.one_of(
        joined(orders, st.sampled_from(["v", "v + 1", "v * v"]), sub["int"]),
        st.just("10 / v > 1"),
        st.just("v in ints"),
        sub["bool"],
    )
    macro = st.sampled_from(["all", "exists", "exists_one"])
    conditional = {
        name: st.tuples(sub["bool"], sub[name], sub[name]).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})")
        for name in leaf
    }
    made = {
        "int": st.one_of(
            joined(arithmetic, sub["int"], sub["int"]),
            sub["string"].map(lambda e: f"{e}.size()"),
            sub["ints"].map(lambda e: f"size({e})"),
            st.tuples(sub["ints"], sub["int"]).map(lambda p: f"{p[0]}[{p[1]}]"),
            sub["string"].map(lambda e: f"table[{e}]"),
            sub["double"].map(lambda e: f"int({e})"),
            sub["int"].map(lambda e: f"(-{e})"),
            sub["time"].map(lambda e: f"{e}.getFullYear()"),
            sub["time"].map(lambda e: f"{e}.getDayOfWeek()"),
            sub["time"].map(lambda e: f"{e}.getHours('+02:30')"),
            sub["span"].map(lambda e: f"{e}.getMinutes()"),
            sub["string"].map(lambda e: f"int({e})"),
        ),
        "double": st.one_of(
            joined(st.sampled_from(["+", "-", "*"]), sub["double"], sub["double"]),
            sub["int"].map(lambda e: f"double({e})"),
            sub["string"].map(lambda e: f"double({e})"),
        ),
        "string": st.one_of(
            joined(st.just("+"), sub["string"], sub["string"]),
            st.one_of(sub["int"], sub["bool"], sub["double"], sub["time"], sub["span"]).map(
                lambda e: f"string({e})"
            ),
        ),
        "bool": st.one_of(
            joined(st.sampled_from(["&&", "||"]), sub["bool"], sub["bool"]),
            joined(orders, sub["int"], sub["int"]),
            joined(orders, sub["double"], sub["double"]),
            joined(orders, sub["string"], sub["string"]),
            joined(orders, sub["bool"], sub["bool"]),
            joined(orders, sub["time"], sub["time"]),
            joined(orders, sub["span"], sub["span"]),
            joined(equality, sub["ints"], sub["ints"]),
            joined(orders, sub["dyn"], any_value),
            joined(equality, sub["dyn"], sub["dyn"]),
            sub["bool"].map(lambda e: f"!{e}"),
            st.tuples(
                sub["string"], st.sampled_from(["contains", "startsWith", "endsWith"]), sub["string"]
            ).map(lambda p: f"{p[0]}.{p[1]}({p[2]})"),
            sub["string"].map(lambda e: f"{e}.matches('^[a-b]+$')"),
            joined(st.just("in"), sub["int"], sub["ints"]),
            joined(st.just("in"), sub["string"], sub["texts"]),
            joined(st.just("in"), sub["string"], st.sampled_from(["table", "o", "{'a': 1}"])),
            joined(st.just("in"), any_value, st.sampled_from(["[1, 2.0, 'a', true]", "o.x"])),
            st.sampled_from(["has(o.x)", "has(table.a)", "has(o.x.y)"]),
            st.tuples(sub["ints"], macro, predicate).map(lambda p: f"{p[0]}.{p[1]}(v, {p[2]})"),
            st.sampled_from(
                [
                    "table.all(k, table[k] > 0)",
                    "o.exists(k, o[k] == 1.0)",
                    "texts.exists(v, ints.exists(n, n == v.size()))",
                    "children.reviews.all(c, c.status == 'success')",
                    "children.reviews.exists(c, has(c.result) && has(c.result.x))",
                    "children.reviews.exists(c, c.error == topic)",
                    "children.reviews.filter(c, c.status != 'running').all(c, has(c.result) || has(c.error))",
                    "each.exists(k, each[k] == child.result)",
                ]
            ),
        ),
        "time": st.one_of(
            joined(st.sampled_from(["+", "-"]), sub["time"], sub["span"]),
            joined(st.just("+"), sub["span"], sub["time"]),
        ),
        "span": st.one_of(
            joined(st.sampled_from(["+", "-"]), sub["span"], sub["span"]),
            joined(st.just("-"), sub["time"], sub["time"]),
        ),
        "ints": st.one_of(
            joined(st.just("+"), sub["ints"], sub["ints"]),
            st.tuples(sub["ints"], predicate).map(lambda p: f"{p[0]}.filter(v, {p[1]})"),
            st.tuples(sub["ints"], sub["int"]).map(lambda p: f"{p[0]}.map(v, v + {p[1]})"),
            st.tuples(sub["ints"], predicate).map(lambda p: f"{p[0]}.map(v, {p[1]}, v * 2)"),
            st.tuples(sub["int"], sub["int"]).map(lambda p: f"[{p[0]}, {p[1]}]"),
            sub["texts"].map(lambda e: f"{e}.map(v, v.size())"),
        ),
        "texts": st.one_of(
            joined(st.just("+"), sub["texts"], sub["texts"]),
            sub["ints"].map(lambda e: f"{e}.map(v, string(v))"),
            st.sampled_from(["children.reviews.map(c, c.id)", "children.reviews.map(c, c.error)"]),
        ),
        "dyn": st.one_of(
            any_value.map(lambda e: f"dyn({e})"),
            joined(st.sampled_from(["+", "-", "*", "%"]), sub["dyn"], any_value),
            sub["ints"].map(lambda e: f"dyn({e})"),
            st.tuples(any_value, any_value).map(lambda p: f"[{p[0]}, {p[1]}][1]"),
            st.tuples(sub["string"], any_value).map(lambda p: f"{{'k': {p[1]}, 'l': {p[0]}}}"),
            st.sampled_from(["o.x.y", "o.x[0]", "o.map(k, o[k]).size()", "o.x.map(v, v)"]),
        ),
    }
    return {name: st.one_of(leaf[name], made[name], conditional[name]) for name in leaf}


def ours(text: str, given_values: dict[str, Any]) -> tuple[str, Any]:
    stored = {
        **given_values,
        "t": given_values["t"].isoformat().replace("+00:00", "Z"),
        "w": from_timedelta(given_values["w"]),
    }
    for root in ("child", "children", "each"):
        del stored[root]
    scope = OURS.scope(Variables.of(stored), now=0, instance=INSTANCE, roles={}, pending={})
    child = given_values["child"]
    scope.child = ChildFacts(**{"result": None, "error": None, **child})
    scope.children = given_values["children"]
    scope.each = given_values["each"]
    try:
        return "value", OURS.expression(text, PLACE).evaluate(scope)
    except EvaluationError as error:
        return "error", error.text


def theirs(text: str, given_values: dict[str, Any]) -> tuple[str, Any]:
    try:
        result = THEIRS.compile(text).eval(data=given_values)
    except RuntimeError as error:
        return "error", str(error)
    if result.type() == T.ERROR:
        return "error", result.value()
    return "value", as_json(result.plain_value())


def as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        value = value.replace(tzinfo=value.tzinfo or UTC)
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, timedelta):
        return value
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value


def same(one: Any, two: Any) -> bool:
    if isinstance(two, timedelta):
        return bool(one == from_timedelta(two))
    if isinstance(one, float) and isinstance(two, float):
        return one == two or (math.isnan(one) and math.isnan(two))
    if type(one) is not type(two):
        return False
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return bool(one == two)


def is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(is_finite, value))
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return True


whole = st.one_of(*expressions(3).values())


@settings(max_examples=400, deadline=None)
@given(whole, values)
def test_a_random_expression_gives_what_cel_gives(text: str, given_values: dict[str, Any]) -> None:
    try:
        THEIRS.compile(text)
    except RuntimeError:
        # What CEL's checker refuses, ours refuses too.
        try:
            OURS.expression(text, PLACE)
        except ExpressionError:
            return
        raise AssertionError(f"{text} passes our check but not CEL's") from None
    try:
        OURS.expression(text, PLACE)
    except ExpressionError as error:
        # A literal that can never be converted is told at load; CEL waits until it runs.
        assert error.code in ("expression-value", "expression-too-deep", "presence"), error.message
        return
    kind, value = ours(text, given_values)
    their_kind, their_value = theirs(text, given_values)
    if their_kind == "value" and not is_finite(their_value):
        assert kind == "error"
        return
    assert kind == their_kind, (value, their_value)
    if kind == "value":
        assert same(value, their_value), (value, their_value)
