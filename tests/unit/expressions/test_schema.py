"""JSON Schema of the language's types."""

from __future__ import annotations

from jsonschema_rs import Draft202012Validator

from strabo_runtime.expressions import json_schema
from strabo_runtime.expressions.types import (
    ANY,
    NUMBER,
    STRING,
    EnumOf,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Scalar,
)

NAMED = {
    "Node": Record((Field("next", OptionalOf(Reference("Node"))), Field("value", ANY))),
    "Alias": OptionalOf(STRING),
    "Unused": STRING,
}


def test_a_record_requires_its_fields_except_optional_ones_and_takes_no_others() -> None:
    schema = json_schema(
        Record((Field("a", STRING), Field("b", OptionalOf(NUMBER)), Field("c", Reference("Alias")))), NAMED
    )
    assert schema["required"] == ["a"]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["a", "b", "c"]


def test_an_open_record_takes_other_fields() -> None:
    assert "additionalProperties" not in json_schema(Record((), open=True), {})


def test_named_types_are_defined_once_and_only_where_they_are_reached() -> None:
    schema = json_schema(ListOf(Reference("Node")), NAMED)
    assert list(schema["$defs"]) == ["Node"]
    assert schema["items"] == {"$ref": "#/$defs/Node"}


def test_enums_maps_and_times_are_described() -> None:
    schema = json_schema(
        Record(
            (
                Field("e", EnumOf(("x", "y"))),
                Field("m", MapOf(NUMBER)),
                Field("t", Scalar("timestamp")),
                Field("d", Scalar("duration")),
            )
        ),
        {},
    )
    assert schema["properties"]["e"] == {"enum": ["x", "y"]}
    assert schema["properties"]["m"]["additionalProperties"]["type"] == "number"
    assert schema["properties"]["t"] == {"type": "string", "format": "date-time"}
    assert schema["properties"]["d"] == {"type": "string", "format": "duration"}


def test_the_schema_of_a_type_that_recurs_is_a_valid_schema() -> None:
    validator = Draft202012Validator(json_schema(Reference("Node"), NAMED))
    assert validator.is_valid({"value": None, "next": {"value": 1, "next": None}})
    assert not validator.is_valid({"next": {}})
