"""Reads YAML 1.2 (core schema) into nodes with positions: plain data only, no duplicate keys, bounded in every way.

The nodes are composed here from ruamel's parse events. Its own composer recurses, and drops the marks that a diagnostic
needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import MappingNode, Node, ScalarNode, SequenceNode, SourceText, Style

MAXIMUM_CHARACTERS: Final = 256 * 1024
MAXIMUM_DEPTH: Final = 64
MAXIMUM_NODES: Final = 50_000
"""Counted with every alias expanded, so that a few lines of aliases cannot stand for a billion values."""

_STYLES: dict[str | None, Style] = {
    None: "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}
# ruamel would change to the rules of YAML 1.1, and stop at a version that it has not heard of.
_DIRECTIVE = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*%YAML[ \t]+(?P<version>\S+)")
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}
_BEYOND_UNICODE = re.compile(r"\\U(?!0010|000)[0-9A-Fa-f]{8}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PROPERTY = re.compile(r"\S+\s*")
_STRING_TAG = "tag:yaml.org,2002:str"

# YAML 1.2.2, section 10.3.2.
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


class _RefusedError(Exception):
    """Reading cannot go on; the reason is reported already."""


def read(text: str, *, filename: str, reporter: Reporter) -> Node | None:
    """The one document of `text`, or None where it cannot be read at all; what is wrong goes to `reporter`."""
    text = text.removeprefix("\ufeff")
    origin = SourceText(filename, text)
    start = origin.span(0, 0)
    if len(text) > MAXIMUM_CHARACTERS:
        reporter.error(
            "yaml-limit",
            start,
            f"the text has {len(text)} characters",
            expected=f"at most {MAXIMUM_CHARACTERS}",
        )
        return None
    directive = _DIRECTIVE.match(text)
    if directive is not None and directive["version"] != "1.2":
        reporter.error(
            "yaml-syntax",
            origin.span(directive.start("version"), directive.end("version")),
            f"the file is to be read as YAML {directive['version']}",
            expected="`1.2`, or no directive",
        )
        return None
    try:
        root = _Composer(origin, reporter).compose(YAML(typ="safe", pure=True).parse(text))
        if root is None:
            reporter.error("wrong-type", start, "the text is empty", expected="a protocol")
        return root
    except _RefusedError:
        return None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = min(mark.index, max(0, len(text.rstrip()) - 1)) if mark is not None else 0
        context = f" {error.context}" if error.context else ""
        reporter.error(
            "yaml-syntax",
            origin.span(place, place + 1),
            f"this is not YAML:{context} {error.problem or 'it cannot be parsed'}".rstrip(),
            hint=_syntax_hint(str(error.problem)),
        )
    except ReaderError as error:
        reporter.error(
            "yaml-syntax",
            origin.span(error.position, error.position + 1),
            f"the character {_code_point(error.character)} is not allowed in YAML",
            hint="write it as an escape in double quotes",
        )
    except (ValueError, OverflowError):
        # ruamel lets Python's own errors through, for an escape beyond Unicode and for a number of thousands of digits.
        escape = _BEYOND_UNICODE.search(text)
        start_at, end_at = (0, 1) if escape is None else escape.span()
        reporter.error(
            "yaml-syntax",
            origin.span(start_at, end_at),
            "a number here is too large for YAML to mean anything by it",
            hint="an escape goes up to \\U0010FFFF",
        )
    return None


def _decimal(text: str) -> int:
    """A decimal number; of one far too large the first digits, for Python reads no number of thousands of digits."""
    digits = text.lstrip("+-").lstrip("0")[:100] or "0"
    return -int(digits) if text.startswith("-") else int(digits)


def _code_point(character: object) -> str:
    # ruamel gives the character or its number, depending on who found it.
    number = character if isinstance(character, int) else ord(str(character)[:1] or "\0")
    return f"U+{number:04X}"


def _syntax_hint(problem: str) -> str | None:
    if "cannot start any token" in problem:
        return "put text that begins with this character in quotes"
    if "mapping values are not allowed" in problem:
        return "put text that holds `: ` in quotes, or check the indentation"
    if "in flow" in problem or "',' or" in problem:
        return "inside `[ ]` and `{ }`, put text that holds `[ ] { } ,` in quotes"
    return None


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been met."""

    start: int
    mapping: bool
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: list[tuple[ScalarNode, Node]] = field(default_factory=list)
    keys: dict[str, ScalarNode] = field(default_factory=dict)
    key: ScalarNode | None = None
    awaits_value: bool = False
    size: int = 1


