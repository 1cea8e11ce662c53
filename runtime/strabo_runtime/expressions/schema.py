"""JSON Schema (2020-12) of the language's types."""

from __future__ import annotations

from typing import Any, TypeAlias

from strabo_runtime.expressions.resolution import resolve
from strabo_runtime.expressions.types import (
    EnumOf,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    ScalarName,
    Type,
)

Schema: TypeAlias = dict[str, Any]

SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1
LARGEST_NUMBER = 1.7976931348623157e308
"""The largest finite double; a larger JSON number has no value in an expression."""

_SCALARS: dict[ScalarName, Schema] = {
    "string": {"type": "string"},
    "integer": {"type": "integer", "minimum": SMALLEST_INTEGER, "maximum": LARGEST_INTEGER},
    "number": {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "any": {},
    "timestamp": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "format": "duration"},
}


def json_schema(type_: Type, named: NamedTypes) -> Schema:
    """The schema of a type, with the named types that it reaches under `$defs`."""
    definitions: dict[str, Schema] = {}
    schema = _schema(type_, named, definitions)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    if definitions:
        whole["$defs"] = {name: definitions[name] for name in sorted(definitions)}
    return whole


def _schema(type_: Type, named: NamedTypes, definitions: dict[str, Schema]) -> Schema:
    match type_:
        case Scalar(name):
            return dict(_SCALARS[name])
        case EnumOf(values):
            return {"enum": list(values)}
        case ListOf(item):
            return {"type": "array", "items": _schema(item, named, definitions)}
        case MapOf(value):
            return {"type": "object", "additionalProperties": _schema(value, named, definitions)}
        case OptionalOf(of):
            return {"anyOf": [_schema(of, named, definitions), {"type": "null"}]}
        case Reference(name):
            if name not in definitions:
                definitions[name] = {}
                definitions[name] = _schema(named[name], named, definitions)
            return {"$ref": f"#/$defs/{name}"}
        case Record(fields, is_open):
            schema: Schema = {
                "type": "object",
                "properties": {field.name: _schema(field.type, named, definitions) for field in fields},
            }
            required = [
                field.name for field in fields if not isinstance(resolve(field.type, named), OptionalOf)
            ]
            if required:
                schema["required"] = required
            if not is_open:
                schema["additionalProperties"] = False
            return schema
