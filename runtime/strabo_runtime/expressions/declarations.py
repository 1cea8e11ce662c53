"""The functions and macros of expressions: their names, and the language's own ones as CEL's checker knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strabo_runtime.expressions.registry import Function
from strabo_runtime.expressions.resolution import unwrapped
from strabo_runtime.expressions.types import (
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    Scalar,
    ScalarName,
    Type,
)
from strabo_runtime.expressions.typing_rules import scalar_kind

_ELEMENT = "{type_name: A, is_type_param: true}"
_ELEMENTS = f"{{type_name: list, params: [{_ELEMENT}]}}"
_TEXT, _ANYTHING, _DOUBLE, _BOOLEAN = (
    f"{{type_name: {name}}}" for name in ("string", "dyn", "double", "bool")
)
_COUNTS = "{type_name: map, params: [{type_name: string}, {type_name: int}]}"
_TEXTS = "{type_name: list, params: [{type_name: string}]}"
_ORDERED = ("int", "double", "string", "timestamp", "duration")

_SIGNATURES: dict[str, list[tuple[list[str], str]]] = {
    "min_by": [([_ELEMENTS, _TEXT], _ELEMENT)],
    "max_by": [([_ELEMENTS, _TEXT], _ELEMENT)],
    "sort_by": [([_ELEMENTS, _TEXT], _ELEMENTS)],
    "sum_by": [([_ELEMENTS, _TEXT], _ANYTHING)],
    "avg_by": [([_ELEMENTS, _TEXT], _DOUBLE)],
    "count_by": [([_ELEMENTS, _TEXT], _COUNTS)],
    "distinct": [([_ELEMENTS], _ELEMENTS)],
    "least": [([f"{{type_name: {name}}}"] * 2, f"{{type_name: {name}}}") for name in _ORDERED],
    "greatest": [([f"{{type_name: {name}}}"] * 2, f"{{type_name: {name}}}") for name in _ORDERED],
    "merge": [([_ANYTHING, _ANYTHING], _ANYTHING)],
    "without": [([_ANYTHING, _TEXT], _ANYTHING)],
    "schema_errors": [([_ANYTHING, _ANYTHING], _TEXTS)],
    "is_schema": [([_ANYTHING], _BOOLEAN)],
}

OWN_FUNCTIONS = tuple(_SIGNATURES)
MACROS = ("has", "all", "exists", "exists_one", "map", "filter")
TEXT_FUNCTIONS = ("contains", "startsWith", "endsWith", "matches")
CONVERSIONS = ("int", "double", "string", "bool", "timestamp", "duration", "dyn")
CALENDAR_FUNCTIONS = (
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
)  # fmt: skip
ALL_FUNCTIONS = (*OWN_FUNCTIONS, *MACROS, "size", *TEXT_FUNCTIONS, *CONVERSIONS, *CALENDAR_FUNCTIONS)


def environment_yaml(functions: Iterable[Function] = ()) -> str:
    """The functions beyond CEL's in the YAML of its environments, the only form that knows type parameters."""
    lines = ["functions:"]
    signatures = {**_SIGNATURES, **{function.name: _overloads(function) for function in functions}}
    for name, overloads in signatures.items():
        lines += [f"- name: {name}", "  overloads:"]
        for position, (arguments, result) in enumerate(overloads):
            lines += [
                f"  - id: strabo_{name}_{position}",
                f"    args: [{', '.join(arguments)}]",
                f"    return: {result}",
            ]
    return "\n".join(lines)


_SCALARS: Mapping[ScalarName, str] = {
    "string": "string",
    "integer": "int",
    "number": "double",
    "boolean": "bool",
    "timestamp": "timestamp",
    "duration": "duration",
}
_WRAPPERS: Mapping[ScalarName, str] = {
    "string": "google.protobuf.StringValue",
    "integer": "google.protobuf.Int64Value",
    "number": "google.protobuf.DoubleValue",
    "boolean": "google.protobuf.BoolValue",
}
"""What CEL calls these where they may be null."""


def _overloads(function: Function) -> list[tuple[list[str], str]]:
    """One overload for each number of arguments that a call may have."""
    arguments = [_cel_type(parameter.type) for parameter in function.parameters]
    result = _cel_type(function.result)
    return [(arguments[:count], result) for count in range(function.required, len(arguments) + 1)]


def _cel_type(type_: Type) -> str:
    """A registered function's type as CEL's checker knows it; field maps are looked at by our own."""
    match type_:
        case OptionalOf(of):
            inner = unwrapped(of, {})
            kind = scalar_kind(inner)
            if kind is not None and kind in _WRAPPERS:
                return f"{{type_name: {_WRAPPERS[kind]}}}"
            return _ANYTHING if kind is None else _cel_type(inner)
        case EnumOf():
            return _TEXT
        case Scalar(name) if name in _SCALARS:
            return f"{{type_name: {_SCALARS[name]}}}"
        case ListOf(item):
            return f"{{type_name: list, params: [{_cel_type(item)}]}}"
        case MapOf(value):
            return f"{{type_name: map, params: [{_TEXT}, {_cel_type(value)}]}}"
        case _:
            return _ANYTHING
