"""What is refused when the file loads: each error has its place in the text, and a hint where one helps."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import Context, Environment, ExpressionError
from strabo_runtime.expressions.types import BOOLEAN, INTEGER, NUMBER, Type

BID = Context(message_types=("Bid",))
DOUBLES = "a number is a double: write 2.0, or double(...) around an integer"
USE_HAS = "test an optional field with has(x.f); only an optional variable is compared with null"
NO_EVENT = "`event` is in scope only where every alternative of the trigger is an event"


def refused(
    environment: Environment, text: str, context: Context = BID, expect: Type | None = None
) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        environment.expression(text, context, expect=expect)
    return caught.value


def place(error: ExpressionError, text: str) -> str:
    return text[error.offset : error.offset + error.length]


@pytest.mark.parametrize(
    ("text", "code", "at", "message", "hint"),
    [
        ("bid.size() > 0", "unknown-name", "bid", "`bid` is not known here", "did you mean `bids`?"),
        (
            "bids.exists(b, b.cots > 1.0)",
            "unknown-field",
            "cots",
            "Bid has no field `cots`",
            "did you mean `cost`?",
        ),
        (
            "message.payload.cots > 1.0",
            "unknown-field",
            "cots",
            "Bid has no field `cots`",
            "did you mean `cost`?",
        ),
        (
            "message.form == 'x'",
            "unknown-field",
            "form",
            "message has no field `form`",
            "did you mean `from`?",
        ),
        (
            "roles.Solvr.size()",
            "unknown-field",
            "Solvr",
            "roles has no field `Solvr`",
            "did you mean `Solver`?",
        ),
        (
            "starting.payload.budgt > 1.0",
            "unknown-field",
            "budgt",
            "Task has no field `budgt`",
            "did you mean `budget`?",
        ),
        (
            "grid[0][0].fil == 'x'",
            "unknown-field",
            "fil",
            "Finding has no field `fil`",
            "did you mean `file`?",
        ),
        (
            "min_by(bids, 'cost').sover_id",
            "unknown-field",
            "sover_id",
            "Bid has no field `sover_id`",
            "did you mean `solver_id`?",
        ),
        ("bids.map(b, {'c': b.cost})[0].d", "unknown-field", "d", None, None),
        (
            "bids.sise() > 0",
            "unknown-function",
            "sise",
            "there is no function `sise`",
            "did you mean `size`?",
        ),
        (
            "minby(bids, 'cost')",
            "unknown-function",
            "minby",
            "there is no function `minby`",
            "did you mean `min_by`?",
        ),
        ("type(bids)", "unknown-function", "type", "type() is not part of this language", None),
        ("rate * 2", "expression-type", "*", "`*` does not take number and integer", DOUBLES),
        ("rate == 2", "expression-type", "==", "`==` does not take number and integer", DOUBLES),
        (
            "name < 1",
            "expression-type",
            "<",
            "`<` does not take string and integer",
            "convert one side: string(...) or int(...)",
        ),
        (
            "deadline > '2030-01-01T00:00:00Z'",
            "expression-type",
            ">",
            None,
            "write timestamp('2030-01-01T00:00:00Z')",
        ),
        ("wait > '5m'", "expression-type", ">", None, "write duration('300s')"),
        (
            "has(winner)",
            "presence",
            "has",
            "has() takes a field, as in has(x.f)",
            "test an optional variable with `== null`",
        ),
        ("count == null", "presence", "==", None, USE_HAS),
        ("bids == null", "presence", "==", None, USE_HAS),
        ("message.payload.proposal == null", "presence", "==", "`==` does not take object and null", None),
        (
            "message.payload.time == null",
            "presence",
            "==",
            "`message.payload.time` is never null",
            "only an optional variable may be null",
        ),
        (
            "findings.exists(f, f.at == null)",
            "presence",
            "==",
            "`f.at` is an optional field: it is absent, never null",
            "write !has(f.at)",
        ),
        ("findings.exists(f, f.at != null)", "presence", "!=", None, "write has(f.at)"),
        ("message.user == null", "presence", "==", None, USE_HAS),
        (
            "level == 'hihg'",
            "unknown-enum-value",
            "'hihg'",
            "'hihg' is not one of low, medium, high",
            "did you mean `high`?",
        ),
        ("findings.exists(f, 'lo' != f.level)", "unknown-enum-value", "'lo'", None, "did you mean `low`?"),
        (
            "findings.all(f, f.level in ['low', 'hi'])",
            "unknown-enum-value",
            "'hi'",
            None,
            "did you mean `high`?",
        ),
        (
            "min_by(bids, 'cots').cost",
            "unknown-field",
            "'cots'",
            "Bid has no field `cots`",
            "did you mean `cost`?",
        ),
        (
            "sum_by(bids, 'solver_id')",
            "expression-type",
            "'solver_id'",
            "sum_by() needs a number or a duration, but `solver_id` is string",
            None,
        ),
        (
            "avg_by(bids, 'time')",
            "expression-type",
            "'time'",
            "avg_by() needs a number, but `time` is duration",
            None,
        ),
        (
            "sort_by(bids, 'proposal')",
            "expression-type",
            "'proposal'",
            "sort_by() needs a scalar field, but `proposal` is object",
            None,
        ),
        (
            "max_by(moments, 'x')",
            "expression-type",
            "max_by",
            "the items of list<timestamp> have no fields",
            None,
        ),
        (
            "min_by(bids, name)",
            "expression-type",
            "n",
            "min_by() takes the field's name as a text, such as 'cost'",
            None,
        ),
        ("without(winner, 'cots')", "unknown-field", "'cots'", None, "did you mean `cost`?"),
        ("merge(winner, 5)", "expression-type", "5", "merge() takes an object, but `5` is integer", None),
        ("name.matches('(')", "expression-value", "'('", None, None),
        ("timestamp('tomorrow') > now", "expression-value", "'tomorrow'", None, None),
        (
            "duration('P1Y')",
            "expression-value",
            "'P1Y'",
            "'P1Y': years and months have no fixed length; count in days",
            None,
        ),
        ("int('x')", "expression-value", "'x'", None, None),
        ("1u == 1u", "expression-type", "1", "an unsigned number is not a value of this language", None),
        ("b'abc'.size()", "expression-type", "b", "a bytes literal is not a value of this language", None),
        ("[1e999]", "expression-value", "1", "this number is beyond the range of a double", None),
        ("{1: 2}", "expression-type", "1", "the keys of an object are texts", None),
        ("{count: 2}", "expression-type", "count", "the keys of an object are texts", None),
        ("message", "expression-type", "message", "`message` is not a value by itself", None),
        ("[roles]", "expression-type", "roles", "`roles` is not a value by itself", None),
        ("event.payload.finding", "unknown-name", "event", "`event` is not known here", NO_EVENT),
        ("string", "expression-type", "string", "`string` is not a value", None),
        ("count.x", "expression-type", None, "a value of type integer has no fields", None),
        ("package", "expression-syntax", "package", "`package` is a reserved word", None),
        ("1 +", "expression-syntax", None, "the expression ends too early", None),
        ("(1", "expression-syntax", None, "the expression ends too early", None),
        ("1 1", "expression-syntax", "1", "'1' does not belong here", None),
        ("'abc", "expression-syntax", None, None, None),
        ("", "expression-syntax", "", "the expression is empty", None),
    ],
)
def test_an_error_says_what_where_and_what_instead(
    environment: Environment, text: str, code: str, at: str | None, message: str | None, hint: str | None
) -> None:
    error = refused(environment, text)
    assert error.code == code
    if at is not None:
        assert place(error, text) == at
    if message is not None:
        assert error.message == message
    if hint is not None:
        assert error.hint == hint


def test_message_is_known_only_where_a_message_triggers(environment: Environment) -> None:
    error = refused(environment, "message.payload.cost > 1.0", Context(event_names=("Conflict",)))
    assert error.hint == "`message` is in scope only where every alternative of the trigger is a message"


def test_every_error_of_an_expression_is_told(environment: Environment) -> None:
    text = "bid.size() > 0 && winner.cots > 1.0 && level == 'x'"
    assert [place(error, text) for error in refused(environment, text).flattened()] == ["bid", "cots"]
    text = "level == 'x' && min_by(bids, 'cots').cost > 1.0 && findings.all(f, f.level == 'y')"
    assert [place(error, text) for error in refused(environment, text).flattened()] == [
        "'x'",
        "'cots'",
        "'y'",
    ]


def test_an_offset_counts_code_points_also_over_several_lines(environment: Environment) -> None:
    text = "name == 'é😀'\n  && bids.exists(b,\n    b.cots > 1.0)"
    assert place(refused(environment, text), text) == "cots"


def test_an_offset_is_right_behind_an_optional_list_compared_with_null(environment: Environment) -> None:
    text = "tags == null || null != tags || winner.cots > 1.0"
    assert place(refused(environment, text), text) == "cots"
    text = "tags == null || level == 'x'"
    assert place(refused(environment, text), text) == "'x'"


def test_a_surrounding_brace_is_allowed_and_counted(environment: Environment) -> None:
    text = "  ${ winner.cots }  "
    assert place(refused(environment, text), text) == "cots"
    assert environment.expression("${ count > 1 }", BID).text == "count > 1"


@pytest.mark.parametrize(
    ("text", "expect", "message"),
    [
        ("count", BOOLEAN, "expected boolean, but this is integer"),
        ("bids.size() > 1 ? 5.0 : 3.0", INTEGER, "expected integer, but this is number"),
        ("null", INTEGER, "null is given where a value is needed"),
    ],
)
def test_the_result_must_be_of_the_expected_type(
    environment: Environment, text: str, expect: Type, message: str
) -> None:
    assert refused(environment, text, expect=expect).message == message


def test_an_integer_is_taken_where_a_number_is_expected(world: Any) -> None:
    assert repr(world.value("bids.size()", expect=NUMBER)) == "3.0"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 + " * 10_000 + "1", "expression-too-long"),
        ("(" * 60 + "1" + ")" * 60, "expression-too-deep"),
        ("[" * 33 + "]" * 33, "expression-too-deep"),
        ("[" * 500 + "]" * 500, "expression-too-deep"),
        (" + ".join(["count"] * 300), "expression-too-deep"),
        ("!(" * 40 + "ready" + ")" * 40, "expression-too-deep"),
        ("name" + ".x" * 300, None),
    ],
)
def test_a_monstrous_expression_is_refused_and_no_exception(
    environment: Environment, text: str, code: str | None
) -> None:
    error = refused(environment, text)
    assert code is None or error.code == code, error.message


def test_a_long_chain_of_conditions_is_fine(environment: Environment, world: Any) -> None:
    assert world.test(" && ".join(["count == 7"] * 200)) is True
    assert world.value(" + ".join(["count"] * 30)) == 210


def test_an_error_names_no_inner_names_whichever_context_came_first(environment: Environment) -> None:
    for types in (("Task",), ("Bid",), ("Task", "Bid"), ("Cancel",)):
        with pytest.raises(ExpressionError) as refusal:
            environment.expression("message.form == 'x'", Context(message_types=types))
        assert refusal.value.message == "message has no field `form`"
