"""CEL's standard functions: the common ones over our own values, the others by CEL's library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from strabo_runtime.expressions import operators
from strabo_runtime.expressions.building import Builder
from strabo_runtime.expressions.cel import call_library
from strabo_runtime.expressions.code import Code, Frame, needed
from strabo_runtime.expressions.declarations import CALENDAR_FUNCTIONS
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.operators import kind, no_overload
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.syntax import Call, Constant, Node
from strabo_runtime.expressions.time import from_datetime, to_datetime, to_timedelta
from strabo_runtime.expressions.types import (
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    STRING,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    Record,
    Scalar,
    Type,
)


def compile_call(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code | None:
    """The code of a standard function; None when the call is not one."""
    function = node.function
    if function == "dyn":
        return builder.decoded(codes[0])
    if function == "size":
        return _size(builder, needed(codes[0]))
    if function in _TEXT:
        if function == "matches":
            _check_pattern(builder, nodes[1])
        return _text_function(builder, function, codes)
    if function in _CONVERSIONS:
        return _conversion(builder, node, nodes, codes)
    if function in CALENDAR_FUNCTIONS:
        return _calendar_function(builder, function, codes)
    return None


def key(value: Any) -> str:
    """The key of an object that an expression makes."""
    if isinstance(value, str):
        return value
    raise EvaluationError(f"the keys of an object are texts, not {kind(value)}")


def _size(builder: Builder, code: Code) -> Code:
    measure: Callable[[Any], int] = operators.size
    match code.type:
        case Scalar("string" | "object") | EnumOf() | ListOf() | MapOf() | Record():
            measure = len
        case _:
            code = builder.decoded(code)
    run = code.run
    return Code(lambda scope, frame: measure(run(scope, frame)), INTEGER, f"{code.text}.size()", pure=True)


# -- text ----------------------------------------------------------------------------------------------------


def _matches(text: str, pattern: str) -> bool:
    """CEL's regular expressions are RE2's, which run in linear time and differ from Python's."""
    return call_library("matches", True, text, pattern) is True


_TEXT: Mapping[str, Callable[[str, str], bool]] = {
    "contains": lambda text, part: part in text,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "matches": _matches,
}


def _text_function(builder: Builder, function: str, codes: list[Code]) -> Code:
    text, part = (builder.decoded(needed(code)).run for code in codes)
    apply = _TEXT[function]

    def run(scope: Scope, frame: Frame) -> bool:
        left, right = text(scope, frame), part(scope, frame)
        if isinstance(left, str) and isinstance(right, str):
            return apply(left, right)
        raise no_overload(function, left, right)

    return Code(run, BOOLEAN, f"{codes[0].text}.{function}(...)", pure=True)


def _check_pattern(builder: Builder, node: Node) -> None:
    """A literal pattern is tried when the file loads."""
    if not isinstance(node, Constant) or not isinstance(node.value, str):
        return
    try:
        _matches("", node.value)
    except EvaluationError as error:
        raise builder.error(
            node, f"not a regular expression: {error.text}", "expression-value", length=len(node.value) + 2
        ) from None


# -- conversions ---------------------------------------------------------------------------------------------


def _to_integer(value: Any) -> Any:
    match value:
        case bool() | None:
            raise no_overload("int", value)
        case int():
            return value
        case float():
            if not -(2.0**63) < value < 2.0**63:
                raise EvaluationError("integer overflow")
            return int(value)
        case str() | datetime():
            return call_library("int", False, value)
    raise no_overload("int", value)


def _to_number(value: Any) -> Any:
    match value:
        case bool() | None:
            raise no_overload("double", value)
        case int() | float():
            return float(value)
        case str():
            return call_library("double", False, value)
    raise no_overload("double", value)


def _to_string(value: Any) -> Any:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case datetime():
            return from_datetime(value)
        case float() | timedelta():
            return call_library("string", False, value)
    raise no_overload("string", value)


def _to_boolean(value: Any) -> Any:
    match value:
        case bool():
            return value
        case str():
            return call_library("bool", False, value)
    raise no_overload("bool", value)


def _to_timestamp(value: Any) -> Any:
    match value:
        case datetime():
            return value
        case str():
            try:
                return to_datetime(value)
            except ValueError as error:
                raise EvaluationError(str(error)) from None
        case int() if not isinstance(value, bool):
            return call_library("timestamp", False, value)
    raise no_overload("timestamp", value)


def _to_duration(value: Any) -> Any:
    """ISO 8601 as everywhere in the language, and CEL's own `1h30m`, which also knows signs and smaller units."""
    match value:
        case timedelta():
            return value
        case str():
            try:
                return to_timedelta(value)
            except ValueError as error:
                try:
                    return call_library("duration", False, value)
                except EvaluationError:
                    raise EvaluationError(str(error)) from None
    raise no_overload("duration", value)


_CONVERSIONS: Mapping[str, tuple[Callable[[Any], Any], Type]] = {
    "int": (_to_integer, INTEGER),
    "double": (_to_number, NUMBER),
    "string": (_to_string, STRING),
    "bool": (_to_boolean, BOOLEAN),
    "timestamp": (_to_timestamp, TIMESTAMP),
    "duration": (_to_duration, DURATION),
}


def _conversion(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code:
    convert, type_ = _CONVERSIONS[node.function]
    operand = builder.decoded(needed(codes[0]))
    if isinstance(nodes[0], Constant):
        try:
            convert(nodes[0].value)
        except EvaluationError as error:
            raise builder.error(nodes[0], error.text, "expression-value", length=len(codes[0].text)) from None
    run = operand.run
    return Code(
        lambda scope, frame: convert(run(scope, frame)),
        type_,
        f"{node.function}({operand.text})",
        pure=type_ in (INTEGER, STRING, BOOLEAN),
    )


# -- calendar ------------------------------------------------------------------------------------------------


def _calendar_function(builder: Builder, function: str, codes: list[Code]) -> Code:
    runs = [builder.decoded(needed(code)).run for code in codes]

    def run(scope: Scope, frame: Frame) -> Any:
        values = [each(scope, frame) for each in runs]
        if isinstance(values[0], (datetime, timedelta)) and all(
            isinstance(value, str) for value in values[1:]
        ):
            return call_library(function, True, *values)
        raise no_overload(function, *values)

    return Code(run, INTEGER, f"{codes[0].text}.{function}()", pure=True)
