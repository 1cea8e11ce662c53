"""What a protocol's conditions and constraints ask of a payload's fields, read off the text of its expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Final, TypeAlias

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions import Context, Expression, ExpressionError, Template
from strabo_runtime.expressions.types import Json

Path: TypeAlias = tuple[str, ...]

_TOKEN = re.compile(
    r"""'[^'\\]*'|"[^"\\]*"|\d+(?:\.\d+)?|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|==|!=|<=|>=|&&|\|\||[^\s]"""
)
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LITERAL = re.compile(r"""-?\d+(?:\.\d+)?|'[^'\\]*'|"[^"\\]*\"""")
_COMPARISONS: Final = frozenset({"==", "!=", "<=", ">=", "<", ">", "in"})
_ENDS: Final = frozenset({"&&", "||", "?", ":", ","})
_OPENING, _CLOSING = "([{", ")]}"
_WORDS: Final = frozenset({"true", "false", "null", "in"})


@dataclass(frozen=True, slots=True)
class Hints:
    """By a field's name: the literals that it is compared with, the paths of other values, and other expressions."""

    literals: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    paths: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    expressions: Mapping[str, tuple[Expression, ...]] = field(default_factory=dict)


class _Gathered:
    """The hints of one machine, as they are found."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.literals: dict[str, dict[Json, None]] = {}
        self.paths: dict[str, dict[Path, None]] = {}
        self.expressions: dict[str, dict[str, Expression]] = {}

    def compare(self, asked: str, operator: str, other: str) -> None:
        """Note what the field at the end of the path `asked` is compared with."""
        if _PATH.fullmatch(asked) is None or asked in _WORDS:
            return
        name = asked.rpartition(".")[2]
        if _LITERAL.fullmatch(other) is not None:
            value = _value(other)
            if operator != "!=" or value != "":
                self.literals.setdefault(name, {})[value] = None
        elif operator == "in" and other.startswith("["):
            for literal in _LITERAL.findall(other):
                self.literals.setdefault(name, {})[_value(literal)] = None
        elif _PATH.fullmatch(other) is not None:
            if other not in _WORDS:
                self.paths.setdefault(name, {})[tuple(other.split("."))] = None
        elif "message" not in other:
            self._compile(name, other)

    def _compile(self, name: str, text: str) -> None:
        try:
            compiled = self._machine.environment.expression(text, Context())
        except ExpressionError:
            # It reads what is there inside a macro alone, say.
            return
        self.expressions.setdefault(name, {})[text] = compiled


def hints_of(machine: Machine) -> Hints:
    """The hints in all expressions of a machine."""
    gathered = _Gathered(machine)
    parts = (
        tuple(machine.states.values()),
        machine.transitions,
        machine.constraints,
        tuple(machine.result.values()),
    )
    for text in dict.fromkeys(_texts(parts)):
        for left, operator, right in _comparisons(text):
            gathered.compare(left, operator, right)
            if operator != "in":
                gathered.compare(right, operator, left)
    return Hints(
        {name: tuple(found) for name, found in gathered.literals.items()},
        {name: tuple(found) for name, found in gathered.paths.items()},
        {name: tuple(found.values()) for name, found in gathered.expressions.items()},
    )


def resolve(path: Path, facts: Mapping[str, Json]) -> Json:
    """The value that a path leads to in what is known; None where it leads nowhere."""
    value: Json = dict(facts)
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _comparisons(text: str) -> Iterator[tuple[str, str, str]]:
    """Every comparison in a text: its left side, its operator, its right side."""
    tokens = [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]
    for place, (token, start, end) in enumerate(tokens):
        if token not in _COMPARISONS:
            continue
        first = _operand(tokens[:place][::-1], _CLOSING, _OPENING)
        last = _operand(tokens[place + 1 :], _OPENING, _CLOSING)
        left = text[tokens[place - first][1] : start] if first else ""
        right = text[end : tokens[place + last][2]] if last else ""
        yield left.strip(), token, right.strip()


def _operand(tokens: list[tuple[str, int, int]], deeper: str, higher: str) -> int:
    """How many tokens belong to the operand that begins here."""
    depth = 0
    for count, (token, _, _) in enumerate(tokens):
        if token in deeper:
            depth += 1
        elif token in higher:
            depth -= 1
            if depth < 0:
                return count
        elif depth == 0 and (token in _ENDS or token in _COMPARISONS):
            return count
    return len(tokens)


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
        for one in fields(part):
            yield from _texts(getattr(part, one.name))


def _strings(value: Json) -> Iterator[str]:
    """The texts of a template that hold expressions."""
    if isinstance(value, str):
        if "${" in value:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
