"""The parts that the schemas of files are made of: keys with their descriptions, mappings of known keys, small forms.

The schemas are JSON Schema 2020-12, and keep to what older drafts mean by the same words, so that editors which know
only those read them alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from strabo_runtime.language.shape import IDENTIFIER, LABEL

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a mapping: what it holds, and what an editor says of it.

    `empty`: a key without a value counts as absent. `examples` are values as they may be written.
    """

    schema: Schema
    description: str
    required: bool = False
    empty: bool = False
    examples: tuple[Any, ...] = ()

    def json_schema(self) -> Schema:
        """The schema of the value, with the description beside it."""
        schema = or_nothing(self.schema) if self.empty else self.schema
        described = {"description": self.description, **schema}
        return {**described, "examples": list(self.examples)} if self.examples else described


def mapping(description: str, keys: Mapping[str, Key], *rules: Schema) -> Schema:
    """A mapping of these keys and no others; `rules` say how they go together."""
    schema: Schema = {
        "type": "object",
        "description": description,
        "properties": {name: key.json_schema() for name, key in keys.items()},
        "additionalProperties": False,
    }
    required = [name for name, key in keys.items() if key.required]
    if required:
        schema["required"] = required
    if rules:
        schema["allOf"] = list(rules)
    return schema


def named(name_pattern: Schema, value: Schema) -> Schema:
    """A mapping of names to values of one form."""
    return {"type": "object", "propertyNames": name_pattern, "additionalProperties": value}


def reference(name: str) -> Schema:
    """The definition of this name."""
    return {"$ref": f"#/$defs/{name}"}


def or_nothing(schema: Schema) -> Schema:
    """The form, or a key without a value."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_or_many(item: Schema, *, distinct: bool = True) -> Schema:
    """A single value, or a list."""
    items = {"type": "array", "items": item, "minItems": 1}
    return {"anyOf": [item, {**items, "uniqueItems": True} if distinct else items]}


def listed(item: Schema, *, at_least: int = 0) -> Schema:
    """A list."""
    return {"type": "array", "items": item, **({"minItems": at_least} if at_least else {})}


def words(*choices: str) -> Schema:
    """One of a few words."""
    return {"enum": list(choices)}


def matching(pattern: str) -> Schema:
    """Text that the whole pattern matches."""
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def integer(minimum: int) -> Schema:
    """A whole number."""
    return {"type": "integer", "minimum": minimum}


# -- how keys go together ---------------------------------------------------------------------------------------------


def exactly_one(*keys: str) -> Schema:
    """One of these keys is given, and no other of them."""
    return {"oneOf": [{"required": [key]} for key in keys]}


def at_most_one(*keys: str) -> Schema:
    """No two of these keys are given."""
    pairs = [{"required": [one, other]} for place, one in enumerate(keys) for other in keys[place + 1 :]]
    return {"not": {"anyOf": pairs}}


def needs(key: str, other: str) -> Schema:
    """Who gives `key` gives `other`."""
    return {"if": {"required": [key]}, "then": {"required": [other]}}


def where(key: str, value: Any, *, forbidden: Iterable[str]) -> Schema:
    """Where `key` has this value, these others are not given."""
    return {
        "if": {"properties": {key: {"const": value}}, "required": [key]},
        "then": {"properties": dict.fromkeys(forbidden, False)},
    }


# -- forms of text ----------------------------------------------------------------------------------------------------

TEXT: Schema = {"type": "string", "pattern": r"\S"}
IDENTIFIER_TEXT = matching(IDENTIFIER.pattern)
LABEL_TEXT = matching(LABEL.pattern)
BOOLEAN: Schema = {"type": "boolean"}
NOTHING: Schema = {"type": "null"}

EXPRESSION: Schema = {
    "anyOf": [TEXT, {"type": ["boolean", "number"]}],
}
"""Bare CEL; `true` and numbers are expressions too."""

TEMPLATE: Schema = {}
"""Any value; text in it may hold `${ cel }`."""

_EVALUATED = r"[\s\S]*\$[\s\S]*"
_ISO = r"P(?=.)(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:[.,]\d+)?S)?)?"
_SHORT = r"(?:\d+(?:\.\d+)?(?:ms|[wdhms]))+"

DURATION = matching(f"-?{_ISO}|{_SHORT}|{_EVALUATED}")
"""ISO 8601 or short, or text with an expression in it."""

TIMESTAMP = matching(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)|" + _EVALUATED)
"""RFC 3339, or text with an expression in it."""
