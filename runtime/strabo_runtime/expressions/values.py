"""Stored JSON and the values that expressions compute with, turned into each other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, TypeAlias

import orjson

from strabo_runtime.expressions.depth import built_size
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.resolution import resolve
from strabo_runtime.expressions.time import from_datetime, from_timedelta, to_datetime, to_timedelta
from strabo_runtime.expressions.types import (
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    Type,
)

Decoder: TypeAlias = Callable[[Any], Any]


def decode_untyped(value: Any) -> Any:
    """A value of an `object` or `any`, through and through: its numbers are doubles."""
    if type(value) is int:
        return float(value)
    if isinstance(value, dict):
        return {key: decode_untyped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode_untyped(item) for item in value]
    return value


def decode_number(value: Any) -> Any:
    """A value of an `any`, but only its outermost level: an integer becomes a float."""
    return float(value) if type(value) is int else value


def decode_timestamp(value: Any) -> Any:
    """Stored text as an instant; what an expression made is one already."""
    return to_datetime(value) if type(value) is str else value


def decode_duration(value: Any) -> Any:
    """Stored text as a length of time; what an expression made is one already."""
    return to_timedelta(value) if type(value) is str else value


def leaf_decoder(type_: Type) -> Decoder | None:
    """What turns one stored value of a resolved type into what `Code` promises; None where nothing is to be done."""
    match type_:
        case Scalar("timestamp"):
            return decode_timestamp
        case Scalar("duration"):
            return decode_duration
        case Scalar("any"):
            return decode_number
        case _:
            return None


class Decoders:
    """Decoders through and through, one for each type of a protocol; None where stored JSON is the value."""

    def __init__(self, named: NamedTypes) -> None:
        self._named = named
        self._begun: dict[str, Decoder | None] = {}

    def of(self, type_: Type) -> Decoder | None:
        match type_:
            case Scalar("any" | "object"):
                return decode_untyped
            case Scalar():
                return leaf_decoder(type_)
            case ListOf(item):
                return _list_decoder(self.of(item))
            case MapOf(value):
                return _map_decoder(self.of(value))
            case OptionalOf(of):
                return _optional_decoder(self.of(of))
            case Reference(name):
                if name not in self._begun:
                    self._begun[name] = lambda value: _applied(self._begun[name], value)
                    self._begun[name] = self.of(resolve(type_, self._named))
                return self._begun[name]
            case Record(fields):
                decoders = {field.name: decoder for field in fields if (decoder := self.of(field.type))}
                return _record_decoder(decoders) if decoders else None
            case _:
                return None


def encode(value: Any) -> Any:
    """The stored JSON of a computed value. Raises EvaluationError for what JSON cannot hold."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if kind is float:
        if not isfinite(value):
            raise EvaluationError("the result is not a finite number")
        return value
    if isinstance(value, datetime):
        return from_datetime(value)
    if isinstance(value, timedelta):
        return from_timedelta(value)
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    return [encode(item) for item in value]


def as_text(value: Any) -> str:
    """A computed value inside a text: a whole number without a fraction, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(encode(value))
        return text.removesuffix(".0")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (dict, list, tuple)):
        built_size(value)
    encoded = encode(value)
    return encoded if isinstance(encoded, str) else _json_text(encoded)


def _json_text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise EvaluationError(f"a value cannot be written as JSON: {error}") from None


def _applied(decoder: Decoder | None, value: Any) -> Any:
    return value if decoder is None else decoder(value)


def _list_decoder(item: Decoder | None) -> Decoder | None:
    return None if item is None else lambda value: [item(each) for each in value]


def _map_decoder(item: Decoder | None) -> Decoder | None:
    return None if item is None else lambda value: {key: item(each) for key, each in value.items()}


def _optional_decoder(inner: Decoder | None) -> Decoder | None:
    return None if inner is None else lambda value: None if value is None else inner(value)


def _record_decoder(decoders: dict[str, Decoder]) -> Decoder:
    def decode(value: dict[str, Any]) -> Any:
        return {key: decoders[key](item) if key in decoders else item for key, item in value.items()}

    return decode
