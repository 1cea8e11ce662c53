"""The types of the protocol language as values: what a payload, a variable or an expression may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

ScalarName = Literal["string", "integer", "number", "boolean", "object", "any", "timestamp", "duration"]
SCALARS: tuple[ScalarName, ...] = (
    "string",
    "integer",
    "number",
    "boolean",
    "object",
    "any",
    "timestamp",
    "duration",
)

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A stored value. Timestamps are RFC 3339 text in UTC, durations ISO 8601 text; `integer` is int, `number` float."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A built-in type. `object` is an untyped JSON object, `any` any JSON value, null included."""

    name: ScalarName


@dataclass(frozen=True, slots=True)
class EnumOf:
    """Text out of a fixed set, in declaration order."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are all of one type."""

    item: Type


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from text to values of one type."""

    value: Type


@dataclass(frozen=True, slots=True)
class OptionalOf:
    """A value that may be absent; null counts as absent."""

    of: Type


@dataclass(frozen=True, slots=True)
class Reference:
    """A named record or alias of the same protocol, by name, so that types may recur."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Record:
    """A field map. `open` records accept unknown fields; expressions cannot read those."""

    fields: tuple[Field, ...]
    open: bool = False


Type: TypeAlias = "Scalar | EnumOf | ListOf | MapOf | OptionalOf | Reference | Record"
NamedTypes: TypeAlias = Mapping[str, Type]
"""Every name a Reference may hold: the names under `types` and the message types (their payloads)."""

STRING, INTEGER, NUMBER, BOOLEAN = Scalar("string"), Scalar("integer"), Scalar("number"), Scalar("boolean")
OBJECT, ANY, TIMESTAMP, DURATION = Scalar("object"), Scalar("any"), Scalar("timestamp"), Scalar("duration")
