"""Names of types followed to what they stand for."""

from __future__ import annotations

from strabo_runtime.expressions.types import (
    EnumOf,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Reference,
    Type,
)


def resolve(type_: Type, named: NamedTypes) -> Type:
    """The type itself, with names followed; an alias of an optional gives the optional.

    Raises KeyError for a name that stands for nothing, and ValueError for one that stands for itself.
    """
    seen: set[str] = set()
    while isinstance(type_, Reference):
        if type_.name in seen:
            raise ValueError(f"the type {type_.name} stands for itself")
        seen.add(type_.name)
        type_ = named[type_.name]
    return type_


def unwrapped(type_: Type, named: NamedTypes) -> Type:
    """The resolved type without its `?`."""
    type_ = resolve(type_, named)
    while isinstance(type_, OptionalOf):
        type_ = resolve(type_.of, named)
    return type_


def is_optional(type_: Type, named: NamedTypes) -> bool:
    """Whether a value of this type may be absent."""
    return isinstance(resolve(type_, named), OptionalOf)


def name_of(record: Record, named: NamedTypes) -> str | None:
    """The one name of a record; None for one without, and for one that several names stand for."""
    names = [name for name, type_ in named.items() if type_ == record]
    return names[0] if len(names) == 1 else None


def describe(type_: Type, named: NamedTypes, depth: int = 0) -> str:
    """The type as an author writes it: a named record by its name, a deep one shortened."""
    match type_:
        case EnumOf(values):
            return f"enum({', '.join(values)})"
        case ListOf(item):
            return f"list<{describe(item, named, depth + 1)}>"
        case MapOf(value):
            return f"map<{describe(value, named, depth + 1)}>"
        case OptionalOf(of):
            return f"{describe(of, named, depth)}?"
        case Reference(name):
            return name
        case Record(fields):
            own_name = name_of(type_, named)
            if own_name is not None:
                return own_name
            if depth > 1:
                return "{...}"
            inner = ", ".join(f"{field.name}: {describe(field.type, named, depth + 1)}" for field in fields)
            return f"{{{inner}}}"
        case _:
            return type_.name
