"""Random values of a JSON Schema, for payloads that are declared by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from strabo_runtime.expressions.types import Json
from strabo_runtime.simulator.patterns import matching_text

_DEEPEST = 4
_HOPELESS = 40
"""So deep, a schema that asks for more is given nothing: it may ask for a value without end."""

_LARGEST = 5_000
"""Values within one."""

_KINDS = ("string", "integer", "number", "boolean", "object", "array")


class SchemaValues:
    """Makes values. They keep to what is commonly written; whether one is valid is for a validator to say.

    `text` makes a text for the field of a name; `fullness` is how likely an optional field is given.
    """

    def __init__(
        self, random: Random, schema: Any, text: Callable[[str], str], fullness: float = 0.5
    ) -> None:
        self._random = random
        self._root = schema
        self._text = text
        self._fullness = fullness
        self._made = 0

    def make(self) -> Json:
        """A value of the whole schema; not a valid one where only endless or very large ones would be."""
        self._made = 0
        return self._make(self._root, "", 0)

    def _make(self, schema: Any, name: str, depth: int) -> Json:
        random = self._random
        self._made += 1
        if depth > _HOPELESS or self._made > _LARGEST:
            return None
        if not isinstance(schema, Mapping):
            return self._text(name)
        if "$ref" in schema:
            return self._make(self._target(str(schema["$ref"])), name, depth + 1)
        if "const" in schema:
            return _json(schema["const"])
        if schema.get("enum"):
            return _json(random.choice(list(schema["enum"])))
        for key in ("oneOf", "anyOf"):
            choices = schema.get(key)
            if isinstance(choices, Sequence) and choices:
                return self._make({**_without(schema, key), **_object(random.choice(choices))}, name, depth)
        if isinstance(schema.get("allOf"), Sequence):
            whole: dict[str, Any] = _without(schema, "allOf")
            for part in schema["allOf"]:
                whole = _merged(whole, _object(part))
            return self._make(whole, name, depth)
        return self._of_kind(self._kind(schema), schema, name, depth)

    def _kind(self, schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, str):
            return kind
        if isinstance(kind, Sequence) and kind:
            return str(self._random.choice(list(kind)))
        if "properties" in schema or "required" in schema or "additionalProperties" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        if "minimum" in schema or "maximum" in schema:
            return "number"
        return self._random.choice(_KINDS) if "pattern" not in schema else "string"

    def _of_kind(self, kind: str, schema: Mapping[str, Any], name: str, depth: int) -> Json:
        match kind:
            case "null":
                return None
            case "boolean":
                return self._random.random() < 0.5
            case "integer":
                return self._integer(schema)
            case "number":
                low, high = _bounds(schema)
                return round(low + self._random.random() * (high - low), 2)
            case "array":
                return self._list(schema, name, depth)
            case "object":
                return self._fields(schema, depth)
            case _:
                return self._string(schema, name)

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low, high = _bounds(schema)
        step = schema.get("multipleOf")
        value = self._random.randint(int(low), max(int(low), int(high)))
        return value - value % step if isinstance(step, int) and step > 0 else value

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        match schema.get("format"):
            case "date-time":
                return f"2030-01-{self._random.randint(1, 28):02}T12:00:00Z"
            case "date":
                return f"2030-01-{self._random.randint(1, 28):02}"
            case "duration":
                return f"PT{self._random.randint(1, 90)}M"
            case "email":
                return f"{self._text('user')}@example.org"
            case "uri" | "uri-reference":
                return f"https://example.org/{self._random.randint(1, 99)}"
            case "uuid":
                return f"{self._random.getrandbits(32):08x}-0000-4000-8000-000000000000"
        pattern = schema.get("pattern")
        text = matching_text(pattern, self._random) if isinstance(pattern, str) else self._text(name)
        shortest = schema.get("minLength", 0)
        if isinstance(shortest, int) and len(text) < shortest:
            text = text.ljust(min(shortest, 10_000), "x")
        longest = schema.get("maxLength")
        return text[:longest] if isinstance(longest, int) else text

    def _list(self, schema: Mapping[str, Any], name: str, depth: int) -> Json:
        first = [self._make(item, name, depth + 1) for item in schema.get("prefixItems", ())]
        low = int(schema.get("minItems", 0))
        high = int(schema.get("maxItems", low + 2))
        count = low if depth > _DEEPEST else self._random.randint(low, max(low, min(high, low + 3)))
        count = min(count, _LARGEST)
        rest = [self._make(schema.get("items", {}), name, depth + 1) for _ in range(count - len(first))]
        return [*first, *rest]

    def _fields(self, schema: Mapping[str, Any], depth: int) -> Json:
        required = set(schema.get("required", ()))
        known = schema.get("properties", {})
        made: dict[str, Json] = {}
        for name, inner in known.items():
            if name in required or (depth <= _DEEPEST and self._random.random() < self._fullness):
                made[name] = self._make(inner, name, depth + 1)
        for name in required - set(known):
            made[name] = self._text(name)
        return made

    def _target(self, reference: str) -> Any:
        """What a reference within the schema points at."""
        found: Any = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            if part:
                key = part.replace("~1", "/").replace("~0", "~")
                found = found.get(key, {}) if isinstance(found, Mapping) else {}
        return found


def _bounds(schema: Mapping[str, Any]) -> tuple[float, float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    lowest = float(low) if isinstance(low, int | float) else min(0.0, float(high or 0) - 20.0)
    if "exclusiveMinimum" in schema:
        lowest += 1
    highest = float(high) if isinstance(high, int | float) else lowest + 20.0
    if "exclusiveMaximum" in schema:
        highest -= 1
    return lowest, max(lowest, highest)


def _object(schema: Any) -> dict[str, Any]:
    return dict(schema) if isinstance(schema, Mapping) else {}


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both of two schemas at once, as far as their fields go."""
    properties = {**one.get("properties", {}), **other.get("properties", {})}
    required = [*one.get("required", ()), *other.get("required", ())]
    merged = {**one, **other}
    if properties:
        merged["properties"] = properties
    if required:
        merged["required"] = required
    return merged


def _json(value: Any) -> Json:
    found: Json = value
    return found