class _Composer:
    """Builds nodes from events with a stack of its own, so that no depth of input can exhaust Python's."""

    def __init__(self, origin: SourceText, reporter: Reporter) -> None:
        self._origin = origin
        self._reporter = reporter
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._nodes = 0

    def compose(self, events: Iterator[Event]) -> Node | None:
        stack: list[_Open] = []
        root: Node | None = None
        documents = 0
        for event in events:
            start, end = event.start_mark.index, event.end_mark.index
            finished: tuple[Node, int] | None = None
            match event:
                case DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        self._stop(
                            "yaml-syntax", start, end, "a second document begins here", "one document a file"
                        )
                case ScalarEvent():
                    node = self._scalar(event, start, end)
                    self._keep(event.anchor, node, 1)
                    self._count(1, start, end)
                    finished = node, 1
                case AliasEvent():
                    finished = self._alias(event, stack, start, end)
                case SequenceStartEvent() | MappingStartEvent():
                    self._check_tag(event.tag, start, end)
                    self._count(1, start, end)
                    if len(stack) >= MAXIMUM_DEPTH:
                        self._stop(
                            "yaml-limit",
                            start,
                            end,
                            f"values are nested more than {MAXIMUM_DEPTH} deep",
                            f"at most {MAXIMUM_DEPTH} levels",
                        )
                    stack.append(_Open(start, isinstance(event, MappingStartEvent), event.anchor))
                case SequenceEndEvent() | MappingEndEvent():
                    opened = stack.pop()
                    finished = self._close(opened, end), opened.size
                    self._keep(opened.anchor, *finished)
                case _:
                    pass
            if finished is not None:
                if stack:
                    self._add(stack[-1], *finished)
                else:
                    root = finished[0]
        return root

    def _stop(self, code: str, start: int, end: int, message: str, expected: str) -> None:
        self._reporter.error(code, self._origin.span(start, end), message, expected=expected)
        raise _RefusedError

    def _count(self, size: int, start: int, end: int) -> None:
        self._nodes += size
        if self._nodes > MAXIMUM_NODES:
            self._stop(
                "yaml-limit",
                start,
                end,
                "the values, with aliases expanded, are too many",
                f"at most {MAXIMUM_NODES} values",
            )

    def _keep(self, anchor: str | None, node: Node, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = node, size

    def _alias(self, event: AliasEvent, stack: list[_Open], start: int, end: int) -> tuple[Node, int]:
        if any(opened.anchor == event.anchor for opened in stack):
            self._stop(
                "yaml-alias", start, end, f"the alias `*{event.anchor}` refers to itself", "a finished value"
            )
        if event.anchor not in self._anchors:
            self._stop(
                "yaml-alias",
                start,
                end,
                f"there is no anchor `&{event.anchor}` before this alias",
                "an anchor above",
            )
        node, size = self._anchors[event.anchor]
        self._count(size, start, end)
        return node, size

    def _check_tag(self, tag: object, start: int, end: int) -> None:
        if tag is not None and str(tag) not in _CORE_TAGS and str(tag) != "!":
            self._reporter.error(
                "yaml-tag",
                self._origin.span(start, end),
                f"the tag `{tag}` is not allowed",
                expected="plain YAML data without tags",
            )

    def _scalar(self, event: ScalarEvent, start: int, end: int) -> ScalarNode:
        tag = None if event.tag is None else str(event.tag)
        self._check_tag(tag, start, end)
        style = _STYLES[event.style]
        # An anchor or a tag stands before the value; positions are taken from where the value itself begins.
        while start < end and self._origin.text[start] in "&!":
            properties = _PROPERTY.match(self._origin.text, start)
            start = properties.end() if properties is not None else end
        written = event.value
        if (lone := _SURROGATE.search(written)) is not None:
            written = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", written)
            self._reporter.error(
                "bad-value",
                self._origin.span(start, end),
                f"{_code_point(lone[0])} is half a character, and no text that is sent or stored can hold it",
                expected="the character itself, or its whole code such as \\U0001F600",
            )
        value: str | int | float | bool | None = written
        if style == "plain" and tag not in (_STRING_TAG, "!"):
            value = self._resolve(written, start, end)
        return ScalarNode(value, written, style, self._origin, start, end)

    def _resolve(self, text: str, start: int, end: int) -> str | int | float | bool | None:
        if _NULL.fullmatch(text):
            return None
        if _BOOLEAN.fullmatch(text):
            return text[0] in "tT"
        if _INTEGER.fullmatch(text):
            number = int(text, 0) if text[:2] in ("0o", "0x") else _decimal(text)
            if -(2**63) <= number < 2**63:
                return number
            self._reporter.error(
                "bad-value",
                self._origin.span(start, end),
                f"{text[:40]} is too large",
                expected="a 64-bit integer",
            )
            return 2**63 - 1 if number > 0 else -(2**63)
        if _FLOAT.fullmatch(text):
            float_number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            if math.isfinite(float_number):
                return float_number
            self._reporter.error(
                "bad-value",
                self._origin.span(start, end),
                f"{text[:40]} is no JSON number",
                expected="a finite number",
            )
            return 0.0
        return text

    def _add(self, opened: _Open, node: Node, size: int) -> None:
        opened.size += size
        if not opened.mapping:
            opened.items.append(node)
        elif opened.awaits_value:
            if opened.key is not None:
                opened.entries.append((opened.key, _placed(node, opened.key)))
            opened.key, opened.awaits_value = None, False
        else:
            opened.key, opened.awaits_value = self._key(opened, node), True

    def _key(self, opened: _Open, node: Node) -> ScalarNode | None:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            shown = f"`{node.text}`" if isinstance(node, ScalarNode) else "a collection"
            self._reporter.error(
                "wrong-type",
                node.span,
                f"{shown} cannot be a key",
                expected="text",
                hint="put it in quotes" if isinstance(node, ScalarNode) else None,
            )
            return None
        first = opened.keys.setdefault(node.text, node)
        if first is not node:
            self._reporter.error(
                "duplicate-key",
                node.span,
                f"the key `{node.text}` stands here a second time; the first is in line {first.span.line}",
                expected="each key once",
            )
            return None
        return node

    def _close(self, opened: _Open, end: int) -> Node:
        if opened.mapping:
            return MappingNode(tuple(opened.entries), self._origin, opened.start, end)
        return SequenceNode(tuple(opened.items), self._origin, opened.start, end)


def _placed(value: Node, key: ScalarNode) -> Node:
    """The value; one that is not written, and so has no place of its own, gets its key's."""
    if isinstance(value, ScalarNode) and value.start == value.end:
        return replace(value, start=key.start, end=key.end)
    return value
