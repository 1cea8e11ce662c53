"""The syntax tree of a checked expression, read from CEL's serialised form (`cel.expr.CheckedExpr`)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: text, a number, a boolean or null. Unsigned numbers and bytes, which JSON lacks, are `unsupported`."""

    id: int
    value: bool | int | float | str | None
    unsupported: str | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a root such as `message`, or a macro's variable."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `has(operand.field)` when `test` is set."""

    id: int
    operand: Node
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator (`_+_`); a method's receiver is `target`."""

    id: int
    function: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, b]`."""

    id: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{k: v}`. `message_name` is set for `Type{f: v}`."""

    id: int
    entries: tuple[tuple[Node, Node], ...]
    message_name: str


@dataclass(frozen=True, slots=True)
class Comprehension:
    """What the macros all, exists, exists_one, map and filter expand to: a fold over `source`."""

    id: int
    variable: str
    source: Node
    accumulator: str
    initial: Node
    step: Node


Node: TypeAlias = Constant | Name | Select | Call | ListLiteral | MapLiteral | Comprehension


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """The root, and where each node stands in the text (offset in code points)."""

    root: Node
    offsets: Mapping[int, int]


def parse_serialised(serialised: bytes) -> SyntaxTree:
    """The tree of `Expression.serialize()`: an Any that holds a CheckedExpr."""
    checked = _Message(_Message(serialised).bytes(2))
    positions: dict[int, int] = {}
    for entry in _Message(checked.bytes(5)).all_bytes(4):
        position = _Message(entry)
        positions[position.integer(1)] = position.integer(2)
    return SyntaxTree(_node(checked.bytes(4)), positions)


# The numbers below are the fields of cel/expr/syntax.proto, whose messages CEL's Python package does not ship. They are
# read by hand because protobuf's own decoder stops at a hundred nested messages, which macros in macros may exceed.


def _node(data: bytes) -> Node:
    message = _Message(data)
    identifier = message.integer(2)
    if message.has(3):
        return _constant(identifier, _Message(message.bytes(3)))
    if message.has(4):
        return Name(identifier, _Message(message.bytes(4)).text(1).lstrip("."))
    if message.has(5):
        select = _Message(message.bytes(5))
        return Select(identifier, _node(select.bytes(1)), select.text(2), bool(select.integer(3)))
    if message.has(6):
        call = _Message(message.bytes(6))
        target = _node(call.bytes(1)) if call.has(1) else None
        arguments = tuple(_node(argument) for argument in call.all_bytes(3))
        return Call(identifier, call.text(2), target, arguments)
    if message.has(7):
        items = _Message(message.bytes(7)).all_bytes(1)
        return ListLiteral(identifier, tuple(_node(item) for item in items))
    if message.has(8):
        return _map_literal(identifier, _Message(message.bytes(8)))
    loop = _Message(message.bytes(9))
    source, initial, step = (_node(loop.bytes(number)) for number in (2, 4, 6))
    return Comprehension(identifier, loop.text(1), source, loop.text(3), initial, step)


def _map_literal(identifier: int, literal: _Message) -> MapLiteral:
    entries = []
    for data in literal.all_bytes(2):
        entry = _Message(data)
        key = _node(entry.bytes(3)) if entry.has(3) else Constant(entry.integer(1), entry.text(2))
        entries.append((key, _node(entry.bytes(4))))
    return MapLiteral(identifier, tuple(entries), literal.text(1))


def _constant(identifier: int, constant: _Message) -> Constant:
    if constant.has(2):
        return Constant(identifier, bool(constant.integer(2)))
    if constant.has(3):
        return Constant(identifier, constant.integer(3))
    if constant.has(5):
        return Constant(identifier, constant.double(5))
    if constant.has(6):
        return Constant(identifier, constant.text(6))
    if constant.has(4):
        return Constant(identifier, None, unsupported="an unsigned number")
    if constant.has(7):
        return Constant(identifier, None, unsupported="a bytes literal")
    return Constant(identifier, None)


class _Message:
    """One protobuf message on the wire: field number → its values, in order."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        position = 0
        while position < len(data):
            tag, position = _varint(data, position)
            number, wire_type = tag >> 3, tag & 7
            value: int | bytes
            if wire_type == 0:
                value, position = _varint(data, position)
            else:
                length = 8 if wire_type == 1 else 4
                if wire_type == 2:
                    length, position = _varint(data, position)
                value, position = data[position : position + length], position + length
            self._fields.setdefault(number, []).append(value)

    def has(self, number: int) -> bool:
        return number in self._fields

    def all_bytes(self, number: int) -> list[bytes]:
        return [value for value in self._fields.get(number, ()) if isinstance(value, bytes)]

    def bytes(self, number: int) -> bytes:
        values = self.all_bytes(number)
        return values[-1] if values else b""

    def text(self, number: int) -> str:
        return self.bytes(number).decode()

    def integer(self, number: int) -> int:
        """A signed 64-bit integer; absent is 0."""
        values = self._fields.get(number)
        value = values[-1] if values else 0
        if not isinstance(value, int):
            return 0
        return value - 2**64 if value >= 2**63 else value

    def double(self, number: int) -> float:
        value: float = struct.unpack("<d", self.bytes(number))[0]
        return value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
