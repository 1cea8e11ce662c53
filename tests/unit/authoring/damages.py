"""Ways through a schema beside a document, and the damages by which schemas are compared with readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.unit.authoring.documents import Way, ways_of

SHAPE = {
    "wrong-type",
    "unknown-key",
    "missing-key",
    "bad-value",
    "bad-combination",
    "bad-name",
    "bad-type",
    "reserved-name",
}
"""The codes of what a schema can find."""


def objects(schema: Any, whole: Any) -> Iterator[dict[str, Any]]:
    """The forms of a mapping that a schema allows."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from objects(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    for alternative in schema.get("anyOf", ()):
        yield from objects(alternative, whole)
    if schema.get("type") == "object":
        yield schema


def lists(schema: Any, whole: Any) -> Iterator[Any]:
    """What the items of a list may be."""
    if "$ref" in schema:
        yield from lists(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    for alternative in schema.get("anyOf", ()):
        yield from lists(alternative, whole)
    if schema.get("type") == "array":
        yield schema["items"]


def forms_at(whole: Any, way: Way) -> list[dict[str, Any]]:
    """The forms of the mapping that a way leads to."""
    schemas: list[Any] = [whole]
    for part in way:
        if isinstance(part, int):
            schemas = [item for schema in schemas for item in lists(schema, whole)]
        else:
            forms = [form for schema in schemas for form in objects(schema, whole)]
            schemas = [
                form.get("properties", {}).get(part, form.get("additionalProperties", False))
                for form in forms
            ]
    return [form for schema in schemas for form in objects(schema, whole)]


def closed_forms(schema: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of known keys that the schema describes."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is False:
            yield schema
        for value in schema.values():
            yield from closed_forms(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from closed_forms(value)


def damages(value: Any) -> Iterator[tuple[str, Any]]:
    """A document with one thing changed, for every place and kind of change."""
    for way in ways_of(value):
        if not way:
            continue
        for what, new in (
            ("a number", 7),
            ("a boolean", True),
            ("text", "some text"),
            ("a name", "Client"),
            ("nothing", None),
            ("an empty list", []),
            ("a list of a mapping", [{}]),
            ("a mapping", {"stray": "x"}),
        ):
            yield f"{way} becomes {what}", replaced(value, way, new)
        yield f"{way} is gone", removed(value, way)
        held = at(value, way)
        if isinstance(held, dict):
            yield f"{way} has a stray key", replaced(value, way, {**held, "stray": 1})


def at(value: Any, way: Way) -> Any:
    for part in way:
        value = value[part]
    return value


def replaced(value: Any, way: Way, new: Any) -> Any:
    """The value with another one at the end of a way; what lies beside the way is shared."""
    if not way:
        return new
    made = dict(value) if isinstance(value, dict) else list(value)
    made[way[0]] = replaced(value[way[0]], way[1:], new)
    return made


def removed(value: Any, way: Way) -> Any:
    holder = at(value, way[:-1])
    rest = (
        {key: one for key, one in holder.items() if key != way[-1]}
        if isinstance(holder, dict)
        else [one for index, one in enumerate(holder) if index != way[-1]]
    )
    return replaced(value, way[:-1], rest)
