"""A schema that would hold a worker for hours is refused; those that people write are not."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import Context, EvaluationError, SchemaValidator, schema_faults
from strabo_runtime.expressions.schema_cost import SchemaCost
from strabo_runtime.expressions.types import Json

LIST = {"type": "object", "properties": {"value": {}, "next": {"$ref": "#"}}, "unevaluatedProperties": False}
TREE = {
    "properties": {
        "left": {"$ref": "#"},
        "right": {"$ref": "#"},
        "items": {"type": "array", "items": {"$ref": "#"}},
    }
}
SYNTAX = {
    "anyOf": [
        {"$ref": "#/$defs/number"},
        {"$ref": "#/$defs/sum"},
        {"$ref": "#/$defs/product"},
    ],
    "$defs": {
        "number": {"type": "number"},
        "sum": {"properties": {"kind": {"const": "sum"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        "product": {
            "properties": {"kind": {"const": "product"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}
        },
    },
}
TWICE = {"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}


def nested(depth: int, field: str = "a") -> Json:
    value: Json = "x"
    for _ in range(depth):
        value = {field: value}
    return value


def doubling(times: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {"d0": {"type": "integer"}}
    for number in range(1, times + 1):
        reference = {"$ref": f"#/$defs/d{number - 1}"}
        definitions[f"d{number}"] = {"anyOf": [reference, reference]}
    return {"$ref": f"#/$defs/d{times}", "$defs": definitions}


def unevaluated(times: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"properties": {"a": {}}}
    for _ in range(times):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


@pytest.mark.parametrize("schema", [doubling(40), unevaluated(20), doubling(900)])
def test_a_schema_that_doubles_in_place_is_no_schema(world: Any, schema: Any) -> None:
    ((path, text),) = schema_faults(schema)
    assert path == ()
    assert "might take hours" in text
    assert world.value("is_schema(extra)", extra=schema) is False


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (LIST, nested(60, "next")),
        (TREE, nested(60, "left")),
        (TREE, {"items": [{"items": [1] * 1_000}] * 5}),
        (SYNTAX, nested(10, "left")),
        (TWICE, nested(10)),
        (doubling(10), "x"),
        (unevaluated(5), {"a": 1}),
        ({"items": {"enum": list(range(1_000))}}, list(range(10_000))),
    ],
)
def test_what_people_write_is_checked(schema: Any, value: Json) -> None:
    assert schema_faults(schema) == []
    assert SchemaCost(schema).is_bearable(value)
    SchemaValidator(schema).errors(value)


def test_a_value_that_goes_too_deep_into_alternatives_is_refused(world: Any) -> None:
    assert SchemaValidator(TWICE).errors(nested(40)) == (
        "(payload): is so large and nested so deep that checking it might take hours",
    )
    with pytest.raises(EvaluationError, match="checking this value against this schema might take hours"):
        expression = world.environment.expression("schema_errors(extra.value, extra.schema)", Context())
        expression.evaluate(world.scope(extra={"schema": TWICE, "value": nested(40)}))


def test_references_by_anchor_and_by_address_are_followed() -> None:
    anchored = {"$anchor": "top", "anyOf": [{"properties": {"a": {"$ref": "#top"}}}] * 2}
    addressed = {"$id": "http://a/b", "anyOf": [{"properties": {"a": {"$ref": "b"}}}] * 2}
    dynamic = {"$dynamicAnchor": "top", "anyOf": [{"properties": {"a": {"$dynamicRef": "#top"}}}] * 2}
    for schema in (anchored, addressed, dynamic):
        assert not SchemaCost(schema).is_bearable(nested(40))
        assert SchemaCost(schema).is_bearable(nested(5))
