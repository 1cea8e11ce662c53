"""§1 Types, sentence by sentence: each test quotes what it holds the language to."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import (
    Context,
    Environment,
    EvaluationError,
    ExpressionError,
    ExpressionErrors,
    PayloadValidator,
    json_schema,
)
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
    Json,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Type,
)

NOWHERE = Context()
NAMED: dict[str, Type] = {
    "Person": Record((Field("name", STRING), Field("boss", OptionalOf(Reference("Person"))))),
    "Tree": Record((Field("leaves", ListOf(Reference("Tree"))), Field("by", MapOf(Reference("Tree"))))),
}


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        (STRING, ["", "x"], [1, None, True, [], {}]),
        (INTEGER, [0, -1, 2**63 - 1, -(2**63), 3.0], [2**63, -(2**63) - 1, 1.5, "1", True, None]),
        (NUMBER, [0, 1.5, -1e300, 2**60], ["1", True, None, 10**400]),
        (BOOLEAN, [True, False], [0, 1, "true", None]),
        (OBJECT, [{}, {"a": [None, {"b": 1}]}], [[], "x", None, 1]),
        (ANY, [None, 1, "x", [], {}, [None]], []),
        (TIMESTAMP, ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.5+02:00"], ["2030-01-01", "x", 5, None]),
        (DURATION, ["PT30M", "30m", "P1DT2H", "1h30m", "P2W"], ["P1Y", "P1M", "x", 30, None]),
        (ListOf(INTEGER), [[], [1, 2]], [["x"], [None], {}, None]),
        (MapOf(NUMBER), [{}, {"any key": 1}], [{"a": "x"}, {"a": None}, [], None]),
        (EnumOf(("a", "b")), ["a", "b"], ["c", "A", None]),
        (OptionalOf(STRING), ["x", None], [1]),
        (Record((Field("a", STRING),)), [{"a": "x"}], [{}, {"a": None}, {"a": "x", "b": 1}, "x"]),
        (Record((Field("a", STRING),), open=True), [{"a": "x", "b": 1}], [{}, {"b": 1}]),
        (Record((Field("a", OptionalOf(STRING)),)), [{}, {"a": None}, {"a": "x"}], [{"a": 1}]),
        (
            Reference("Person"),
            [{"name": "a"}, {"name": "a", "boss": {"name": "b", "boss": None}}],
            [{"boss": None}],
        ),
        (
            Reference("Tree"),
            [{"leaves": [], "by": {}}, {"leaves": [{"leaves": [], "by": {}}], "by": {}}],
            [{}],
        ),
    ],
)
def test_a_type_takes_its_values_and_no_others(type_: Type, good: list[Any], bad: list[Any]) -> None:
    """§1: "`string`, `integer`, `number` (double), `boolean`, `object` ..., `any`, `timestamp`, `duration` (...; `30m`
    is also read; years and months refused), `list<T>`, `map<T>`, `enum(a, b)`, a name ..., and a trailing `?`"."""
    validator = PayloadValidator(type_, NAMED)
    assert [value for value in good if validator.errors(value)] == []
    assert [value for value in bad if not validator.errors(value)] == []


def test_unknown_fields_are_refused_unless_the_type_is_open() -> None:
    """§1: "Unknown fields of a payload are refused unless `open: true`."."""
    closed, opened = (Record((Field("cost", NUMBER),), open=is_open) for is_open in (False, True))
    (error,) = PayloadValidator(closed, {}).errors({"cost": 1, "cots": 2})
    assert error == "/cots: is not a field of this type; did you mean `cost`?"
    assert PayloadValidator(opened, {}).normal({"cost": 1, "cots": 2}) == {"cost": 1.0, "cots": 2}


def test_every_failing_field_is_named_by_its_pointer() -> None:
    """§1: "Validation names every failing field by JSON pointer."."""
    inner = Record((Field("x", INTEGER), Field("y", OptionalOf(TIMESTAMP))))
    validator = PayloadValidator(Record((Field("a/b", MapOf(ListOf(inner))), Field("c", STRING))), {})
    found = validator.errors({"a/b": {"k~": [{"x": 1}, {"x": "1", "y": "soon"}, {}]}, "d": 1})
    assert sorted(text.split(": ")[0] for text in found) == [
        "/a~1b/k~0/1/x",
        "/a~1b/k~0/1/y",
        "/a~1b/k~0/2/x",
        "/c",
        "/d",
    ]


