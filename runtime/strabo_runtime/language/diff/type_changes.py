"""Compares types: which values the new one no longer holds, and which it holds besides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strabo_runtime.expressions.resolution import describe, resolve
from strabo_runtime.expressions.types import (
    EnumOf,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Scalar,
    Type,
)


@dataclass(frozen=True, slots=True)
class TypeChange:
    """One difference, at a path of fields.

    `narrows`: some value of the old type is none of the new; `widens`: some value of the new is none of the old.
    """

    kind: str
    path: tuple[str, ...]
    what: str
    narrows: bool
    widens: bool


def type_changes(
    old: Type, new: Type, old_named: NamedTypes, new_named: NamedTypes, path: tuple[str, ...] = ()
) -> list[TypeChange]:
    """Every difference between two types, each once, however often a type recurs."""
    return list(dict.fromkeys(_Comparison(old_named, new_named).differences(old, new, path)))


class _Comparison:
    def __init__(self, old_named: NamedTypes, new_named: NamedTypes) -> None:
        self._old_named = old_named
        self._new_named = new_named
        self._compared: set[tuple[int, int]] = set()

    def differences(self, old: Type, new: Type, path: tuple[str, ...]) -> Iterator[TypeChange]:
        old, new = resolve(old, self._old_named), resolve(new, self._new_named)
        old_optional, new_optional = isinstance(old, OptionalOf), isinstance(new, OptionalOf)
        if old_optional != new_optional:
            name = _named(path)
            if new_optional:
                yield TypeChange("field-optional", path, f"{name} may be left out", False, True)
            else:
                yield TypeChange("field-required", path, f"{name} is required", True, False)
        yield from self._values(_unwrapped(old), _unwrapped(new), path)

    def _values(self, old: Type, new: Type, path: tuple[str, ...]) -> Iterator[TypeChange]:
        old, new = resolve(old, self._old_named), resolve(new, self._new_named)
        match old, new:
            case ListOf(before), ListOf(after):
                yield from self.differences(before, after, (*path, "[]"))
            case MapOf(before), MapOf(after):
                yield from self.differences(before, after, (*path, "{}"))
            case Record(), Record():
                yield from self._records(old, new, path)
            case EnumOf(before), EnumOf(after):
                yield from self._enums(before, after, path)
            case _ if old != new:
                wider, narrower = _holds(new, old), _holds(old, new)
                what = (
                    f"{_named(path)} is {describe(new, self._new_named)} "
                    f"and was {describe(old, self._old_named)}"
                )
                if wider:
                    yield TypeChange("type-widened", path, what, False, True)
                elif narrower:
                    yield TypeChange("type-narrowed", path, what, True, False)
                else:
                    yield TypeChange("type-changed", path, what, True, True)

    def _enums(
        self, before: tuple[str, ...], after: tuple[str, ...], path: tuple[str, ...]
    ) -> Iterator[TypeChange]:
        gone = [value for value in before if value not in after]
        new = [value for value in after if value not in before]
        if gone:
            what = f"{_named(path)} can no longer be {_listed(gone)}"
            yield TypeChange("type-narrowed", path, what, True, False)
        if new:
            yield TypeChange("type-widened", path, f"{_named(path)} can be {_listed(new)}", False, True)

    def _records(self, old: Record, new: Record, path: tuple[str, ...]) -> Iterator[TypeChange]:
        # Types may recur, and each is stored once.
        if (id(old), id(new)) in self._compared:
            return
        self._compared.add((id(old), id(new)))
        before = {field.name: field.type for field in old.fields}
        after = {field.name: field.type for field in new.fields}
        for name, type_ in before.items():
            here = (*path, name)
            if name in after:
                yield from self.differences(type_, after[name], here)
            else:
                required = not isinstance(resolve(type_, self._old_named), OptionalOf)
                # An open record still takes the field, as one that it does not name.
                yield TypeChange("field-removed", here, f"{_named(here)} is gone", not new.open, required)
        for name, type_ in after.items():
            if name in before:
                continue
            here = (*path, name)
            if isinstance(resolve(type_, self._new_named), OptionalOf):
                what = f"{_named(here)} is new, and optional"
                yield TypeChange("optional-field-added", here, what, old.open, not old.open)
            else:
                what = f"{_named(here)} is new, and required"
                yield TypeChange("field-added", here, what, True, not old.open)
        if old.open and not new.open:
            yield TypeChange("type-narrowed", path, f"{_named(path)} takes no other fields", True, False)
        elif new.open and not old.open:
            yield TypeChange("type-widened", path, f"{_named(path)} takes other fields", False, True)


def _holds(wide: Type, narrow: Type) -> bool:
    """Whether every value of `narrow` is one of `wide`, as JSON."""
    match wide, narrow:
        case Scalar("any"), _:
            return True
        case Scalar("object"), (Record() | MapOf()):
            return True
        case Scalar("number"), Scalar("integer"):
            return True
        case Scalar("string"), (EnumOf() | Scalar("timestamp" | "duration")):
            return True
    return False


def _unwrapped(type_: Type) -> Type:
    return type_.of if isinstance(type_, OptionalOf) else type_


def _named(path: tuple[str, ...]) -> str:
    text = ""
    for part in path:
        text += part if part in ("[]", "{}") else f".{part}"
    return f"`{text.removeprefix('.')}`"


def _listed(values: list[str]) -> str:
    return " or ".join(f"`{value}`" for value in values)
