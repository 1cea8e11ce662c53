"""Payloads held against their type: every failing field by JSON pointer, and the one stored form of a valid payload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias, cast

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from strabo_runtime.expressions.depth import DEEPEST, is_bounded, is_deep
from strabo_runtime.expressions.resolution import resolve, unwrapped
from strabo_runtime.expressions.schema import json_schema
from strabo_runtime.expressions.schema_faults import compiled, shortened
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.time import from_datetime, from_timedelta, to_datetime, to_timedelta
from strabo_runtime.expressions.types import (
    Json,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    Type,
)

Normaliser: TypeAlias = Callable[[Any], Json]
"""Gives the stored form of a valid value, without changing the value itself."""

_MOST_ERRORS = 50
_TYPE_NAMES = {
    "array": "a list",
    "object": "an object",
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


class PayloadValidator:
    """Checks values of one type and brings valid ones into stored form."""

    __slots__ = ("_fields", "_normaliser", "_unbounded", "_validator", "schema")

    def __init__(self, type_: Type, named: NamedTypes) -> None:
        self.schema = json_schema(type_, named)
        self._validator = compiled(self.schema)
        self._normaliser = normaliser(type_, named)
        self._fields = _field_names(type_, named)
        self._unbounded = _unbounded_fields(type_, named)

    def errors(self, payload: Json) -> tuple[str, ...]:
        """What is wrong, one text a failing field, each beginning with its JSON pointer; () for a valid payload."""
        # Before anything else: the library takes minutes to describe a value of thousands of levels.
        if isinstance(payload, dict):
            for name in self._unbounded:
                if name in payload and is_deep(payload[name]):
                    return (f"{pointer([name])}: is nested more than {DEEPEST} levels deep",)
        return described(self._validator, payload, self._fields)

    def normal(self, payload: Json) -> Json:
        """The stored form of a valid payload.

        Optional nulls are dropped, integers given for a `number` become floats (and 3.0 for an `integer` 3), timestamps
        and durations get their canonical text. Equal values thus have equal JSON.
        """
        return payload if self._normaliser is None else self._normaliser(payload)


def described(
    validator: Draft202012Validator, payload: Json, known: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """What a validator finds wrong with a payload; `known` are the field names that may have been meant."""
    try:
        if validator.is_valid(payload):
            return ()
        if is_deep(payload):
            return (f"(payload): is nested more than {DEEPEST} levels deep",)
        found = validator.iter_errors(payload)
        # One error of the library may name thousands of fields, and each is looked up among the known ones.
        texts = list(islice((text for error in found for text in _texts(error, known)), _MOST_ERRORS + 1))
    except (ValueError, RecursionError):
        return ("(payload): holds what is not JSON",)
    if len(texts) > _MOST_ERRORS:
        texts[_MOST_ERRORS:] = ["(payload): there are further errors"]
    return tuple(texts)


def normaliser(type_: Type, named: NamedTypes) -> Normaliser | None:
    """The function that gives a type's stored form; None where every valid value is its own."""
    return _Normalisers(named).of(type_)


class _Normalisers:
    """Builds normalisers; a named type's is built once, so that types may recur."""

    def __init__(self, named: NamedTypes) -> None:
        self._named = named
        self._begun: dict[str, Normaliser | None] = {}

    def of(self, type_: Type) -> Normaliser | None:
        match type_:
            case Scalar("number"):
                return float
            case Scalar("integer"):
                return int
            case Scalar("timestamp"):
                return _canonical_timestamp
            case Scalar("duration"):
                return _canonical_duration
            case ListOf(item):
                return _list_normaliser(self.of(item))
            case MapOf(value):
                return _map_normaliser(self.of(value))
            case OptionalOf(of):
                return _optional_normaliser(self.of(of))
            case Reference(name):
                return self._named_normaliser(name)
            case Record():
                return self._record_normaliser(type_)
            case _:
                return None

    def _named_normaliser(self, name: str) -> Normaliser | None:
        if name not in self._begun:
            # While the type is being built, whatever refers back to it looks it up when it runs.
            self._begun[name] = lambda value: _applied(self._begun[name], value)
            self._begun[name] = self.of(self._named[name])
        return self._begun[name]

    def _record_normaliser(self, record: Record) -> Normaliser | None:
        optional = tuple(
            field.name for field in record.fields if isinstance(resolve(field.type, self._named), OptionalOf)
        )
        converted = tuple(
            (field.name, convert) for field in record.fields if (convert := self.of(field.type)) is not None
        )
        if not optional and not converted:
            return None

        def normal(value: dict[str, Json]) -> Json:
            result = dict(value)
            for name in optional:
                if name in result and result[name] is None:
                    del result[name]
            for name, convert in converted:
                if name in result:
                    result[name] = convert(result[name])
            return result

        return normal


