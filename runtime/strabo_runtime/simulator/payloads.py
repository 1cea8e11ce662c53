"""Random payloads of a given type, drawn so that they have a fair chance of meaning something to the protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, assert_never

from strabo_runtime.expressions import Expression, format_duration, format_timestamp, parse_timestamp
from strabo_runtime.expressions.types import (
    EnumOf,
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
from strabo_runtime.simulator.hints import Hints, resolve
from strabo_runtime.simulator.schema_values import SchemaValues

_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")
_ANYTHING: tuple[Json, ...] = (None, True, 1.5, "text", [1], {"key": "value"})
_NO_HINTS = Hints()
FULLNESS = (0.2, 0.5, 0.95)
"""How many of the optional fields a payload has: some say much, others little."""

_MINUTE = 60_000
_DEEPEST = 4
_REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a payload, in which role, when, and what it may know.

    `facts` are variables and the like, by name; `evaluate` gives an expression's value, None where it has none.
    """

    sender: str
    role: str
    now: int
    facts: Mapping[str, Json] = field(default_factory=dict)
    evaluate: Callable[[Expression], Json] = lambda _: None


class Payloads:
    """Makes payloads. Values seen under a field's name are used again: that is how conversations hang together.

    So are the values that conditions and constraints compare a field with.
    """

    def __init__(self, random: Random, types: NamedTypes, hints: Hints = _NO_HINTS) -> None:
        self._random = random
        self._types = types
        self._hints = hints
        self._seen: dict[str, deque[Json]] = {}
        self._known_numbers: deque[float] = deque(maxlen=_REMEMBERED)
        self._fullness = 0.5

    def observe(self, payload: Json) -> None:
        """Remember the values of a payload by their fields' names."""
        if isinstance(payload, dict):
            for name, value in payload.items():
                if isinstance(value, dict | list):
                    self.observe(value)
                else:
                    self._seen.setdefault(name, deque(maxlen=_REMEMBERED)).append(value)
                    if isinstance(value, float):
                        self._known_numbers.append(value)
        elif isinstance(payload, list):
            for item in payload:
                self.observe(item)

    def of_schema(self, schema: Any, writer: Writer) -> Json:
        """A value that a JSON Schema probably takes."""
        fullness = self._random.choice(FULLNESS)
        return SchemaValues(self._random, schema, lambda name: self._text(name, writer), fullness).make()

    def make(self, kind: Type, writer: Writer, name: str = "", depth: int = 0) -> Json:
        """A valid value of this type, as the writer might give it; `name` is the field it is for."""
        random = self._random
        if depth == 0:
            self._fullness = random.choice(FULLNESS)
        match kind:
            case Record(fields=fields):
                made: dict[str, Json] = {}
                for one in fields:
                    if isinstance(one.type, OptionalOf) and (
                        depth > _DEEPEST or random.random() >= self._fullness
                    ):
                        continue
                    made[one.name] = self.make(one.type, writer, one.name, depth + 1)
                return made
            case OptionalOf(of=inner):
                return self.make(inner, writer, name, depth)
            case Reference(name=target):
                return self.make(self._types[target], writer, name, depth)
            case ListOf(item=item):
                count = 0 if depth > _DEEPEST else random.choice((0, 1, 1, 2, 3))
                return [self.make(item, writer, name, depth + 1) for _ in range(count)]
            case MapOf(value=value):
                keys = () if depth > _DEEPEST else random.sample(_WORDS, random.randint(0, 2))
                return {key: self.make(value, writer, key, depth + 1) for key in keys}
            case EnumOf(values=values):
                return random.choice(values)
            case Scalar():
                return self._scalar(kind, writer, name)
            case _:
                assert_never(kind)

    def _scalar(self, kind: Scalar, writer: Writer, name: str) -> Json:
        random = self._random
        match kind.name:
            case "string":
                return self._text(name, writer)
            case "integer":
                return self._integer(name, writer)
            case "number":
                return self._number(name, writer)
            case "boolean":
                return random.random() < 0.5
            case "timestamp":
                return self._timestamp(name, writer)
            case "duration":
                return format_duration(random.randint(1, 180) * _MINUTE)
            case "object":
                return {random.choice(_WORDS): random.randint(0, 9)}
            case "any":
                return random.choice(_ANYTHING)

    def _integer(self, name: str, writer: Writer) -> int:
        asked = self._asked(name, writer)
        if isinstance(asked, int | float) and not isinstance(asked, bool) and self._random.random() < 0.7:
            return int(asked) + self._random.choice((-1, 0, 0, 0, 0, 1))
        if self._random.random() < 0.3:
            known = self._known(name, int)
            if isinstance(known, int):
                return known
        return self._random.randint(0, 20)

    def _number(self, name: str, writer: Writer) -> float:
        """Often near what it is compared with, or below a number that was seen: budgets are there to be kept."""
        asked = self._asked(name, writer)
        if isinstance(asked, int | float) and not isinstance(asked, bool) and self._random.random() < 0.5:
            return round(float(asked) * self._random.choice((0.5, 0.9, 1.0, 1.0, 1.1)), 2)
        most = max((value for value in self._known_numbers if value > 0), default=200.0)
        top = most if self._random.random() < 0.7 else 2 * most
        return round(self._random.random() * top, 2)

    def _timestamp(self, name: str, writer: Writer) -> str:
        asked = self._asked(name, writer)
        start = writer.now
        if isinstance(asked, str) and self._random.random() < 0.3:
            try:
                start = parse_timestamp(asked) + self._random.choice((-60, 0, 60)) * _MINUTE
            except ValueError:
                start = writer.now
            return format_timestamp(start)
        return format_timestamp(start + self._random.randint(1, 48 * 60) * _MINUTE)

    def _text(self, name: str, writer: Writer) -> str:
        """What the field is compared with, else the writer's own id, else what was seen under the field's name.

        A Solver's `solver_id` is mostly its own id.
        """
        random = self._random
        asked = self._asked(name, writer)
        if isinstance(asked, str) and random.random() < 0.7:
            return asked
        chance = random.random()
        own = name.lower().removesuffix("id").strip("_-")
        if own and own in writer.role.lower() and chance < 0.85:
            return writer.sender
        if chance < 0.9:
            return str(self._known(name, str) or random.choice(_WORDS))
        return random.choice((*_WORDS, writer.sender))

    def _asked(self, name: str, writer: Writer) -> Json:
        """A value that some condition compares the field with; None where there is none."""
        found: list[Json] = list(self._hints.literals.get(name, ()))
        found += [resolve(path, writer.facts) for path in self._hints.paths.get(name, ())]
        found += [writer.evaluate(expression) for expression in self._hints.expressions.get(name, ())]
        known = [value for value in found if value is not None and value != []]
        chosen = self._random.choice(known) if known else None
        return self._random.choice(chosen) if isinstance(chosen, list) else chosen

    def _known(self, name: str, kind: type[int] | type[str]) -> int | str | None:
        values = [
            value
            for value in self._seen.get(name, ())
            if isinstance(value, kind) and not isinstance(value, bool)
        ]
        return self._random.choice(values) if values else None
