"""How long checking a value against a JSON Schema may take: a few references can make that exponential.

The library follows every alternative, and cannot be interrupted. A schema of thirty lines whose definitions each name
the next one twice, or that nests `unevaluatedProperties`, would hold a worker for hours; agents send schemas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from strabo_runtime.expressions.schema_parts import (
    REFERENCES,
    UNEVALUATED,
    Addresses,
    Schema,
    applied_to_any_inner,
    applied_to_fields,
    applied_to_same,
)

MOST_VISITS: Final = 20_000_000
"""Schemas applied to parts of a value, in all: some seconds of the library."""

_MOST_WORK: Final = 200_000
"""Steps of the reckoning itself."""

_AGAIN: Final = 3
"""How often the library looks at what is beside an `unevaluatedProperties` (measured: 2.7)."""

_GROWING = tuple(f'"{keyword}"'.encode() for keyword in (*REFERENCES, *UNEVALUATED))


class SchemaCost:
    """Reckons, for one schema, how often its parts may be applied to a value."""

    def __init__(self, schema: Any) -> None:
        written = orjson.dumps(schema)
        self._schema = schema if any(keyword in written for keyword in _GROWING) else None
        self._visits = lru_cache(maxsize=128)(self._reckoned)

    def is_bearable(self, value: Any) -> bool:
        """Whether a value can be checked without harm."""
        if self._schema is None:
            return True
        depth, places = _extent(value)
        return self._visits(depth) * places <= MOST_VISITS

    def _reckoned(self, depth: int) -> float:
        """The most that any one place in a value of so many levels is visited."""
        try:
            return _Reckoning(self._schema).visits(self._schema, depth)
        except RecursionError:
            return float("inf")


class _Reckoning:
    def __init__(self, schema: Any) -> None:
        self._addresses = Addresses(schema)
        self._counts: dict[int, float] = {}
        self._inner: dict[tuple[int, int], Mapping[str | None, float]] = {}
        self._known: dict[tuple[int, int], float] = {}
        self._work = 0

    def visits(self, schema: Any, depth: int) -> float:
        """The most visits that applying the schema once means for one place: the value itself, or one inside it."""
        key = id(schema), depth
        if key not in self._known:
            inner = self._inner_visits(schema, depth) if depth > 0 else {}
            everywhere = inner.get(None, 0.0)
            named = max((each for name, each in inner.items() if name is not None), default=0.0)
            self._known[key] = max(self._count(schema), everywhere + named)
        return self._known[key]

    def _count(self, schema: Any) -> float:
        """How many schemas are applied to the very same value."""
        if id(schema) not in self._counts:
            self._counts[id(schema)] = (
                0.0  # What leads back here at once is not followed by the library either.
            )
            again = _again(schema)
            self._counts[id(schema)] = 1.0 + again * sum(self._count(each) for each in self._same(schema))
        return self._counts[id(schema)]

    def _inner_visits(self, schema: Any, depth: int) -> Mapping[str | None, float]:
        """Visits by the name of the field; those that may be of any field or item under None."""
        key = id(schema), depth
        if key in self._inner:
            return self._inner[key]
        self._inner[key] = {}
        found: defaultdict[str | None, float] = defaultdict(float)
        if isinstance(schema, dict):
            again = _again(schema)
            for each in self._same(schema):
                for name, visits in self._inner_visits(each, depth).items():
                    self._step()
                    found[name] += again * visits
            for name, each in applied_to_fields(schema):
                found[name] += self.visits(each, depth - 1)
            for each in applied_to_any_inner(schema):
                found[None] += self.visits(each, depth - 1)
        self._inner[key] = found
        return found

    def _same(self, schema: Any) -> Iterator[Any]:
        self._step()
        if not isinstance(schema, dict):
            return
        yield from applied_to_same(schema)
        for keyword in REFERENCES:
            if isinstance(reference := schema.get(keyword), str):
                yield self._addresses.target(schema, reference)

    def _step(self) -> None:
        self._work += 1
        if self._work > _MOST_WORK:
            raise RecursionError("the schema is too intricate to reckon with")


def _again(schema: Schema | Any) -> int:
    return _AGAIN if isinstance(schema, dict) and any(keyword in schema for keyword in UNEVALUATED) else 1


def _extent(value: Any) -> tuple[int, int]:
    """How many levels a value has, and how many values it holds in all."""
    depth = places = 0
    level = [value]
    while level:
        places += len(level)
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
        depth += 1
        level = inner
    return depth - 1, places
