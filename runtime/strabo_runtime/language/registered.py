"""The registered functions that a protocol may use, and why one of them is not there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strabo_runtime.functions import Function, Functions, FunctionsError, installed_functions


@dataclass(frozen=True, slots=True)
class Registered:
    """Functions by name, in the version to use. `absent` says of a name, and `broken` of all, why there is none."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    broken: str | None = None

    def why_not(self, name: str) -> str | None:
        """Why there is no function of this name, where more can be said than that nobody registered it."""
        return self.absent.get(name) or self.broken


def registered(functions: Functions | None, pins: Mapping[str, str]) -> Registered:
    """The functions given (None: those installed) in the versions pinned, or else the newest.

    A package that offers what is no function is no error here: that concerns only a protocol that uses functions.
    """
    try:
        known = installed_functions() if functions is None else functions
    except FunctionsError as error:
        return Registered(broken=f"the functions installed here cannot be had: {error}")
    chosen = known.chosen(pins)
    absent = {
        name: f"it is pinned to the version {version}, and installed are {', '.join(known.versions(name)) or 'none'}"
        for name, version in pins.items()
        if name not in chosen
    }
    return Registered(chosen, absent)
