"""Random values: valid ones, of types and of JSON Schemas, drawn towards what conditions ask."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from strabo_runtime.expressions import PayloadValidator, SchemaValidator
from strabo_runtime.expressions.types import INTEGER, STRING, Field, Json, Record
from strabo_runtime.language import load
from strabo_runtime.simulator.hints import Hints, hints_of
from strabo_runtime.simulator.patterns import matching_text
from strabo_runtime.simulator.payloads import Payloads, Writer
from strabo_runtime.simulator.schema_values import SchemaValues

WRITER = Writer("w", "Worker", 0, {"wanted": "this one", "message": {"from": "w"}, "known": ["a", "b"]})


def made(kind: Any, hints: Hints, count: int = 40) -> list[Json]:
    payloads = Payloads(Random(1), {}, hints)
    return [payloads.make(kind, WRITER, "field") for _ in range(count)]


def test_a_field_gets_the_literals_that_it_is_compared_with() -> None:
    assert "yes" in made(STRING, Hints({"field": ("yes",)}))


def test_a_field_gets_the_values_of_variables_that_it_is_compared_with() -> None:
    assert "this one" in made(STRING, Hints(paths={"field": (("wanted",),)}))


def test_a_field_compared_with_a_list_gets_one_of_its_items() -> None:
    assert {"a", "b"} <= set(made(STRING, Hints(paths={"field": (("known",),)})))  # type: ignore[arg-type]


def test_a_number_is_near_what_it_is_compared_with() -> None:
    values = made(INTEGER, Hints({"field": (1000,)}))
    assert {999, 1000, 1001} <= set(values)  # type: ignore[arg-type]


def test_a_hint_of_another_type_is_no_value() -> None:
    kind = Record((Field("field", INTEGER),))
    validator = PayloadValidator(kind, {})
    payloads = Payloads(Random(1), {}, Hints({"field": ("text",)}))
    assert all(validator.errors(payloads.make(kind, WRITER)) == () for _ in range(30))


HINTED = """
protocol: Hinted
version: "1"
participants: [{name: A}, {name: D, played_by: engine}]
message_types:
  Go: {from: A, to: D, payload: {kind: string, round: integer, id: string, sender: string, level: string}}
variables: {rounds: {type: list<integer>, initial: []}, known: {type: string, initial: x}}
states: [idle, {name: done, final: success}]
transitions:
  - from: idle
    to: done
    trigger: {message: Go}
    condition: message.payload.kind == 'big' && (message.payload.id == known || message.payload.round > 2)
constraints:
  - {name: a, enforced_on: Go, expression: message.payload.round == rounds.size() + 1}
  - {name: b, enforced_on: Go, expression: message.payload.sender == message.from}
  - {name: c, enforced_on: Go, expression: "message.payload.level in ['low', 'high']"}
  - {name: d, enforced_on: Go, expression: message.payload.kind != ''}
"""


def test_hints_are_read_off_conditions_and_constraints() -> None:
    machine = load(HINTED, filename="hinted.yaml").machine
    assert machine is not None
    hints = hints_of(machine)
    assert hints.literals == {"kind": ("big",), "round": (2,), "level": ("low", "high")}
    assert hints.paths["id"] == (("known",),)
    assert hints.paths["sender"] == (("message", "from"),)
    assert [one.text for one in hints.expressions["round"]] == ["rounds.size() + 1"]


@pytest.mark.parametrize(
    "pattern",
    [
        "^https://",
        "^[a-z]{3}$",
        "^[A-Z][a-z0-9_-]*$",
        r"^\d{4}-\d{2}$",
        "^(red|green|blue)$",
        "^a+b?c*$",
        r"^\w+@\w+\.org$",
        "^(?:x|y){2,3}z$",
        "^[^a]$",
        "^[]a]$",
        r"^\$\{x\}$",
        "plain",
        "^a.c$",
        "",
    ],
)
def test_a_made_text_matches_its_pattern(pattern: str) -> None:
    for seed in range(20):
        assert re.search(pattern, matching_text(pattern, Random(seed))), pattern


@pytest.mark.parametrize("pattern", ["(", "[", "a{", "\\", ")", "a**", "[a-", "(?", "{2}", "[z-a]", "(?<n"])
def test_a_pattern_that_cannot_be_read_still_gives_text(pattern: str) -> None:
    assert isinstance(matching_text(pattern, Random(1)), str)


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "integer", "minimum": 5, "maximum": 9}},
        },
        {"type": "array", "minItems": 2, "maxItems": 4, "items": {"enum": ["x", "y"]}},
        {"type": "string", "minLength": 3, "maxLength": 6},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "duration"},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "integer", "multipleOf": 5},
        {"const": 7},
        {"oneOf": [{"type": "string"}, {"type": "boolean"}]},
        {
            "allOf": [
                {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
                {"required": ["b"]},
            ]
        },
        {
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {
                    "type": "object",
                    "required": ["next"],
                    "properties": {"next": {"type": ["string", "null"]}},
                }
            },
        },
        {"type": ["null", "boolean"]},
        {"items": {"type": "integer"}},
        {"properties": {"a": {"type": "boolean"}}},
        {},
        True,
    ],
)
def test_values_of_a_json_schema_are_valid(schema: Any) -> None:
    validator = SchemaValidator(schema)
    values = SchemaValues(Random(2), schema, lambda name: name or "text")
    assert [validator.errors(values.make()) for _ in range(20)] == [()] * 20


def test_a_schema_that_recurs_gives_values_of_bounded_depth() -> None:
    schema = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
    }
    assert SchemaValues(Random(1), schema, str, 0.95).make() is not None
