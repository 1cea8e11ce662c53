"""§2: functions that a package registers, called from expressions."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest

from strabo_runtime.expressions import (
    Context,
    Environment,
    EvaluationError,
    ExpressionError,
    InstanceFacts,
    Scope,
    Variables,
)
from strabo_runtime.expressions.types import (
    ANY,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    Field,
    Json,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Type,
)
from strabo_runtime.functions import Function, function


@function(version="1.0")
def shipping(weight: float, country: str, express: bool = False) -> float:
    if weight < 0.0:
        raise ValueError("a weight is not negative")
    return weight * (4.0 if express else 2.0) + len(country)


@function(version="2")
def next_slot(after: datetime, length: timedelta) -> datetime:
    assert after.tzinfo is UTC
    return after + length


@function(version="1")
def ranked(bids: Annotated[list[Any], "list<any>"], by: Literal["cost", "time"]) -> list[dict[str, Any]]:
    return sorted(bids, key=lambda bid: bid[by])


@function(version="1")
def total(costs: dict[str, float]) -> float:
    return sum(costs.values())


@function(version="1")
def described(
    bid: Annotated[dict[str, Any], {"solver": "string", "note": "string?", "open": True}],
) -> str | None:
    return bid.get("note")


@function(version="1")
def echo(value: Any) -> Any:
    return value


def vandal(value: Json) -> Json:
    assert isinstance(value, dict)
    value["stolen"] = True
    return len(value)


def broken(value: Json) -> Json:
    raise ZeroDivisionError("over nothing")


VANDAL = Function("vandal", "1", (Field("value", OBJECT),), INTEGER, vandal)
BROKEN = Function("broken", "1", (Field("value", ANY),), NUMBER, broken)
WRONG = Function("wrong", "1", (), ListOf(STRING), lambda: [1, "a"])
LARGE = Function("large", "1", (Field("n", INTEGER),), STRING, lambda n: "x" * n)
GIVEN = [shipping, next_slot, ranked, total, described, echo, VANDAL, BROKEN, WRONG, LARGE]

BID = Record((Field("solver", STRING), Field("cost", NUMBER), Field("note", OptionalOf(STRING))))
ENVIRONMENT = Environment(
    types={"Bid": BID},
    messages={},
    events={},
    variables={
        "bids": ListOf(Reference("Bid")),
        "best": OptionalOf(Reference("Bid")),
        "weight": NUMBER,
        "maybe": OptionalOf(NUMBER),
        "costs": MapOf(NUMBER),
        "at": TIMESTAMP,
        "extra": OBJECT,
        "numbers": ListOf(INTEGER),
    },
    roles=[],
    starting=[],
    functions={each.name: each for each in GIVEN},
)
VALUES: dict[str, Json] = {
    "bids": [{"solver": "s1", "cost": 3.0}, {"solver": "s2", "cost": 2.0, "note": "soon"}],
    "best": None,
    "weight": 1.5,
    "maybe": None,
    "costs": {"a": 1.0, "b": 2.0},
    "at": "2030-01-01T00:00:00Z",
    "extra": {"n": 1, "rows": [1, 2]},
    "numbers": list(range(200)),
}


def scope() -> Scope:
    facts = InstanceFacts("i", "P", "1", "S", 0, 1, None)
    return ENVIRONMENT.scope(Variables.of(VALUES), now=0, instance=facts, roles={}, pending={})


def value(text: str, expect: Type | None = None) -> Json:
    return ENVIRONMENT.expression(text, Context(), expect=expect).evaluate(scope())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shipping(weight, 'NL')", 5.0),
        ("shipping(weight, 'NL', true)", 8.0),
        ("shipping(weight, 'NL') * 2.0 > 9.0", True),
        ("bids.map(b, shipping(b.cost, b.solver))", [8.0, 6.0]),
        ("next_slot(at, duration('1h'))", "2030-01-01T01:00:00Z"),
        ("next_slot(at, duration('1h')).getHours()", 1),
        ("next_slot(at, duration('1h')) > at", True),
        ("ranked(bids, 'cost')[0].solver", "s2"),
        ("total(costs)", 3.0),
        ("total({'x': 1.5})", 1.5),
        ("described(bids[1])", "soon"),
        ("described(bids[0]) == null", True),
        ("described({'solver': 'me'}) == null", True),
        ("echo(extra)", {"n": 1, "rows": [1, 2]}),
        ("echo(extra).n + 0.5", 1.5),
        ("echo(null) == null", True),
        ("vandal(extra)", 3),
    ],
)
def test_a_registered_function_gives_its_value(text: str, expected: Json) -> None:
    assert value(text) == expected


def test_a_function_that_changes_its_argument_changes_no_instance() -> None:
    before = {"n": 1, "rows": [1, 2]}
    assert value("vandal(extra)") == 3
    assert VALUES["extra"] == before


@pytest.mark.parametrize(
    ("text", "says", "code", "at"),
    [
        ("shipping('x', 'NL')", "shipping() does not take (string, string)", "expression-type", 0),
        ("shipping(weight)", "shipping() does not take this many arguments", "unknown-function", 0),
        (
            "shipping(weight, 'NL', true, 1)",
            "shipping() does not take this many arguments",
            "unknown-function",
            0,
        ),
        ("shiping(weight, 'NL')", "there is no function `shiping`", "unknown-function", 0),
        ("ranked(bids, 'costs')", "'costs' is not one of cost, time", "unknown-enum-value", 13),
        (
            "described({'note': 'x'})",
            "`bid` of described(): the field `solver` of {solver: string, note: string?} is missing",
            "expression-type",
            10,
        ),
        ("described(bids[0]) + 1", "`+` does not take string? and integer", "expression-type", 19),
        ("shipping(weight, 'NL').x", "a value of type number has no fields", "expression-type", 22),
        (
            "1.0 + next_slot(at, duration('1h'))",
            "`+` does not take number and Timestamp",
            "expression-type",
            4,
        ),
    ],
)
def test_a_call_is_checked_when_the_file_loads(text: str, says: str, code: str, at: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression(text, Context())
    assert says in caught.value.message
    assert caught.value.code == code
    assert caught.value.offset == at


def test_a_misspelt_function_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression("shiping(weight, 'NL')", Context())
    assert caught.value.hint == "did you mean `shipping`?"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("shipping(-1.0, 'NL')", "shipping() gave no result: a weight is not negative"),
        ("broken(1)", "broken() gave no result: ZeroDivisionError: over nothing"),
        ("wrong()", "wrong() gave a result that is not list<string>: /0: is not text"),
        ("shipping(maybe, 'NL')", "`maybe` is null, but a value is needed"),
        ("described(best)", "`best` is null, but a value is needed"),
        ("described(echo(1))", "does not fit"),
        ("shipping(bids[0].cost, bids[0].note)", "is absent"),
        ("shipping(dyn('x'), 'NL')", "does not fit"),
        ("next_slot(at, duration('1h') * 1)", None),
    ],
)
def test_a_call_that_gives_no_value_is_an_error_of_the_step(text: str, says: str | None) -> None:
    if says is None:
        with pytest.raises(ExpressionError):
            value(text)
        return
    with pytest.raises(EvaluationError) as caught:
        value(text)
    assert says in caught.value.text


def test_a_failing_call_is_never_a_mere_false() -> None:
    failing = ENVIRONMENT.expression("broken(1) > 0.0", Context())
    with pytest.raises(EvaluationError, match="over nothing"):
        failing.test(scope())


def test_a_function_that_leaves_the_process_is_an_error_of_the_step() -> None:
    leaving = Function("leave", "1", (), NUMBER, sys.exit)
    with pytest.raises(EvaluationError, match=r"leave\(\) gave no result: SystemExit"):
        leaving.apply(())


def test_what_functions_give_inside_a_macro_is_bounded() -> None:
    with pytest.raises(EvaluationError, match="more than 10000 iterations"):
        value("numbers.map(n, large(100000)).size()")


def test_an_environment_tells_which_functions_its_expressions_call() -> None:
    environment = Environment(
        types={},
        messages={},
        events={},
        variables={},
        roles=[],
        starting=[],
        functions={each.name: each for each in GIVEN},
    )
    assert environment.functions_used == frozenset()
    environment.expression("shipping(1.0, 'NL') > 2.0", Context())
    environment.template({"a": "costs ${ total({'a': 1.0}) }"}, Context())
    assert environment.functions_used == {"shipping", "total"}
