"""Types: "`schema:` instead of `payload:` takes JSON Schema 2020-12. ... Validation names every failing field"."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import ExpressionError, SchemaValidator, schema_faults
from strabo_runtime.expressions.types import Json

ORDER = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["id", "lines", "placed"],
    "properties": {
        "id": {"type": "string", "pattern": "^o-[0-9]+$"},
        "placed": {"type": "string", "format": "date-time"},
        "patience": {"type": "string", "format": "duration"},
        "note": {"type": "string"},
        "gift": {"type": ["boolean", "null"]},
        "count": {"type": "integer"},
        "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
    },
    "additionalProperties": False,
    "$defs": {
        "line": {
            "type": "object",
            "required": ["sku", "price"],
            "properties": {
                "sku": {"type": "string"},
                "price": {"type": "number", "minimum": 0},
                "tag": {"type": "string"},
            },
        }
    },
}
GOOD: dict[str, Json] = {
    "id": "o-1",
    "placed": "2030-01-01T01:00:00+01:00",
    "lines": [{"sku": "a", "price": 2, "colour": "red"}],
}


@pytest.fixture(scope="module")
def validator() -> SchemaValidator:
    return SchemaValidator(ORDER)


def test_a_valid_payload_has_no_errors_and_one_stored_form(validator: SchemaValidator) -> None:
    assert validator.errors(GOOD) == ()
    assert validator.normal({**GOOD, "note": None, "patience": "90m", "count": 3.0}) == {
        "id": "o-1",
        "placed": "2030-01-01T00:00:00Z",
        "lines": [{"sku": "a", "price": 2.0, "colour": "red"}],
        "patience": "PT1H30M",
        "count": 3,
    }


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"id": "x"}, '/id: "x" does not match "^o-[0-9]+$"'),
        ({"id": 1}, "/id: is not text"),
        ({"lines": []}, "/lines: [] has less than 1 item"),
        ({"lines": [{"sku": "a"}]}, "/lines/0/price: is missing"),
        ({"lines": [{"sku": "a", "price": -1}]}, "/lines/0/price: "),
        ({"placed": "yesterday"}, "/placed: is not an RFC 3339 timestamp such as 2030-01-01T00:05:00Z"),
        ({"placed": "2030-13-01T00:00:00Z"}, "/placed: is not an RFC 3339 timestamp"),
        ({"patience": "P1Y"}, "/patience: is not an ISO 8601 duration such as PT30M"),
        ({"a/b~c": 1}, "/a~1b~0c: is not a field of this type"),
        ({"count": 2**63}, "/count: is outside the range of its type"),
        ({"count": 1.5}, "/count: is not an integer"),
    ],
)
def test_a_failing_field_is_named_by_its_pointer(
    validator: SchemaValidator, changes: dict[str, Json], error: str
) -> None:
    (found,) = validator.errors({**GOOD, **changes})
    assert found.startswith(error)


def test_every_failing_field_is_named(validator: SchemaValidator) -> None:
    payload = {"id": "x", "lines": [{"sku": 1, "price": 1}, {"price": 2}], "count": 2**64, "patience": "P1M"}
    pointers = sorted(text.split(": ", 1)[0] for text in validator.errors(payload))  # type: ignore[arg-type]
    assert pointers == ["/count", "/id", "/lines/0/sku", "/lines/1/sku", "/patience", "/placed"]


def test_a_null_counts_as_missing_where_the_type_says_optional(validator: SchemaValidator) -> None:
    payload: dict[str, Json] = {
        **GOOD,
        "note": None,
        "gift": None,
        "lines": [{"sku": "a", "price": 1, "tag": None}],
    }
    assert validator.errors(payload) == ()
    normal: Any = validator.normal(payload)
    assert "note" not in normal
    assert "tag" not in normal["lines"][0]


def test_a_null_that_the_schema_requires_stays() -> None:
    nullable = {"type": ["string", "null"]}
    validator = SchemaValidator({"type": "object", "required": ["a"], "properties": {"a": nullable}})
    assert validator.errors({"a": None}) == ()
    assert validator.normal({"a": None}) == {"a": None}
    assert validator.errors({}) == ("/a: is missing",)


def test_a_null_of_what_is_required_is_an_error(validator: SchemaValidator) -> None:
    assert validator.errors({**GOOD, "id": None}) == ("/id: is not text",)


@pytest.mark.parametrize(
    "payload", [None, 1, "x", [], [None], {"lines": None}, {"lines": [3]}, {"lines": {"a": 1}}]
)
def test_any_json_is_judged_without_an_exception(validator: SchemaValidator, payload: Json) -> None:
    assert validator.errors(payload)


def test_a_payload_nested_without_end_is_an_error() -> None:
    deep: Json = []
    for _ in range(5_000):
        deep = [deep]
    assert SchemaValidator({}).errors(deep) == ("(payload): is nested more than 64 levels deep",)


def test_an_error_quotes_no_more_than_can_be_read() -> None:
    (error,) = SchemaValidator({"type": "string", "maxLength": 3}).errors("x" * 100_000)
    assert len(error) < 400


def test_the_schema_itself_is_told(validator: SchemaValidator) -> None:
    assert validator.schema == ORDER


# -- "a `$ref` elsewhere is refused": when the file loads, and nothing is ever fetched -------------------------------


@pytest.mark.parametrize(
    ("schema", "path", "says"),
    [
        ({"$ref": "http://example.com/x"}, ("$ref",), "only references inside the schema are followed"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, ("$ref",), "only references inside"),
        ({"$ref": "file:///etc/passwd"}, ("$ref",), "only references inside"),
        ({"items": {"$ref": "other.json#/a"}}, ("items", "$ref"), "$ref to other.json#/a"),
        (
            {"properties": {"$ref": {"anyOf": [{}, {"$dynamicRef": "http://x/y"}]}}},
            ("properties", "$ref", "anyOf", 1, "$dynamicRef"),
            "only references inside",
        ),
        ({"items": {"$ref": "#/$defs/gone"}}, ("items", "$ref"), "/$defs/gone"),
        ({"type": "strin"}, ("type",), '"strin" is no type: one of array, boolean'),
        ({"properties": {"a": {"minimum": "x"}}}, ("properties", "a", "minimum"), 'is not of type "number"'),
        ({"pattern": "("}, ("pattern",), 'is not a "regex"'),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",), "read as JSON Schema 2020-12"),
        ({"enum": "a"}, ("enum",), ""),
        (3, (), "a schema is an object, or true or false"),
        ({1: 2}, (), "the schema is not JSON"),
        ({"maximum": 2**70}, (), "the schema is not JSON"),
    ],
)
def test_what_is_wrong_with_a_schema_is_told_with_its_path(
    schema: Any, path: tuple[Any, ...], says: str
) -> None:
    (fault,) = schema_faults(schema)
    assert fault[0] == path
    assert says in fault[1]
    with pytest.raises(ExpressionError):
        SchemaValidator(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"const": {"$ref": "http://x/y"}},
        {"properties": {"$ref": {"type": "string"}}},
        {"unknown-keyword": {"$ref": "http://x/y"}},
        {"$ref": "#"},
        {"$anchor": "a", "items": {"$ref": "#a"}},
        {"$id": "http://a/b", "$ref": "c", "$defs": {"c": {"$id": "http://a/c", "type": "string"}}},
    ],
)
def test_what_is_no_reference_or_leads_inside_is_no_fault(schema: Any) -> None:
    assert schema_faults(schema) == []


def test_all_faults_are_told() -> None:
    assert len(schema_faults({"type": "x", "minimum": "y", "items": {"type": "z"}})) == 3


def test_a_schema_nested_without_end_is_a_fault() -> None:
    deep: dict[str, Any] = {}
    for _ in range(1_000):
        deep = {"not": deep}
    ((path, text),) = schema_faults(deep)
    assert path == ()
    assert "nested more than" in text
