"""How deep and how large values may be: far enough for any use, never so far that a walk or a copy does harm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from strabo_runtime.expressions.errors import EvaluationError
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

DEEPEST = 64
"""Levels of lists and objects in a value. Every walk over one recurses, and JSON writers stop at some 250 levels."""


MOST_BUILT = 4 * 1024 * 1024
"""What one expression or template may build, in the units of `built_size`. Within a macro a large value is repeated by
reference, which costs nothing until it is written down: this is counted before it is."""

_UNITS_A_VALUE = 16


def built_size(value: Any) -> int:
    """Roughly the bytes that a list or an object takes as JSON, what it holds several times counted each time.

    Raises EvaluationError as soon as that is more than MOST_BUILT, and for what is nested too deep.
    """
    units = 0
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for holder in level:
            units += _UNITS_A_VALUE * len(holder)
            if units > MOST_BUILT:
                raise too_large()
            if type(holder) is dict:
                units += sum(map(len, holder))
                items: Iterable[Any] = holder.values()
            else:
                items = holder
            for item in items:
                kind = type(item)
                if kind is str:
                    units += len(item)
                elif kind is dict or kind is list or kind is tuple:
                    inner.append(item)
        if units > MOST_BUILT:
            raise too_large()
        if not inner:
            return units
        level = inner
    raise too_deep()


def is_deep(value: Json, levels: int = DEEPEST) -> bool:
    """Whether lists and objects are nested more than so many levels; looks no deeper than that."""
    if type(value) is dict:
        inner: Iterable[Json] = value.values()
    elif type(value) is list:
        inner = value
    else:
        return False
    if levels == 0:
        return True
    for each in inner:
        if type(each) is not dict and type(each) is not list:
            continue
        if is_deep(each, levels - 1):
            return True
    return False


def is_bounded(type_: Type, named: NamedTypes, inside: frozenset[str] = frozenset()) -> bool:
    """Whether the type itself limits how deep its values are: it holds nothing untyped, and does not recur."""
    match type_:
        case Scalar("object" | "any"):
            return False
        case ListOf(inner) | MapOf(inner) | OptionalOf(inner):
            return is_bounded(inner, named, inside)
        case Reference(name):
            return name not in inside and is_bounded(named[name], named, inside | {name})
        case Record(fields, is_open):
            return not is_open and all(is_bounded(field.type, named, inside) for field in fields)
        case _:
            return True


def too_large() -> EvaluationError:
    """The error of a step that would build such a value."""
    return EvaluationError(f"the value would take more than {MOST_BUILT // 1024**2} MiB")


def too_deep() -> EvaluationError:
    """The error of a step that would make such a value."""
    return EvaluationError(f"the value would be nested more than {DEEPEST} levels deep")
