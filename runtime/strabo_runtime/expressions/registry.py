"""Registered functions: pure functions of a package, named with a version that an instance pins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from strabo_runtime.expressions.types import Field, Type


@dataclass(frozen=True, slots=True)
class Function:
    """A pure function that expressions and actions may call.

    `call` takes and gives stored JSON values, by position in the order of `parameters`; it has no clock, no random
    numbers and no I/O, and raises ValueError for values that it does not take.
    """

    name: str
    version: str
    parameters: tuple[Field, ...]
    result: Type
    call: Callable[..., Any]


class Functions:
    """The functions that a process knows, in every version installed."""

    def __init__(self, functions: Iterable[Function] = ()) -> None:
        self._versions: dict[str, dict[str, Function]] = {}
        for function in functions:
            self._versions.setdefault(function.name, {})[function.version] = function

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._versions))

    def find(self, name: str, pins: Mapping[str, str]) -> Function | None:
        """The function in the version pinned under its name, else in the newest one; None where there is none."""
        versions = self._versions.get(name, {})
        if name in pins:
            return versions.get(pins[name])
        return versions[max(versions, key=_version_key)] if versions else None


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    """Orders `10` after `9`, and text after numbers."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in version.split("."))
