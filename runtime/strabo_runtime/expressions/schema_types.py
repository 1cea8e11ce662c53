"""What expressions can know of the values that a JSON Schema describes: the type derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strabo_runtime.expressions.schema_parts import Addresses
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

_MOST_PARTS = 5_000
"""Parts of a schema that are looked at: references may repeat one part without end."""

_DEEPEST = 32
_MOST_VALUES = 100
"""Values of an enum; a longer one is text."""

_BOUNDS_OF_TEXT = ("pattern", "minLength", "maxLength", "enum", "const")
_TIMES: Final = {"date-time": TIMESTAMP, "duration": DURATION}


def schema_type(schema: Any) -> Type:
    """The type of a schema's values, as far as it can be known; `any` where nothing is.

    Every value that is valid for the schema is one of the type (but for integers beyond 64 bits, and durations in years
    or months): a part of the schema that the type cannot say widens it, never narrows it.
    """
    found = _Derivation(schema).of(schema, 0)
    return ANY if found.nullable else found.type


@dataclass(frozen=True, slots=True)
class _Found:
    """A type, and whether null is among the values."""

    type: Type
    nullable: bool = False


_UNKNOWN = _Found(ANY)


class _Derivation:
    def __init__(self, root: Any) -> None:
        self._addresses = Addresses(root)
        self._parts = 0

    def of(self, schema: Any, depth: int) -> _Found:
        self._parts += 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._parts > _MOST_PARTS:
            return _UNKNOWN
        if "enum" in schema or "const" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            if isinstance(values, list):
                return _of_values(values)
        kinds = schema.get("type")
        if kinds is not None:
            return self._of_kinds([kinds] if isinstance(kinds, str) else kinds, schema, depth)
        if isinstance(schema.get("$ref"), str):
            return self.of(self._addresses.target(schema, schema["$ref"]), depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                return self._alternatives(schema[keyword], depth)
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            return self.of(parts[0], depth + 1)
        return _UNKNOWN

    def _of_kinds(self, kinds: Any, schema: Mapping[str, Any], depth: int) -> _Found:
        if not isinstance(kinds, list):
            return _UNKNOWN
        named = [kind for kind in kinds if kind != "null"]
        nullable = len(named) < len(kinds)
        if set(named) == {"integer", "number"}:
            named = ["number"]
        if len(named) != 1:
            return _UNKNOWN
        return _Found(self._of_kind(named[0], schema, depth), nullable)

    def _of_kind(self, kind: Any, schema: Mapping[str, Any], depth: int) -> Type:
        match kind:
            case "string":
                return _text(schema)
            case "integer":
                return INTEGER
            case "number":
                return NUMBER
            case "boolean":
                return BOOLEAN
            case "array":
                return ListOf(self._items(schema, depth))
            case "object":
                return self._object(schema, depth)
        return ANY

    def _items(self, schema: Mapping[str, Any], depth: int) -> Type:
        if "prefixItems" in schema or "items" not in schema:
            return ANY
        found = self.of(schema["items"], depth + 1)
        return ANY if found.nullable else found.type

    def _object(self, schema: Mapping[str, Any], depth: int) -> Type:
        properties = schema.get("properties")
        others = schema.get("additionalProperties", True)
        patterns = "patternProperties" in schema
        if not isinstance(properties, dict) or not properties:
            if isinstance(others, dict) and others and not patterns:
                found = self.of(others, depth + 1)
                return MapOf(ANY if found.nullable else found.type)
            return OBJECT
        required = schema.get("required", [])
        fields = []
        for name, part in properties.items():
            found = self.of(part, depth + 1)
            if name not in required:
                fields.append(Field(name, OptionalOf(found.type)))
            else:
                # A null that must be there is a value, not a missing field.
                fields.append(Field(name, ANY if found.nullable else found.type))
        return Record(tuple(fields), open=others is not False or patterns)

    def _alternatives(self, parts: Sequence[Any], depth: int) -> _Found:
        """What all alternatives have in common: `anyOf` of one type and null is how many tools write an optional."""
        found = [self.of(part, depth + 1) for part in parts if part != {"type": "null"}]
        nullable = len(found) < len(parts) or any(each.nullable for each in found)
        if found and all(each.type == found[0].type for each in found):
            return _Found(found[0].type, nullable)
        return _UNKNOWN


def _text(schema: Mapping[str, Any]) -> Type:
    # Times are brought into one form, in which they might no longer match a pattern.
    if any(name in schema for name in _BOUNDS_OF_TEXT):
        return STRING
    return _TIMES.get(schema.get("format", ""), STRING)


def _of_values(values: Sequence[Any]) -> _Found:
    """The type of an enum's values."""
    some = [value for value in values if value is not None]
    nullable = len(some) < len(values)
    kinds = {type(value) for value in some}
    if kinds == {str}:
        texts = tuple(dict.fromkeys(some))
        return _Found(EnumOf(texts) if len(texts) <= _MOST_VALUES else STRING, nullable)
    if kinds == {bool}:
        return _Found(BOOLEAN, nullable)
    if kinds == {int}:
        return _Found(INTEGER, nullable)
    if kinds and kinds <= {int, float}:
        return _Found(NUMBER, nullable)
    return _UNKNOWN
