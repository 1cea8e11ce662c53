"""Random payloads of a given type, drawn so that they have a fair chance of meaning something to the protocol."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import assert_never

from strabo_runtime.expressions import format_duration, format_timestamp
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

_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")
_ANYTHING: tuple[Json, ...] = (None, True, 1.5, "text", [1], {"key": "value"})
_MINUTE = 60_000
_DEEPEST = 4
_REMEMBERED = 50


class Payloads:
    """Makes payloads. Values seen under a field's name are used again: that is how conversations hang together."""

    def __init__(self, random: Random, types: NamedTypes) -> None:
        self._random = random
        self._types = types
        self._seen: dict[str, deque[Json]] = {}
        self._known_numbers: deque[float] = deque(maxlen=_REMEMBERED)

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

    def make(self, kind: Type, *, sender: str, role: str, now: int, name: str = "", depth: int = 0) -> Json:
        """A valid value of this type, as `sender` might send it in its role at `now`; `name` is the field it is for."""
        random = self._random
        match kind:
            case Record(fields=fields):
                made: dict[str, Json] = {}
                for field in fields:
                    if isinstance(field.type, OptionalOf) and (depth > _DEEPEST or random.random() < 0.5):
                        continue
                    made[field.name] = self.make(
                        field.type, sender=sender, role=role, now=now, name=field.name, depth=depth + 1
                    )
                return made
            case OptionalOf(of=inner):
                return self.make(inner, sender=sender, role=role, now=now, name=name, depth=depth)
            case Reference(name=target):
                return self.make(
                    self._types[target], sender=sender, role=role, now=now, name=name, depth=depth
                )
            case ListOf(item=item):
                count = 0 if depth > _DEEPEST else random.choice((0, 1, 1, 2, 3))
                return [
                    self.make(item, sender=sender, role=role, now=now, name=name, depth=depth + 1)
                    for _ in range(count)
                ]
            case MapOf(value=value):
                keys = () if depth > _DEEPEST else random.sample(_WORDS, random.randint(0, 2))
                return {
                    key: self.make(value, sender=sender, role=role, now=now, name=key, depth=depth + 1)
                    for key in keys
                }
            case EnumOf(values=values):
                return random.choice(values)
            case Scalar():
                return self._scalar(kind, sender, role, now, name)
            case _:
                assert_never(kind)

    def _scalar(self, kind: Scalar, sender: str, role: str, now: int, name: str) -> Json:
        random = self._random
        match kind.name:
            case "string":
                return self._text(sender, role, name)
            case "integer":
                return self._known(name, int) if random.random() < 0.3 else random.randint(0, 20)
            case "number":
                return self._number()
            case "boolean":
                return random.random() < 0.5
            case "timestamp":
                return format_timestamp(now + random.randint(1, 48 * 60) * _MINUTE)
            case "duration":
                return format_duration(random.randint(1, 180) * _MINUTE)
            case "object":
                return {random.choice(_WORDS): random.randint(0, 9)}
            case "any":
                return random.choice(_ANYTHING)

    def _number(self) -> float:
        """Often less than a number that was seen: budgets, limits and prices are there to be kept."""
        most = max((value for value in self._known_numbers if value > 0), default=200.0)
        top = most if self._random.random() < 0.7 else 2 * most
        return round(self._random.random() * top, 2)

    def _text(self, sender: str, role: str, name: str) -> str:
        """A Solver's `solver_id` is mostly its own id; what another field holds was mostly seen under its name."""
        chance = self._random.random()
        own = name.lower().removesuffix("id").strip("_-")
        if own and own in role.lower() and chance < 0.85:
            return sender
        if chance < 0.9:
            return str(self._known(name, str) or self._random.choice(_WORDS))
        return self._random.choice((*_WORDS, sender))

    def _known(self, name: str, kind: type[int] | type[str]) -> int | str:
        values = [
            value
            for value in self._seen.get(name, ())
            if isinstance(value, kind) and not isinstance(value, bool)
        ]
        return self._random.choice(values) if values else kind()
