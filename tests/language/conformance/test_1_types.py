"""The language's text, section 1, Types: what each type holds, what is refused, and how it is said."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from tests.language.conformance.driver import Run, errors_of, protocol, refusal, running

TYPED = """
protocol: Sample
version: "1"
participants: [{{name: Boss}}, {{name: Desk, played_by: engine}}]
types:
  Nothing: {{a: any?}}
{types}
message_types:
  Go: {{from: Boss, to: Desk, payload: {{n: integer}}}}
  Give:
    from: Boss
    to: Desk
{payload}
  Line: {{from: Boss, to: Desk, payload: {{name: string, price: number?}}}}
variables:
  out: any
{variables}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - from: idle
    trigger: {{message: Give}}
    actions: [{{set_variable: {{name: out, value: "{value}"}}}}]
  - {{from: idle, to: over, trigger: {{message: Line}}}}
"""


def text_of(payload: str, *, types: str = "", variables: str = "", value: str = "$message.payload") -> str:
    """A protocol whose message `Give` has this payload; the variable `out` gets the value."""
    return TYPED.format(
        payload=indent(payload, " " * 4),
        types=indent(types, "  "),
        variables=indent(variables, "  "),
        value=value,
    )


def given(payload: str, **more: str) -> Run:
    """An instance that takes the message `Give` with this payload."""
    return running("", head=text_of(payload, **more), named={})


def one_field(type_: str, **more: str) -> Run:
    """An instance that takes the message `Give` with the field `v` of this type."""
    return given(f"payload: {{v: '{type_}'}}", **more)


def errors(payload: str, **more: str) -> list[str]:
    """The codes of what is wrong with a protocol."""
    return [one.code for one in errors_of("", head=text_of(payload, **more))]


PERSON = "Person: {name: string, boss: Person?}\nShort: enum(a, b)\nAlias: list<integer>"


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("string", ["", "x", "1"], [1, None, True, [], {}]),
        ("integer", [0, -1, 2**63 - 1, -(2**63)], [2**63, -(2**63) - 1, 1.5, "1", True, None]),
        ("number", [0, 1.5, -1e300], ["1", True, None]),
        ("boolean", [True, False], [0, 1, "true", None]),
        ("object", [{}, {"a": [None, {"b": 1}]}], [[], "x", None, 1]),
        ("any", [None, 1, "x", [], {}, [None]], []),
        ("timestamp", ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.5+02:00"], ["2030-01-01", "soon", 5, None]),
        ("duration", ["PT30M", "30m", "P1DT2H", "P2W"], ["P1Y", "P1M", "P1Y2M", "long", 30, None]),
        ("list<integer>", [[], [1, 2]], [["x"], [None], {}, None, 1]),
        ("map<number>", [{}, {"any key": 1, "": 2.5}], [{"a": "x"}, {"a": None}, [], None]),
        ("enum(a, b)", ["a", "b"], ["c", "A", "", None]),
        ("Person", [{"name": "x"}, {"name": "x", "boss": {"name": "y"}}], [{}, {"name": "x", "boss": {}}, "x"]),
        ("Short", ["a"], ["c"]),
        ("Alias", [[1]], [["x"]]),
        ("Line", [{"name": "x"}, {"name": "x", "price": 2}], [{"price": 2}, {"name": "x", "size": 1}]),
        ("list<map<Line>>", [[{"k": {"name": "x"}}]], [[{"k": {}}], [[]]]),
        ("string?", ["x", None], [1]),
    ],
)  # fmt: skip
def test_a_type_takes_its_values_and_no_others(type_: str, good: list[Any], bad: list[Any]) -> None:
    """§1 Types: `string`, `integer`, `number` (double), `boolean`, `object`, `any`, `timestamp`, `duration`, ..."""
    run = one_field(type_, types=PERSON)
    for value in good:
        assert run.send("boss", "Give", {"v": value}).verdict == "taken", value
    for value in bad:
        made = run.send("boss", "Give", {"v": value})
        assert made.verdict == "rejected", value
        assert refusal(made).by == "schema"


def test_a_field_map_may_stand_in_another() -> None:
    """§1 Types: nested field maps."""
    run = given("payload: {at: {street: string, city: {name: string}}}")
    good = {"at": {"street": "x", "city": {"name": "y"}}}
    assert run.send("boss", "Give", good).verdict == "taken"
    assert "/at/city/name" in refusal(run.send("boss", "Give", {"at": {"street": "x", "city": {}}})).text


def test_a_question_mark_makes_it_optional() -> None:
    """§1 Types: and a trailing `?` for optional."""
    run = given("payload: {a: string, b: 'string?'}")
    assert run.send("boss", "Give", {"a": "x"}).verdict == "taken"
    assert refusal(run.send("boss", "Give", {"b": "x"})).by == "schema"


def test_a_number_is_a_double() -> None:
    """§1 Types: `number` (double)."""
    assert (
        one_field("number", value="${ message.payload.v / 2.0 }").send("boss", "Give", {"v": 3}).verdict
        == "taken"
    )
    assert "expression-type" in errors("payload: {v: number}", value="${ message.payload.v / 2 }")


def test_a_timestamp_is_a_point_in_time() -> None:
    """§1 Types: `timestamp` (RFC 3339)."""
    run = one_field("timestamp", value="${ message.payload.v == timestamp('2030-01-01T00:00:00Z') }")
    run.send("boss", "Give", {"v": "2030-01-01T02:00:00+02:00"})
    assert run.variables["out"] is True


@pytest.mark.parametrize("written", ["PT30M", "30m", "PT1800S", "0.5h"])
def test_a_duration_is_written_in_either_way(written: str) -> None:
    """§1 Types: `duration` (ISO 8601 such as `PT30M`; `30m` is also read)."""
    run = one_field("duration", value="${ message.payload.v == duration('1800s') }")
    assert run.send("boss", "Give", {"v": written}).verdict == "taken"
    assert run.variables["out"] is True


@pytest.mark.parametrize("written", ["P1Y", "P3M", "1y"])
def test_years_and_months_are_refused_in_the_file_too(written: str) -> None:
    """§1 Types: years and months refused."""
    assert errors("payload: {}", variables=f"d: {{type: duration, initial: {written}}}", value="x") != []


# -- schema -----------------------------------------------------------------------------------------------------------

SCHEMA = """
schema:
  type: object
  required: [text]
  properties:
    text: {type: string, minLength: 2}
    tags: {type: array, prefixItems: [{type: integer}], items: {type: string}}
  dependentRequired: {tags: [size]}
