"""The files that the schemas are tried on, as JSON and as nodes, and what the parser asks of each mapping in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import MappingNode, Node, ScalarNode, SequenceNode, SourceText
from strabo_runtime.language.shape import Shape
from strabo_runtime.language.source import read

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "runtime" / "strabo_runtime" / "protocols"
LANGUAGE = ROOT / "tests" / "language"

Way = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""


def protocol_files() -> list[Path]:
    """Every protocol that must be accepted."""
    shipped = [path for path in SHIPPED.glob("*.yaml") if not path.name.endswith(".test.yaml")]
    return sorted([*(LANGUAGE / "good").glob("*.yaml"), *shipped])


def scenario_files() -> list[Path]:
    """Every scenario file that must be accepted."""
    return sorted(SHIPPED.glob("*.test.yaml"))


def node_of(path: Path) -> Node:
    """The one document of a file."""
    node = read(path.read_text(encoding="utf-8"), filename=path.name, reporter=Reporter())
    assert node is not None
    return node


def from_json(value: Any) -> Node:
    """A node that holds a value and stands nowhere in particular."""
    origin = SourceText("made.yaml", "")
    match value:
        case dict():
            entries = tuple(
                (ScalarNode(key, key, "double", origin, 0, 0), from_json(one)) for key, one in value.items()
            )
            return MappingNode(entries, origin, 0, 0)
        case list():
            return SequenceNode(tuple(from_json(one) for one in value), origin, 0, 0)
        case str():
            return ScalarNode(value, value, "double", origin, 0, 0)
        case None:
            return ScalarNode(None, "null", "plain", origin, 0, 0)
        case bool():
            return ScalarNode(value, str(value).lower(), "plain", origin, 0, 0)
        case _:
            return ScalarNode(value, str(value), "plain", origin, 0, 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A mapping that was read: which keys it may have, and which it must."""

    what: str
    way: Way
    allowed: frozenset[str]
    required: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Seen:
    node: Node
    what: str
    allowed: frozenset[str]
    required: frozenset[str]


class Listener:
    """Hears which keys the readers of files ask mappings for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._seen: list[_Seen] = []
        original = Shape.fields

        def fields(shape: Shape, node: Node, what: str, allowed: tuple[str, ...], **more: Any) -> Any:
            self._seen.append(_Seen(node, what, frozenset(allowed), frozenset(more.get("required", ()))))
            return original(shape, node, what, allowed, **more)

        monkeypatch.setattr(Shape, "fields", fields)

    def asked(self, root: Node) -> list[Asked]:
        """What was asked of the mappings below `root`."""
        ways = {id(node): way for way, node in walk(root)}
        return [
            Asked(one.what, ways[id(one.node)], one.allowed, one.required)
            for one in self._seen
            if id(one.node) in ways
        ]


def walk(node: Node, way: Way = ()) -> Iterator[tuple[Way, Node]]:
    """Every node below one, itself included, with the way that leads to it."""
    yield way, node
    if isinstance(node, MappingNode):
        for key, value in node:
            yield from walk(value, (*way, key.text))
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from walk(item, (*way, index))


def ways_of(value: Any, way: Way = ()) -> Iterator[Way]:
    """Every way into a JSON value."""
    yield way
    if isinstance(value, dict):
        for key, one in value.items():
            yield from ways_of(one, (*way, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from ways_of(one, (*way, index))
