"""Templates: text with expressions in it, nested values, and the type of the place they are given to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_runtime.expressions import Context, Environment, EvaluationError, ExpressionErrors
from strabo_runtime.expressions.template import Embedded, split
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Type,
)


def errors(
    environment: Environment, value: Any, expect: Type | None = None
) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ExpressionErrors) as caught:
        environment.template(value, Context(), expect=expect)
    return [(path, error.message) for path, error in caught.value.errors]


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        ("plain", "plain"),
        ("", ""),
        ("costs $5", "costs $5"),
        ("$", "$"),
        ("$$", "$"),
        ("$$name", "$name"),
        ("$${ count }", "${ count }"),
        ("a $$ b $ c", "a $ b $ c"),
        ("$1.50", "$1.50"),
        ("$name is it", "$name is it"),
        ("$name", "Strabo"),
        ("$task.spec", {"size": 3, "tags": ["a"]}),
        ("$task.spec.size", 3),
        ("${ task.spec.size }", 3),
        ("${ count }", 7),
        (" ${ count }", " 7"),
        ("${count}${count}", "77"),
        ("${ 'a}b' }", "a}b"),
        ("${ {'k': {'l': count}} }", {"k": {"l": 7}}),
        ("<${ '}' }>", "<}>"),
        ("Closed with ${ bids.size() } bids.", "Closed with 3 bids."),
        (
            "${ rate } ${ task.budget } ${ ready } ${ now } ${ wait }",
            "0.5 100 true 2030-01-01T12:00:00Z PT30M",
        ),
        ("got ${ task.spec }", 'got {"size":3,"tags":["a"]}'),
        (5, 5),
        (True, True),
        (None, None),
        (1.5, 1.5),
        ({"a": ["$count", {"b": "x${ count }"}], "c": 1}, {"a": [7, {"b": "x7"}], "c": 1}),
    ],
)
def test_a_value_is_rendered(world: Any, value: Any, rendered: Any) -> None:
    assert world.rendered(value) == rendered


def test_a_bare_path_copies_the_stored_value_itself(world: Any) -> None:
    assert world.rendered("$task.spec") is world.variables["task"]["spec"]
    assert repr(world.rendered("$extra.size")) == "3"


def test_a_template_without_expressions_is_constant(environment: Environment) -> None:
    assert environment.template({"a": [1, "x", {"b": None}]}, Context()).constant
    assert environment.template("$$x", Context()).constant
    assert not environment.template({"a": "$count"}, Context()).constant


@pytest.mark.parametrize(
    ("value", "expect", "rendered"),
    [
        (5, NUMBER, 5.0),
        ("PT90M", DURATION, "PT1H30M"),
        ("30m", DURATION, "PT30M"),
        ("2030-01-01T02:00:00+02:00", TIMESTAMP, "2030-01-01T00:00:00Z"),
        ("low", Reference("Level"), "low"),
        (None, OptionalOf(STRING), None),
        (None, ANY, None),
        ({"a": 1}, MapOf(NUMBER), {"a": 1.0}),
        ([], ListOf(Reference("Bid")), []),
        ("${ [] }", ListOf(Reference("Bid")), []),
        ("${ null }", OptionalOf(STRING), None),
        ("${ now + wait }", TIMESTAMP, "2030-01-01T12:30:00Z"),
        ("$bids", ListOf(Reference("Bid")), None),
        ("${ bids.filter(b, b.cost > 35.0) }", ListOf(Reference("Bid")), None),
        ({"name": "$name", "age": "$count"}, Reference("Person"), {"name": "Strabo", "age": 7}),
        (
            {"name": "x", "boss": {"name": "$name"}},
            Reference("Person"),
            {"name": "x", "boss": {"name": "Strabo"}},
        ),
        ("${ {'name': name, 'age': 3} }", Reference("Person"), {"name": "Strabo", "age": 3}),
        ({"anything": [1, {"x": "$count"}]}, OBJECT, {"anything": [1, {"x": 7}]}),
        ("${ ready ? 'low' : 'high' }", EnumOf(("low", "high")), "low"),
        ("${ level == null ? 'none' : string(level) }", STRING, "none"),
        ("l${ 'ow' }", Reference("Level"), "low"),
    ],
)
def test_a_value_is_brought_into_the_stored_form_of_its_place(
    world: Any, value: Any, expect: Type, rendered: Any
) -> None:
    result = world.rendered(value, expect)
    if rendered is not None:
        assert repr(result) == repr(rendered)


def test_an_optional_null_is_left_out_of_an_object(world: Any, with_message: Callable[..., Any]) -> None:
    assert world.rendered({"name": "a", "boss": None}, Reference("Person")) == {"name": "a"}
    cancel = with_message("Cancel", {"task_id": "t"})
    reason = {"task_id": "$message.payload.task_id", "reason": "$message.payload.reason"}
    assert cancel.rendered(reason, Reference("Cancel")) == {"task_id": "t"}
    assert cancel.rendered({"a": "$tags"}, OBJECT) == {"a": None}


@pytest.mark.parametrize(
    ("value", "expect", "found"),
    [
        (5, STRING, [((), "expected string, but this is a number")]),
        ("5", INTEGER, [((), "expected integer, but this is text")]),
        (1.5, INTEGER, [((), "expected integer, but this is a number")]),
        (2**63, INTEGER, [((), "expected integer, but this is a number")]),
        (True, NUMBER, [((), "expected number, but this is true or false")]),
        (None, STRING, [((), "expected string, but this is null")]),
        ([1], STRING, [((), "expected string, but this is a list")]),
        ({}, ListOf(STRING), [((), "expected list<string>, but this is an object")]),
        ("x", BOOLEAN, [((), "expected boolean, but this is text")]),
        ("x ${ count }", INTEGER, [((), "expected integer, but this is text")]),
        ("lo", Reference("Level"), [((), "'lo' is not one of low, medium, high")]),
        ("${ 'lo' }", Reference("Level"), [((), "'lo' is not one of low, medium, high")]),
        (
            "tomorrow",
            TIMESTAMP,
            [((), "'tomorrow' is not an RFC 3339 timestamp such as 2030-01-01T00:05:00Z")],
        ),
        ("$count", STRING, [((), "expected string, but this is integer")]),
        ("$bids", ListOf(Reference("Task")), [((), "the field `spec` of Task is missing")]),
        ("$winner", Reference("Person"), [((), "the field `name` of Person is missing")]),
        ("${ {'name': 'x', 'agee': 3} }", Reference("Person"), [((), "Person has no field `agee`")]),
        ("${ {'name': 5} }", Reference("Person"), [((), "expected string, but this is integer")]),
        (
            {"name": 1, "age": "x"},
            Reference("Person"),
            [
                (("name",), "expected string, but this is a number"),
                (("age",), "expected integer, but this is text"),
            ],
        ),
        (
            {"nam": "x", "age": "$bid"},
            Reference("Person"),
            [
                (("nam",), "`nam` is not a field of Person"),
                ((), "missing: `name`"),
                (("age",), "`bid` is not known here"),
            ],
        ),
        (
            {"a": ["$x", {"b": "${ y } ${ z }"}]},
            None,
            [
                (("a", 0), "`x` is not known here"),
                (("a", 1, "b"), "`y` is not known here"),
                (("a", 1, "b"), "`z` is not known here"),
            ],
        ),
        ([1, "x"], ListOf(NUMBER), [((1,), "expected number, but this is text")]),
        ("a ${ count", None, [((), "`${` is not closed")]),
        ("${}", None, [((), "the expression is empty")]),
        (float("nan"), None, [((), "the number is not finite")]),
        (10**400, NUMBER, [((), "the number is not finite")]),
        (2**70, None, [((), "the number does not fit 64 bits")]),
        (object(), None, [((), "a object is not a value of this language")]),
    ],
)
def test_every_error_of_a_value_is_told_with_its_path(
    environment: Environment, value: Any, expect: Type | None, found: Any
) -> None:
    assert errors(environment, value, expect) == found


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("$winner.cots", "cots"),
        ("${ winner.cots }", "cots"),
        ("é ${ count } and ${ winner.cots }", "cots"),
        ("$nme", "nme"),
    ],
)
def test_an_error_stands_where_it_is_in_the_whole_text(environment: Environment, value: str, at: str) -> None:
    with pytest.raises(ExpressionErrors) as caught:
        environment.template(value, Context())
    ((path, error),) = caught.value.errors
    assert (path, value[error.offset : error.offset + error.length]) == ((), at)


@pytest.mark.parametrize(
    ("value", "expect", "says"),
    [
        ("by ${ winner.cost }", None, "`winner` is null"),
        ("by ${ level }", None, "null cannot stand inside a text"),
        ("$level", Reference("Level"), "`level` is null, but a value is needed"),
        ("${ level == null ? tags : tags }", ListOf(STRING), "is null, but a value is needed"),
        ({"task_id": "$task.task_id", "solver_id": "$winner.solver_id"}, None, "`winner` is null"),
        ("$extra.deep", Reference("Person"), "/name: is missing"),
        ("$extra.size", STRING, "is not text"),
        ("$name", Reference("Level"), "is not one of low, medium, high"),
        ("${ name + 'x' }", EnumOf(("a",)), "is not one of a"),
        ("x${ name }", EnumOf(("a",)), "'xStrabo' is not one of a"),
        ("${ 1e308 * 10.0 }", None, "not a finite number"),
        ("${ maybes }", ListOf(STRING), "/1: is not text"),
    ],
)
def test_a_value_that_does_not_fit_its_place_is_an_error_of_the_step(
    world: Any, value: Any, expect: Type | None, says: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        world.rendered(value, expect)
    assert says in caught.value.text


def test_an_untyped_value_that_fits_is_taken_and_brought_into_stored_form(world: Any) -> None:
    extra = {"name": "a", "age": 3, "boss": None}
    assert repr(world.rendered("$extra", Reference("Person"), extra=extra)) == repr({"name": "a", "age": 3})


def test_a_wider_record_is_not_given_where_fields_would_be_unknown(environment: Environment) -> None:
    narrow = Record((Field("solver_id", STRING),))
    assert errors(environment, "$winner", narrow) == [((), "{solver_id: string} has no field `task_id`")]
    assert environment.template("$winner", Context(), expect=Record(narrow.fields, open=True))


def test_a_template_nested_without_end_is_refused(environment: Environment) -> None:
    value: Any = "x"
    for _ in range(100):
        value = [value]
    assert [message for _, message in errors(environment, value)] == ["nested more than 32 levels deep"]


def test_splitting_a_text_keeps_the_place_of_each_expression() -> None:
    assert split("a $$ ${ b } c ${d}") == ["a $ ", Embedded(" b ", 7), " c ", Embedded("d", 16)]


@given(st.text(alphabet="a${} '\"\\.b1+", max_size=40))
def test_any_text_is_a_template_or_an_expression_error(text: str) -> None:
    environment = Environment(
        types={}, messages={}, events={}, variables={"a": INTEGER}, roles=[], starting=[]
    )
    try:
        environment.template(text, Context())
    except ExpressionErrors as error:
        assert error.errors


@pytest.mark.parametrize(
    ("value", "expect", "at"),
    [
        ("${ ready ? 'low' : 'hihg' }", Reference("Level"), "'hihg'"),
        ("${ {'file': name, 'line': 1, 'level': 'hihg'} }", Reference("Finding"), "'hihg'"),
        ("${ ['low', ready ? 'hihg' : 'low'] }", ListOf(Reference("Level")), "'hihg'"),
    ],
)
def test_a_text_given_to_an_enum_is_checked_where_it_stands(
    environment: Environment, value: str, expect: Type, at: str
) -> None:
    with pytest.raises(ExpressionErrors) as caught:
        environment.template(value, Context(), expect=expect)
    ((_, error),) = caught.value.errors
    assert (error.code, error.hint) == ("unknown-enum-value", "did you mean `high`?")
    assert value[error.offset : error.offset + error.length] == at


def test_a_text_too_long_to_be_a_template_is_refused(environment: Environment) -> None:
    assert [message for _, message in errors(environment, "x" * 50_000 + "${ count }")] == [
        "a text with expressions has at most 50000 characters, this one has 50010"
    ]


@pytest.mark.parametrize(
    ("value", "expect"),
    [
        ({"in": "$extra"}, OBJECT),
        ("${ {'in': extra} }", OBJECT),
        ("${ [anything] }", ANY),
        (["$anything"], ANY),
    ],
)
def test_a_value_wrapped_again_at_every_step_is_an_error_long_before_anything_overflows(
    world: Any, value: Any, expect: Type
) -> None:
    scope = world.scope(anything=[])
    template = world.environment.template(value, Context(), expect=expect)
    name = "extra" if expect == OBJECT else "anything"
    with pytest.raises(EvaluationError, match="nested more than 64 levels deep"):
        for _ in range(70):
            scope.set_variable(name, template.render(scope))
