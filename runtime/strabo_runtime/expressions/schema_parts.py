"""The schemas inside a JSON Schema: where they stand, what they apply to, and where references lead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from strabo_runtime.expressions.errors import Path

Schema: TypeAlias = Mapping[str, Any]

REFERENCES = ("$ref", "$dynamicRef")
UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_SAME_VALUE = ("else", "if", "not", "then")
_INNER_VALUE = ("additionalProperties", "contains", "contentSchema", "items", "propertyNames", *UNEVALUATED)
_LISTS_OF_SAME = ("allOf", "anyOf", "oneOf")
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


@dataclass(frozen=True, slots=True)
class Part:
    """One schema in a schema; references in it start from the address `base` (that of the nearest `$id`)."""

    path: Path
    schema: Schema
    base: str


def parts(schema: Any, path: Path = (), base: str = "") -> Iterator[Part]:
    """The schema itself and every one in it; what stands under unknown keywords is none."""
    if not isinstance(schema, dict):
        return
    identity = schema.get("$id")
    if isinstance(identity, str):
        base = urldefrag(urljoin(base, identity)).url
    yield Part(path, schema, base)
    for keyword in (*_SAME_VALUE, *_INNER_VALUE):
        yield from parts(schema.get(keyword), (*path, keyword), base)
    for keyword in (*_LISTS_OF_SAME, "prefixItems"):
        for position, each in enumerate(_list(schema, keyword)):
            yield from parts(each, (*path, keyword, position), base)
    for keyword in _MAPS:
        for name, each in _map(schema, keyword).items():
            yield from parts(each, (*path, keyword, name), base)


def references(part: Part) -> Iterator[tuple[str, str]]:
    """The references of a part itself: keyword and address."""
    for keyword in REFERENCES:
        if isinstance(reference := part.schema.get(keyword), str):
            yield keyword, reference


class Addresses:
    """What the references inside a schema lead to."""

    def __init__(self, schema: Any) -> None:
        self._roots: dict[str, Any] = {"": schema}
        self._anchors: dict[str, Any] = {}
        self._bases: dict[int, str] = {}
        for part in parts(schema):
            self._bases[id(part.schema)] = part.base
            if "$id" in part.schema or not part.path:
                self._roots.setdefault(part.base, part.schema)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := part.schema.get(keyword), str):
                    self._anchors.setdefault(f"{part.base}#{anchor}", part.schema)

    def leads_inside(self, base: str, reference: str) -> bool:
        """Whether a reference stays in the schema, wherever in it that may be."""
        return urldefrag(urljoin(base, reference)).url in self._roots

    def target(self, holder: Schema, reference: str) -> Any:
        """The schema that a reference in `holder` leads to; None where there is none."""
        base = self._bases.get(id(holder), "")
        address, fragment = (
            urldefrag(urljoin(base, reference)) if reference[:1] != "#" else (base, reference[1:])
        )
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(f"{address}#{fragment}")
        found = self._roots.get(address)
        for step in unquote(fragment).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(name)
            elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return found


def applied_to_same(schema: Schema) -> Iterator[Any]:
    """The schemas that are applied to the very value that this one is; those behind references are left out."""
    for keyword in _SAME_VALUE:
        if keyword in schema:
            yield schema[keyword]
    for keyword in _LISTS_OF_SAME:
        yield from _list(schema, keyword)
    yield from _map(schema, "dependentSchemas").values()


def applied_to_fields(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The schemas that are applied to the field of one name."""
    yield from _map(schema, "properties").items()


def applied_to_any_inner(schema: Schema) -> Iterator[Any]:
    """The schemas that may be applied to any field or item."""
    for keyword in _INNER_VALUE:
        if keyword in schema:
            yield schema[keyword]
    yield from _list(schema, "prefixItems")
    yield from _map(schema, "patternProperties").values()


def _list(schema: Schema, keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _map(schema: Schema, keyword: str) -> dict[str, Any]:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}
