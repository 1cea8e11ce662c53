"""YAML values that know where they stand in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from strabo_runtime.expressions.types import Json
from strabo_runtime.language.diagnostics import Span

Style = Literal["plain", "single", "double", "literal", "folded"]

_LINE_BREAK = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}
_WHITE_ESCAPES = "tnvfr \tN_LP"
"""What follows a backslash that stands for white space."""


class SourceText:
    """A file's name and text, able to turn an index into a line and column."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for index, character in enumerate(self.text):
            if character == "\n" or (character == "\r" and self.text[index + 1 : index + 2] != "\n"):
                starts.append(index + 1)
        return starts

    def span(self, start: int, end: int) -> Span:
        """The stretch from `start` to `end`, cut at the end of its first line."""
        line = bisect_right(self._line_starts, start) - 1
        first = self._line_starts[line]
        stretch = self.text[start:end].split("\n", 1)[0].rstrip()
        return Span(self.file, line + 1, start - first + 1, max(1, len(stretch)))


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where it stands."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class ScalarNode:
    """Text, a number, a boolean or null. `text` is what was written, unquoted and unfolded."""

    value: str | int | float | bool | None
    text: str
    style: Style
    origin: SourceText
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where the scalar stands."""
        return self.origin.span(self.start, self.end)

    @property
    def json(self) -> Json:
        """The plain value."""
        return self.value

    def span_at(self, offset: int, length: int) -> Span:
        """Where the characters from `offset` of `text` stand in the file, through quotes, escapes and folding."""
        places = self._places()
        if not places:
            return self.span
        first = places[min(offset, len(places) - 1)]
        last = places[min(max(offset, offset + length - 1), len(places) - 1)]
        return self.origin.span(first, last + 1)

    def _places(self) -> list[int]:
        """For each character of `text`, its index in the file.

        White space is where folding and indentation change the text, so only white space of the file is ever skipped:
        every other character is found exactly, and one of folded white space is placed near its line's end.
        """
        source, at = self.origin.text, self.start
        if self.style in ("single", "double"):
            at += 1
        elif self.style in ("literal", "folded"):
            header = _LINE_BREAK.search(source, at)
            at = self.end if header is None else header.end()
        double = self.style == "double"
        places: list[int] = []
        for character in self.text:
            if double:
                at = _skip_line_continuations(source, at)
            if character.isspace() and source[at : at + 1] != "\\":
                places.append(min(at, len(source) - 1))
                at += source[at : at + 1] == character
                continue
            if not character.isspace():
                at = _skip_white_space(source, at, self.end, double=double)
            if double and source[at : at + 1] == "\\":
                places.append(at)
                at += _ESCAPE_LENGTHS.get(source[at + 1], 2)
            elif source[at : at + 1] == character:
                places.append(at)
                at += 2 if self.style == "single" and character == "'" else 1
            else:
                return []
        return places


def _skip_white_space(source: str, at: int, end: int, *, double: bool) -> int:
    while at < end:
        if source[at].isspace():
            at += 1
        elif double and source[at] == "\\" and source[at + 1] in _WHITE_ESCAPES:
            at += 2
        else:
            break
        if double:
            at = _skip_line_continuations(source, at)
    return at


def _skip_line_continuations(source: str, at: int) -> int:
    while source[at : at + 2] in ("\\\n", "\\\r"):
        at += 2
        while source[at : at + 1].isspace():
            at += 1
    return at


@dataclass(frozen=True, slots=True, eq=False)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    origin: SourceText
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where the list begins, up to the end of that line."""
        return self.origin.span(self.start, self.end)

    @property
    def json(self) -> Json:
        """The plain value."""
        return [item.json for item in self.items]


@dataclass(frozen=True, slots=True, eq=False)
class MappingNode:
    """Keys and values in the order written; the keys are distinct text."""

    entries: tuple[tuple[ScalarNode, Node], ...]
    origin: SourceText
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where the mapping begins, up to the end of that line."""
        return self.origin.span(self.start, self.end)

    @property
    def json(self) -> Json:
        """The plain value."""
        return {key.text: value.json for key, value in self.entries}

    def get(self, name: str) -> Node | None:
        """The value of a key, or None where it is absent."""
        return next((value for key, value in self.entries if key.text == name), None)

    def key(self, name: str) -> ScalarNode | None:
        """A key itself, to point at."""
        return next((key for key, _ in self.entries if key.text == name), None)

    def __iter__(self) -> Iterator[tuple[ScalarNode, Node]]:
        return iter(self.entries)


Node: TypeAlias = "ScalarNode | SequenceNode | MappingNode"


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """A part of a scalar's text that is a value by itself, such as the `${ id }` of `Role[all] except ${ id }`."""

    node: ScalarNode
    offset: int
    text: str

    @property
    def span(self) -> Span:
        """Where the part stands."""
        return self.node.span_at(self.offset, len(self.text))

    @property
    def json(self) -> Json:
        """The plain value: the part's text."""
        return self.text

    def span_at(self, offset: int, length: int) -> Span:
        """Where the characters from `offset` of the part stand in the file."""
        return self.node.span_at(self.offset + offset, length)


Value: TypeAlias = "Node | Fragment"


def node_at(value: Value, path: tuple[str | int, ...]) -> Value:
    """The node that a path of keys and indexes leads to, or the deepest one on the way that exists."""
    for part in path:
        if isinstance(value, MappingNode):
            inner = value.get(str(part))
            if inner is None:
                return value
            value = inner
        elif isinstance(value, SequenceNode) and isinstance(part, int) and part < len(value.items):
            value = value.items[part]
        else:
            return value
    return value