"""


def test_a_schema_stands_in_place_of_a_payload() -> None:
    """§1 Types: `schema:` instead of `payload:` takes JSON Schema 2020-12."""
    run = given(SCHEMA)
    for good in ({"text": "ab"}, {"text": "ab", "tags": [1, "x"], "size": 3}):
        assert run.send("boss", "Give", good).verdict == "taken"
    for bad in ({}, {"text": "a"}, {"text": "ab", "tags": ["x"], "size": 3}, {"text": "ab", "tags": [1]}):
        assert refusal(run.send("boss", "Give", bad)).by == "schema"


def test_a_payload_and_a_schema_exclude_each_other() -> None:
    """§1 Types: `schema:` instead of `payload:`."""
    assert "bad-combination" in errors("payload: {}\n" + SCHEMA.strip())


def test_a_schema_is_checked_when_the_file_loads() -> None:
    """§1 Types: takes JSON Schema 2020-12."""
    assert "bad-schema" in errors("schema: {type: txt}")


def test_a_schema_names_every_failing_field() -> None:
    """§1 Types: validation names every failing field by JSON pointer."""
    text = refusal(given(SCHEMA).send("boss", "Give", {"text": "a", "tags": [1, 2], "size": 1})).text
    assert "/text" in text
    assert "/tags/1" in text


# -- unknown fields, pointers, null -----------------------------------------------------------------------------------


def test_unknown_fields_are_refused() -> None:
    """§1 Types: unknown fields of a payload are refused."""
    made = given("payload: {a: string}").send("boss", "Give", {"a": "x", "b": 1})
    assert refusal(made).by == "schema"
    assert "/b" in refusal(made).text


def test_unknown_fields_are_taken_where_the_payload_is_open() -> None:
    """§1 Types: unknown fields ... are refused unless `open: true`."""
    run = given("payload: {a: string}\nopen: true")
    assert run.send("boss", "Give", {"a": "x", "b": 1}).verdict == "taken"
    assert run.variables["out"] == {"a": "x", "b": 1}


def test_unknown_fields_are_taken_where_a_type_is_open() -> None:
    """§1 Types: unknown fields ... are refused unless `open: true`."""
    run = one_field("Loose", types="Loose: {a: string, open: true}")
    assert run.send("boss", "Give", {"v": {"a": "x", "b": 1}}).verdict == "taken"


def test_every_failing_field_is_named() -> None:
    """§1 Types: validation names every failing field by JSON pointer."""
    run = given("payload: {n: integer, lines: list<Line>, by: map<integer>, missing: string}")
    text = refusal(
        run.send(
            "boss", "Give", {"n": "x", "a/b": 1, "lines": [{"name": "x"}, {"name": 1}], "by": {"~": "x"}}
        )
    ).text
    for pointer in ("/n", "/a~1b", "/lines/1/name", "/by/~0", "/missing"):
        assert pointer in text


def test_an_optional_field_given_as_null_counts_as_missing() -> None:
    """§1 Types: an optional field given as null counts as missing."""
    run = given(
        "payload: {a: 'string?', b: 'Line?'}", value="${ has(message.payload.a) || has(message.payload.b) }"
    )
    run.send("boss", "Give", {"a": None, "b": None})
    assert run.variables["out"] is False
    run.send("boss", "Give", {"a": ""})
    assert run.variables["out"] is True


# -- untyped ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", ["object", "any"])
def test_numbers_inside_what_is_untyped_are_doubles(type_: str) -> None:
    """§1 Types: numbers inside `object` and `any` are doubles to an expression."""
    halved = one_field(type_, value="${ double(message.payload.v.n) / 2.0 }")
    assert halved.send("boss", "Give", {"v": {"n": 3}}).verdict == "taken"
    assert halved.variables["out"] == 1.5
    mixed = one_field(type_, value="${ message.payload.v.n + 0.5 }")
    mixed.send("boss", "Give", {"v": {"n": 3}})
    assert mixed.variables["out"] == 3.5


def test_a_bare_path_copies_stored_json_unchanged() -> None:
    """§1 Types: a template that is a bare path copies stored JSON unchanged."""
    stored = {"n": 9007199254740993, "deep": [1, 2.5, None, {"x": True}]}
    for value in ("$message.payload.v", "${ message.payload.v }"):
        run = one_field("object", value=value)
        run.send("boss", "Give", {"v": stored})
        assert run.variables["out"] == stored
        assert isinstance(run.variables["out"]["n"], int)


def test_an_integer_is_64_bit_in_expressions() -> None:
    """§1 Types: `integer` is 64-bit."""
    run = one_field("integer", value="${ message.payload.v + 1 }")
    assert run.send("boss", "Give", {"v": 2**63 - 2}).verdict == "taken"
    assert run.variables["out"] == 2**63 - 1
    assert run.send("boss", "Give", {"v": 2**63 - 1}).verdict == "failed"


def test_any_takes_null() -> None:
    """§1 Types: `any` takes null."""
    run = one_field("any")
    assert run.send("boss", "Give", {"v": None}).verdict == "taken"


# -- recursion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "types",
    ["T: {next: T?}", "T: {parts: list<T>}", "T: {by: map<T>}", "T: {u: U}\nU: {t: T?}"],
)
def test_a_type_recurs_through_list_map_and_optional(types: str) -> None:
    """§1 Types: a type recurs only through `list`, `map` or `?`."""
    assert errors("payload: {}", types=types, value="x") == []


@pytest.mark.parametrize("types", ["T: {next: T}", "T: T", "T: {u: U}\nU: {t: T}", "T: {a: {b: T}}"])
def test_a_type_recurs_through_nothing_else(types: str) -> None:
    """§1 Types: a type recurs only through `list`, `map` or `?`."""
    assert "recursive-type" in errors("payload: {}", types=types, value="x")


# -- short forms ------------------------------------------------------------------------------------------------------


def test_a_variable_may_be_written_as_its_type() -> None:
    """§1 Types: `inputs` and `variables` may be written `name: type`."""
    run = given("payload: {}", variables="note: string?", value="x")
    assert run.variables["note"] is None


def test_an_input_may_be_written_as_its_type() -> None:
    """§1 Types: `inputs` and `variables` may be written `name: type`."""
    text = "inputs: {size: integer}\n" + text_of("payload: {}", value="x")
    run = Run(protocol("", head=text))
    assert refusal(run.start(inputs={"size": "x"})).by == "schema"
    assert run.start(inputs={"size": 1}).verdict == "taken"


@pytest.mark.parametrize(
    "type_", ["strng", "list<strng>", "Persn", "list<", "enum()", "integer??", "map<a, b>"]
)
def test_a_type_that_does_not_exist_is_an_error(type_: str) -> None:
    """§1 Types: the list of types is all there is."""
    assert errors(f"payload: {{v: '{type_}'}}", types=PERSON) != []