def test_a_null_of_an_optional_field_counts_as_missing(environment: Environment) -> None:
    """§1: "An optional field given as null counts as missing.": in payloads, and in what a template builds."""
    validator = PayloadValidator(Reference("Person"), NAMED)
    assert validator.normal({"name": "a", "boss": {"name": "b", "boss": None}}) == {
        "name": "a",
        "boss": {"name": "b"},
    }
    made = environment.template({"task_id": "t", "reason": None}, NOWHERE, expect=Reference("Cancel"))
    assert made.render(None) == {"task_id": "t"}  # type: ignore[arg-type]


def test_numbers_inside_an_object_are_doubles_to_an_expression(world: Any) -> None:
    """§1: "Numbers inside `object` and `any` are doubles to an expression"."""
    assert world.value("extra.size + 0.5", extra={"size": 3}) == 3.5
    assert world.value("anything + 0.5", anything=3) == 3.5
    assert world.test("extra.list.all(n, n < 2.5)", extra={"list": [1, 2]}) is True
    with pytest.raises(EvaluationError, match=r"write 2\.0"):
        world.value("extra.size + 1", extra={"size": 3})


@pytest.mark.parametrize("template", ["$extra.size", "${ extra.size }", "${ extra['size'] }"])
def test_a_bare_path_copies_stored_json_unchanged(world: Any, template: str) -> None:
    """§1: "a template that is a bare path copies stored JSON unchanged"."""
    for number in (3, 2**60 + 1, 1.5):
        given = world.rendered(template, extra={"size": number})
        if "[" not in template:
            assert (given, type(given)) == (number, type(number))
    assert world.rendered("$extra", extra={"n": 2**60 + 1}) == {"n": 2**60 + 1}
    assert world.rendered({"copy": "$anything"}, anything=[1, 2.0]) == {"copy": [1, 2.0]}


@pytest.mark.parametrize(
    "text",
    [
        "count + 9223372036854775807",
        "count * 9223372036854775807",
        "-(-9223372036854775807 - 1)",
        "int(1e19)",
    ],
)
def test_an_integer_is_64_bit(world: Any, text: str) -> None:
    """§1: "`integer` is 64-bit"."""
    try:
        with pytest.raises(EvaluationError, match="overflow"):
            world.value(text)
    except ExpressionError as error:
        assert error.code == "expression-value"


def test_a_literal_beyond_64_bits_is_an_error_when_the_file_loads(environment: Environment) -> None:
    with pytest.raises(ExpressionError):
        environment.expression("9223372036854775808", NOWHERE)
    with pytest.raises(ExpressionErrors):
        environment.template(2**63, NOWHERE, expect=INTEGER)
    with pytest.raises(ExpressionErrors):
        environment.template({"n": 2**63}, NOWHERE)


def test_any_takes_null(environment: Environment, world: Any) -> None:
    """§1: "`any` takes null"."""
    assert environment.template(None, NOWHERE, expect=ANY).constant
    assert world.value("null", expect=ANY) is None
    assert world.value("anything", expect=ANY, anything=None) is None
    assert PayloadValidator(Record((Field("a", ANY),)), {}).normal({"a": None}) == {"a": None}
    assert PayloadValidator(Record((Field("a", ANY),)), {}).errors({}) == ("/a: is missing",)
    with pytest.raises(ExpressionErrors):
        environment.template(None, NOWHERE, expect=OBJECT)


def test_a_type_that_recurs_is_checked_at_every_level() -> None:
    """§1: "a type recurs only through `list`, `map` or `?`"."""
    value: dict[str, Json] = {"leaves": [], "by": {}}
    for _ in range(5):
        value = {"leaves": [value], "by": {"k": value}}
    validator = PayloadValidator(Reference("Tree"), NAMED)
    assert validator.errors(value) == ()
    assert validator.errors({"leaves": [{"leaves": [{"by": {}}], "by": {}}], "by": {}}) == (
        "/leaves/0/leaves/0/leaves: is missing",
    )


def test_stored_times_have_one_form() -> None:
    """§1: "`timestamp` (RFC 3339), `duration` (ISO 8601 such as `PT30M`; `30m` is also read ...)"."""
    validator = PayloadValidator(Record((Field("at", TIMESTAMP), Field("wait", DURATION))), {})
    assert validator.normal({"at": "2030-01-01T02:00:00+02:00", "wait": "90m"}) == {
        "at": "2030-01-01T00:00:00Z",
        "wait": "PT1H30M",
    }


def test_a_declared_type_and_its_json_schema_take_the_same_values() -> None:
    validator = PayloadValidator(Reference("Person"), NAMED)
    assert validator.schema == json_schema(Reference("Person"), NAMED)