def _applied(function: Normaliser | None, value: Any) -> Json:
    return cast(Json, value) if function is None else function(value)


def _list_normaliser(item: Normaliser | None) -> Normaliser | None:
    return None if item is None else lambda value: [item(each) for each in value]


def _map_normaliser(item: Normaliser | None) -> Normaliser | None:
    return None if item is None else lambda value: {key: item(each) for key, each in value.items()}


def _optional_normaliser(inner: Normaliser | None) -> Normaliser | None:
    return None if inner is None else lambda value: None if value is None else inner(value)


@lru_cache(maxsize=4096)
def _canonical_timestamp(text: str) -> Json:
    return from_datetime(to_datetime(text))


@lru_cache(maxsize=4096)
def _canonical_duration(text: str) -> Json:
    return from_timedelta(to_timedelta(text))


def pointer(path: Sequence[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a path; the whole payload is written `(payload)`."""
    if not path:
        return "(payload)"
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _texts(error: ValidationError, known: frozenset[str]) -> Iterator[str]:
    """One error of the library as texts of ours; an optional's errors are those of the type under the `?`."""
    kind = error.kind
    path = list(error.instance_path)
    match kind:
        case ValidationErrorKind.AnyOf(context=[[*inner], *_]) if inner:
            for each in inner:
                yield from _texts(each, known)
        case ValidationErrorKind.Required(property=name):
            yield f"{pointer([*path, str(name)])}: is missing"
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            for name in names:
                hint = did_you_mean(name, known)
                yield f"{pointer([*path, name])}: is not a field of this type{f'; {hint}' if hint else ''}"
        case ValidationErrorKind.Type(types=types):
            expected = " or ".join(_TYPE_NAMES.get(name, name) for name in types)
            yield f"{pointer(path)}: is not {expected}"
        case ValidationErrorKind.Enum(options=options):
            yield f"{pointer(path)}: is not one of {', '.join(map(str, options))}"
        case ValidationErrorKind.Format(format="date-time"):
            yield f"{pointer(path)}: is not an RFC 3339 timestamp such as 2030-01-01T00:05:00Z"
        case ValidationErrorKind.Format(format="duration"):
            yield f"{pointer(path)}: is not an ISO 8601 duration such as PT30M"
        case ValidationErrorKind.Minimum() | ValidationErrorKind.Maximum():
            yield f"{pointer(path)}: is outside the range of its type"
        case _:
            yield f"{pointer(path)}: {shortened(error.message)}"


def _unbounded_fields(type_: Type, named: NamedTypes) -> tuple[str, ...]:
    """The fields of a payload whose values may be nested without end: untyped ones, and types that recur."""
    record = unwrapped(type_, named)
    if not isinstance(record, Record):
        return ()
    return tuple(field.name for field in record.fields if not is_bounded(field.type, named))


def _field_names(type_: Type, named: NamedTypes) -> frozenset[str]:
    """Every field name that the type reaches, for "did you mean"."""
    names: set[str] = set()
    seen: set[str] = set()
    waiting = [type_]
    while waiting:
        match waiting.pop():
            case Record(fields):
                names.update(field.name for field in fields)
                waiting.extend(field.type for field in fields)
            case ListOf(inner) | MapOf(inner) | OptionalOf(inner):
                waiting.append(inner)
            case Reference(name) if name not in seen:
                seen.add(name)
                waiting.append(named[name])
            case _:
                pass
    return frozenset(names)
