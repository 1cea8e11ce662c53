"""Registered functions: pure functions of a package, named with a version that an instance pins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any

from strabo_runtime.expressions.depth import built_size
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.resolution import describe
from strabo_runtime.expressions.schema import LARGEST_INTEGER, SMALLEST_INTEGER
from strabo_runtime.expressions.time import from_datetime, from_timedelta
from strabo_runtime.expressions.types import Field, Json, OptionalOf, Type
from strabo_runtime.expressions.validator import PayloadValidator

_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Function:
    """A pure function that expressions and actions may call.

    `call` takes and gives stored JSON values, by position in the order of `parameters`; it has no clock, no random
    numbers and no I/O, and raises ValueError for values that it does not take. What is not given is None.
    """

    name: str
    version: str
    parameters: tuple[Field, ...]
    result: Type
    call: Callable[..., Any]

    @property
    def required(self) -> int:
        """How many arguments a call must have: those behind are optional."""
        count = len(self.parameters)
        while count and isinstance(self.parameters[count - 1].type, OptionalOf):
            count -= 1
        return count

    def apply(self, arguments: Sequence[Json]) -> Json:
        """The result for stored JSON of the parameters' types, in stored form.

        Raises EvaluationError whatever goes wrong. The arguments are copied: a function that changes them changes no
        instance.
        """
        given = [_copied(argument) for argument in arguments]
        given += [None] * (len(self.parameters) - len(given))
        try:
            stored = _stored(self.call(*given))
            if isinstance(stored, (dict, list)):
                built_size(stored)
        except EvaluationError as error:
            raise EvaluationError(f"{self.name}() gave no result: {error.text}") from error
        except ValueError as error:
            raise EvaluationError(f"{self.name}() gave no result: {_reason(error)}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # A package's function may raise anything, sys.exit() too; none of it may end the worker.
            reason = f"{type(error).__name__}: {_reason(error)}"
            raise EvaluationError(f"{self.name}() gave no result: {reason}") from error
        validator = _validator(self.result)
        if errors := validator.errors(stored):
            raise EvaluationError(
                f"{self.name}() gave a result that is not {describe(self.result, {})}: {'; '.join(errors[:3])}"
            )
        return validator.normal(stored)


class Functions:
    """The functions that a process knows, in every version installed."""

    def __init__(self, functions: Iterable[Function] = ()) -> None:
        self._versions: dict[str, dict[str, Function]] = {}
        for function in functions:
            self._versions.setdefault(function.name, {})[function.version] = function

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._versions))

    def versions(self, name: str) -> tuple[str, ...]:
        """The versions of one name, the oldest first."""
        return tuple(sorted(self._versions.get(name, {}), key=_version_key))

    def find(self, name: str, pins: Mapping[str, str]) -> Function | None:
        """The function in the version pinned under its name, else in the newest one; None where there is none."""
        versions = self._versions.get(name, {})
        if name in pins:
            return versions.get(pins[name])
        return versions[max(versions, key=_version_key)] if versions else None

    def chosen(self, pins: Mapping[str, str]) -> dict[str, Function]:
        """Every name with the version that a definition with these pins uses; left out where that is not installed."""
        found = ((name, self.find(name, pins)) for name in self.names())
        return {name: function for name, function in found if function is not None}


def _version_key(version: str) -> tuple[tuple[int, str], ...]:
    """Orders `10` after `9`, and text before numbers: `1.0-beta` is older than `1.0`."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in version.split("."))


@lru_cache(maxsize=1024)
def _validator(type_: Type) -> PayloadValidator:
    return PayloadValidator(type_, {})


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _stored(value: Any) -> Json:
    """What a function gave, as stored JSON that is ours alone. Raises EvaluationError for what has none."""
    match value:
        case None | bool():
            return value
        case str():
            if not value.isascii():
                value.encode()  # A half of a surrogate pair is a ValueError here, and not when it is written.
            return str.__str__(value)
        case int():
            if SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
                return int(value)
            raise EvaluationError("an integer does not fit 64 bits")
        case float():
            if isfinite(value):
                return float(value)
            raise EvaluationError("a number is not finite")
        case datetime():
            if value.tzinfo is None:
                raise EvaluationError("a datetime has no time zone, so that no instant can be told")
            return from_datetime(value)
        case timedelta():
            return from_timedelta(value)
        case list() | tuple():
            return [_stored(item) for item in value]
        case dict():
            if all(isinstance(key, str) for key in value):
                return {str.__str__(key): _stored(item) for key, item in value.items()}
            raise EvaluationError("the keys of an object are texts")
    raise EvaluationError(f"a {type(value).__name__} is not a value of the language")


def _reason(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be told"
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
