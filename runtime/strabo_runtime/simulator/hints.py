"""What a protocol's conditions and constraints ask of a payload's fields, read off the text of its expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeAlias

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions import Expression, Template
from strabo_runtime.expressions.types import Json

Path: TypeAlias = tuple[str, ...]

_PATH = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_LITERAL = r"-?\d+(?:\.\d+)?|'[^'\\]*'|\"[^\"\\]*\""
_COMPARISON = re.compile(rf"({_PATH}|{_LITERAL})\s*(?:==|!=|<=|>=|<|>)\s*({_PATH}|{_LITERAL})")
_CHOICE = re.compile(rf"({_PATH})\s+in\s+\[([^\]]*)\]")
_LITERALS = re.compile(_LITERAL)
_WORDS = frozenset({"true", "false", "null"})


@dataclass(frozen=True, slots=True)
class Hints:
    """By a field's name: the literals that it is compared with, and the paths of other values."""

    literals: Mapping[str, tuple[Json, ...]]
    paths: Mapping[str, tuple[Path, ...]]


def hints_of(machine: Machine) -> Hints:
    """The hints in all expressions of a machine."""
    literals: dict[str, dict[Json, None]] = {}
    paths: dict[str, dict[Path, None]] = {}
    parts = (
        tuple(machine.states.values()),
        machine.transitions,
        machine.constraints,
        tuple(machine.result.values()),
    )
    for text in _texts(parts):
        for left, right in _COMPARISON.findall(text):
            for field, other in ((left, right), (right, left)):
                if _is_literal(field) or field in _WORDS:
                    continue
                name = field.rpartition(".")[2]
                if _is_literal(other):
                    literals.setdefault(name, {})[_value(other)] = None
                elif other not in _WORDS:
                    paths.setdefault(name, {})[tuple(other.split("."))] = None
        for field, listed in _CHOICE.findall(text):
            name = field.rpartition(".")[2]
            for literal in _LITERALS.findall(listed):
                literals.setdefault(name, {})[_value(literal)] = None
    return Hints(
        {name: tuple(found) for name, found in literals.items()},
        {name: tuple(found) for name, found in paths.items()},
    )


def resolve(path: Path, facts: Mapping[str, Json]) -> Json:
    """The value that a path leads to in what is known; None where it leads nowhere."""
    value: Json = dict(facts)
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _is_literal(text: str) -> bool:
    return text[0] in "'\"-" or text[0].isdigit()


def _value(literal: str) -> Json:
    if literal[0] in "'\"":
        return literal[1:-1]
    return float(literal) if "." in literal else int(literal)


def _texts(part: object) -> Iterator[str]:
    if isinstance(part, Expression):
        yield part.text
    elif isinstance(part, Template):
        yield from _strings(part.source)
    elif isinstance(part, tuple):
        for item in part:
            yield from _texts(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _texts(getattr(part, field.name))


def _strings(value: Json) -> Iterator[str]:
    """The texts of a template that hold expressions."""
    if isinstance(value, str):
        if "$" in value:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
