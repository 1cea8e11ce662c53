"""Finds where a part of a protocol stands in its file, by name."""

from __future__ import annotations

from typing import TypeAlias

from strabo_runtime.expressions.types import Json
from strabo_runtime.language.diagnostics import Reporter, Span
from strabo_runtime.language.nodes import MappingNode, Node, ScalarNode, SequenceNode, SourceText
from strabo_runtime.language.source import read

Way: TypeAlias = tuple[str | int, ...]
"""Keys, and in a list the names of its entries (their `name`, or the entry itself) or their indexes."""


class Places:
    """One file's text as a tree of nodes."""

    def __init__(self, source: str, filename: str) -> None:
        root = read(source, filename=filename, reporter=Reporter())
        self._root: Node = MappingNode((), SourceText(filename, source), 0, 0) if root is None else root

    def json(self, *way: str | int) -> Json:
        """The plain value that a way leads to; None where there is none."""
        node: Node | None = self._root
        for part in way:
            node = None if node is None else _inner(node, part)
        return None if node is None else node.json

    def names(self, *way: str | int) -> tuple[str, ...]:
        """The keys of the mapping that a way leads to; nothing where there is none."""
        value = self.json(*way)
        return tuple(value) if isinstance(value, dict) else ()

    def span(self, way: Way) -> Span:
        """The place of a part: its key, or its entry in a list. Where it is not there, the nearest that holds it."""
        node = self._root
        place = _beginning(node)
        for part in way:
            inner = _inner(node, part)
            if inner is None:
                break
            key = node.key(str(part)) if isinstance(node, MappingNode) else None
            place = _beginning(inner) if key is None else key.span
            node = inner
        return place


def _inner(node: Node, part: str | int) -> Node | None:
    if isinstance(node, MappingNode):
        return node.get(str(part))
    if not isinstance(node, SequenceNode):
        return None
    if isinstance(part, int):
        return node.items[part] if part < len(node.items) else None
    return next((item for item in node.items if _name(item) == part), None)


def _name(item: Node) -> str | None:
    named = item.get("name") if isinstance(item, MappingNode) else item
    return named.text if isinstance(named, ScalarNode) else None


def _beginning(node: Node) -> Span:
    """Where a part begins: at its name, if it has one."""
    if isinstance(node, MappingNode):
        named = node.get("name")
        if named is not None:
            return named.span
        if node.entries:
            return node.entries[0][0].span
    return node.span
