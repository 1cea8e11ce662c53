"""Payloads that a JSON Schema describes (`schema:`), held against it and against the type derived from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from strabo_runtime.expressions.depth import DEEPEST, is_deep
from strabo_runtime.expressions.errors import ExpressionError
from strabo_runtime.expressions.resolution import is_optional
from strabo_runtime.expressions.schema_cost import SchemaCost
from strabo_runtime.expressions.schema_faults import compiled, schema_faults
from strabo_runtime.expressions.schema_types import schema_type
from strabo_runtime.expressions.types import Json, ListOf, MapOf, OptionalOf, Record, Type
from strabo_runtime.expressions.validator import PayloadValidator, described, pointer

Pruner: TypeAlias = Callable[[Any], Any]


class Validator(Protocol):
    """What checks payloads: a `PayloadValidator` for a declared type, a `SchemaValidator` for a JSON Schema."""

    @property
    def schema(self) -> Any:
        """The JSON Schema of a payload."""

    def errors(self, payload: Json) -> tuple[str, ...]:
        """What is wrong, one text a failing field, each beginning with its JSON pointer; () for a valid payload."""

    def normal(self, payload: Json) -> Json:
        """The stored form of a valid payload."""


class SchemaValidator:
    """Checks values against a JSON Schema (2020-12) and brings valid ones into the stored form of its type."""

    __slots__ = ("_cost", "_derived", "_prune", "_validator", "schema", "type")

    def __init__(self, schema: Any) -> None:
        """Raises ExpressionError for the first of what `schema_faults` finds."""
        faults = schema_faults(schema)
        if faults:
            path, text = faults[0]
            raise ExpressionError(f"{pointer(path)}: {text}", code="bad-schema")
        self.schema = schema
        self.type: Type = schema_type(schema)
        self._validator = compiled(schema)
        self._cost = SchemaCost(schema)
        self._derived = PayloadValidator(self.type, {})
        self._prune = _pruner(self.type)

    def errors(self, payload: Json) -> tuple[str, ...]:
        """What is wrong, one text a failing field, each beginning with its JSON pointer; () for a valid payload.

        Beyond what the schema says, integers have 64 bits, and times are those of the language.
        """
        # Before anything else: the library takes minutes to describe a value of thousands of levels.
        if is_deep(payload):
            return (f"(payload): is nested more than {DEEPEST} levels deep",)
        if not self._cost.is_bearable(payload):
            return ("(payload): is so large and nested so deep that checking it might take hours",)
        pruned = payload if self._prune is None else self._prune(payload)
        texts = described(self._validator, pruned)
        failing = {text.split(": ", 1)[0] for text in texts}
        further = (text for text in self._derived.errors(pruned) if text.split(": ", 1)[0] not in failing)
        return (*texts, *further)

    def normal(self, payload: Json) -> Json:
        """The stored form of a valid payload: that of the type which is known of it."""
        return self._derived.normal(payload)


def _pruner(type_: Type) -> Pruner | None:
    """Leaves out the nulls of optional fields, which count as missing; takes values of any shape."""
    match type_:
        case OptionalOf(of):
            return _pruner(of)
        case ListOf(item):
            return None if (inner := _pruner(item)) is None else _list_pruner(inner)
        case MapOf(value):
            return None if (inner := _pruner(value)) is None else _map_pruner(inner)
        case Record():
            return _record_pruner(type_)
        case _:
            return None


def _list_pruner(prune: Pruner) -> Pruner:
    return lambda value: [prune(item) for item in value] if isinstance(value, list) else value


def _map_pruner(prune: Pruner) -> Pruner:
    return lambda value: (
        {key: prune(item) for key, item in value.items()} if isinstance(value, dict) else value
    )


def _record_pruner(record: Record) -> Pruner | None:
    optional = frozenset(field.name for field in record.fields if is_optional(field.type, {}))
    inner = {field.name: prune for field in record.fields if (prune := _pruner(field.type)) is not None}
    if not optional and not inner:
        return None

    def prune_record(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: inner[key](item) if key in inner else item
            for key, item in value.items()
            if item is not None or key not in optional
        }

    return prune_record
