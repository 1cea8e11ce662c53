"""How deep values may be nested: far enough for any use, and never so far that a walk over them overflows."""

from __future__ import annotations

from collections.abc import Iterable

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


def too_deep() -> EvaluationError:
    """The error of a step that would make such a value."""
    return EvaluationError(f"the value would be nested more than {DEEPEST} levels deep")
