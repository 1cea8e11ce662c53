"""Types: what expressions know of a `schema:` payload."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strabo_runtime.expressions import PayloadValidator, SchemaValidator, schema_type
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
    Type,
)

A_STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, STRING),
        ({"type": "integer"}, INTEGER),
        ({"type": "number"}, NUMBER),
        ({"type": "boolean"}, BOOLEAN),
        ({"type": ["integer", "number"]}, NUMBER),
        ({"type": "null"}, ANY),
        ({"type": ["string", "null"]}, ANY),
        ({"type": ["string", "integer"]}, ANY),
        ({}, ANY),
        (True, ANY),
        (False, ANY),
        ({"type": "string", "format": "date-time"}, TIMESTAMP),
        ({"type": "string", "format": "duration"}, DURATION),
        ({"type": "string", "format": "email"}, STRING),
        ({"format": "date-time"}, ANY),
        ({"type": "string", "format": "date-time", "pattern": "Z$"}, STRING),
        ({"type": "string", "format": "duration", "maxLength": 5}, STRING),
        ({"type": "string", "enum": ["a", "b"]}, EnumOf(("a", "b"))),
        ({"enum": ["a", "b"]}, EnumOf(("a", "b"))),
        ({"enum": ["a", None]}, ANY),
        ({"enum": [1, 2]}, INTEGER),
        ({"enum": [1, 2.5]}, NUMBER),
        ({"enum": [1, "a"]}, ANY),
        ({"enum": [True]}, BOOLEAN),
        ({"enum": [f"v{n}" for n in range(101)]}, STRING),
        ({"const": "a"}, EnumOf(("a",))),
        ({"type": "array"}, ListOf(ANY)),
        ({"type": "array", "items": A_STRING}, ListOf(STRING)),
        ({"type": "array", "items": {"type": ["string", "null"]}}, ListOf(ANY)),
        ({"type": "array", "items": A_STRING, "prefixItems": [{"type": "integer"}]}, ListOf(ANY)),
        ({"type": "object"}, OBJECT),
        ({"type": "object", "additionalProperties": False}, OBJECT),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, MapOf(INTEGER)),
        (
            {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "patternProperties": {"^x": A_STRING},
            },
            OBJECT,
        ),
        ({"properties": {"a": A_STRING}}, ANY),
        (
            {"type": "object", "properties": {"a": A_STRING, "b": {"type": "integer"}}, "required": ["a"]},
            Record((Field("a", STRING), Field("b", OptionalOf(INTEGER))), open=True),
        ),
        (
            {
                "type": "object",
                "properties": {"a": A_STRING},
                "required": ["a"],
                "additionalProperties": False,
            },
            Record((Field("a", STRING),)),
        ),
        (
            {
                "type": "object",
                "properties": {"a": A_STRING},
                "additionalProperties": False,
                "patternProperties": {"^x": A_STRING},
            },
            Record((Field("a", OptionalOf(STRING)),), open=True),
        ),
        (
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
            Record((Field("a", ANY),), open=True),
        ),
        (
            {"type": "object", "properties": {"a": {"anyOf": [A_STRING, {"type": "null"}]}}},
            Record((Field("a", OptionalOf(STRING)),), open=True),
        ),
        ({"oneOf": [A_STRING, A_STRING]}, STRING),
        ({"anyOf": [A_STRING, {"type": "integer"}]}, ANY),
        ({"allOf": [A_STRING]}, STRING),
        ({"allOf": [A_STRING, {"minLength": 1}]}, ANY),
        ({"$ref": "#/$defs/a", "$defs": {"a": A_STRING}}, STRING),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": A_STRING}}, STRING),
        ({"$ref": "#anchor", "$defs": {"a": {"$anchor": "anchor", **A_STRING}}}, STRING),
        ({"$ref": "#/$defs/gone"}, ANY),
    ],
)
def test_a_schema_has_a_type(schema: Any, type_: Type) -> None:
    assert schema_type(schema) == type_


def test_a_schema_that_recurs_is_untyped_where_it_goes_on() -> None:
    tree = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}}}
    type_ = schema_type(tree)
    assert isinstance(type_, Record)
    depth = 0
    while isinstance(type_, Record):
        following = next(field.type for field in type_.fields if field.name == "next")
        assert isinstance(following, OptionalOf)
        type_, depth = following.of, depth + 1
    assert type_ == ANY
    assert depth < 50


def test_a_schema_that_doubles_at_every_reference_has_a_type_all_the_same() -> None:
    definitions: dict[str, Any] = {"d0": A_STRING}
    for n in range(1, 40):
        reference = {"$ref": f"#/$defs/d{n - 1}"}
        definitions[f"d{n}"] = {"type": "object", "properties": {"a": reference, "b": reference}}
    assert isinstance(schema_type({"$ref": "#/$defs/d39", "$defs": definitions}), Record)


# -- every value that a schema takes is one of its type --------------------------------------------------------------

leaves = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["a", "b"]},
        {"enum": ["a", None]},
        {"enum": [1, 2]},
        {"const": "a"},
        {"type": ["string", "null"]},
        {},
        True,
        {"minimum": 1},
    ]
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from(["a", "b"]), unique=True)
    properties = st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    objects = st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": properties,
            "required": names,
            "additionalProperties": st.one_of(st.booleans(), inner),
            "patternProperties": st.fixed_dictionaries({"^b": inner}),
        },
    )
    lists = st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={"items": inner, "prefixItems": st.lists(inner, min_size=1, max_size=2)},
    )
    several = st.lists(inner, min_size=1, max_size=2)
    combined = st.sampled_from(["anyOf", "oneOf", "allOf"]).flatmap(
        lambda keyword: several.map(lambda parts: {keyword: parts})
    )
    return st.one_of(objects, lists, combined, st.tuples(objects, combined).map(lambda p: {**p[0], **p[1]}))


schemas = st.recursive(leaves, _nested, max_leaves=6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 2.0])
    | st.sampled_from(["a", "b", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(schemas, values)
def test_every_value_that_a_schema_takes_is_one_of_its_type(schema: Any, value: Any) -> None:
    validator = SchemaValidator(schema)
    if validator.errors(value):
        return
    stored = validator.normal(value)
    assert PayloadValidator(schema_type(schema), {}).errors(stored) == ()
    assert validator.errors(stored) == ()
    assert validator.normal(stored) == stored
