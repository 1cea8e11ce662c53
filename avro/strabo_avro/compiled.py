"""Avro's binary encoding as Python functions made for one record type each, the way `dataclasses` makes
`__init__`.

A generic codec walks the schema for every value. An envelope of 19 fields takes fastavro, which is C, 12 µs
to write from a dataclass and 14 µs to read into one; the functions below take 3.2 and 6, and a step of an
instance costs five records. fastavro stays the judge: tests hold every function to it, and it resolves
records of older schemas.

Theory of operation: `make_writer` and `make_reader` turn a schema's fields into the lines of one function,
in field order, and compile it. A line deals with one field, by its type: text and bytes as a length and the
bytes, whole numbers as zigzag varints, `["null", X]` as a branch number and X, an array as one block and an
empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

BLOCK_END = b"\0"
ABSENT = b"\0"
PRESENT = b"\2"
"""The second branch of a union, as a zigzag varint."""

BITS = {"int": 32, "long": 64}


class _Varints(dict[int, bytes]):
    """Lengths as varints: those of common records at the price of a look-up."""

    def __missing__(self, length: int) -> bytes:
        return whole_number(length, 64)


# Small numbers, and the few times that the records of one batch share, are asked for over and over: 0.1 instead of
# 1 µs, some five times a step. Typed, since 1.0 must not be taken for 1.
@lru_cache(maxsize=8192, typed=True)
def whole_number(value: int, bits: int) -> bytes:
    """A number as a zigzag varint; raises `OverflowError` when it has more bits."""
    if not -1 << bits - 1 <= value < 1 << bits - 1:
        raise OverflowError(f"{value} does not fit {bits} bits")
    left = value << 1 ^ value >> 63
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def continue_varint(data: bytes, position: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte says that there is more; gives it still in zigzag, and where it
    ends."""
    value, shift = first & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


LENGTHS = _Varints((length, whole_number(length, 64)) for length in range(4096))
BOOLEANS = {False: b"\0", True: b"\1"}


def make_writer(header: bytes, schema: Mapping[str, Any]) -> Callable[[Any], bytes]:
    """A function from a record to `header` and its encoding.

    What it raises says that a value does not fit its field.
    """
    code = _WriterCode()
    code.names["header"] = header
    parts = ["header", *code.record("record", schema)]
    code.lines.append(f"return join(({', '.join(parts)},))")
    return code.function("write", "record")


def make_reader(start: int, schema: Mapping[str, Any], types: Mapping[str, type]) -> Callable[[bytes], Any]:
    """A function from bytes to the record that stands in them from `start` to their end.

    `types` gives the class of each record by its schema's name: a slotted dataclass without `__post_init__`.
    What the function raises says that the bytes are damaged.
    """
    code = _ReaderCode(types)
    code.lines.append(f"position = {start}")
    record = code.record(schema)
    code.lines.append("if position != len(data): raise ValueError('its length is wrong')")
    code.lines.append(f"return {record}")
    return code.function("read", "data")


class _Code:
    """The lines of a function in the making, the names that they use, and the next free variable."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.names = names
        self._variables = 0

    def variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def block(self, opening: str, lines: list[str]) -> None:
        self.lines.append(opening)
        self.lines += [f"    {line}" for line in lines]

    def nested(self, make: Callable[[], Any]) -> tuple[list[str], Any]:
        """What `make` would add to the lines, apart from them, and its result."""
        outer, self.lines = self.lines, []
        result = make()
        inner, self.lines = self.lines, outer
        return inner, result

    def function(self, name: str, argument: str) -> Callable[[Any], Any]:
        body = "\n".join(f"    {line}" for line in self.lines)
        source = f"def {name}({argument}):\n{body}\n"
        exec(compile(source, f"<strabo_avro {name}>", "exec"), self.names)
        function: Callable[[Any], Any] = self.names[name]
        return function


class _WriterCode(_Code):
    def __init__(self) -> None:
        names = {"lengths": LENGTHS, "booleans": BOOLEANS, "whole_number": whole_number, "join": b"".join}
        super().__init__(names)

    def record(self, value: str, schema: Mapping[str, Any]) -> list[str]:
        """Expressions for the bytes of each field, in order."""
        return [
            part
            for field in schema["fields"]
            for part in self.part(f"{value}.{field['name']}", field["type"])
        ]

    def part(self, value: str, of: Any) -> list[str]:
        if isinstance(of, str) and of in BITS:
            return [f"whole_number({value}, {BITS[of]})"]
        if of == "boolean":
            return [f"booleans[{value}]"]
        if of in ("string", "bytes"):
            held = self.variable()
            self.lines.append(f"{held} = {value}{'.encode()' if of == 'string' else ''}")
            return [f"lengths[len({held})]", held]
        held = self.variable()
        self.lines.append(f"{held} = {value}")
        if isinstance(of, list):
            return [self._optional(held, of[1])]
        if of["type"] == "enum":
            table = f"{held}_symbols"
            self.names[table] = {symbol: whole_number(i, 32) for i, symbol in enumerate(of["symbols"])}
            return [f"{table}[{held}]"]
        return [self._array(held, of["items"])]

    def _optional(self, held: str, of: Any) -> str:
        present, parts = self.nested(lambda: self.part(held, of))
        result = self.variable()
        self.block(f"if {held} is None:", [f"{result} = {ABSENT!r}"])
        self.block("else:", [*present, f"{result} = join(({PRESENT!r}, {', '.join(parts)}))"])
        return result

    def _array(self, held: str, items: Any) -> str:
        result, item = self.variable(), self.variable()

        def one() -> list[str]:
            return self.record(item, items) if isinstance(items, dict) else self.part(item, items)

        body, parts = self.nested(one)
        self.block(f"if not {held}:", [f"{result} = {BLOCK_END!r}"])
        filled = [
            f"{result} = [lengths[len({held})]]",
            f"for {item} in {held}:",
            *(f"    {line}" for line in body),
            f"    {result} += ({', '.join(parts)},)",
            f"{result}.append({BLOCK_END!r})",
            f"{result} = join({result})",
        ]
        self.block("else:", filled)
        return result


class _ReaderCode(_Code):
    def __init__(self, types: Mapping[str, type]) -> None:
        super().__init__({"continue_varint": continue_varint})
        self._types = types

    def record(self, schema: Mapping[str, Any]) -> str:
        """The variable into which a record has been read."""
        name = schema["name"].rpartition(".")[2]
        record_type = self._types[name]
        values = [(field["name"], self.read(field["type"])) for field in schema["fields"]]
        self.names[f"new_{name}"] = record_type.__new__
        self.names[name] = record_type
        record = self.variable()
        # A frozen dataclass sets its fields by name through object.__setattr__: 3.5 µs for an envelope. Its
        # slots' own setters take 1.2 µs, and there is nothing else that __init__ does.
        self.lines.append(f"{record} = new_{name}({name})")
        for field, value in values:
            self.names[f"set_{name}_{field}"] = record_type.__dict__[field].__set__
            self.lines.append(f"set_{name}_{field}({record}, {value})")
        return record

    def read(self, of: Any) -> str:
        """The variable into which a value of this type has been read."""
        held = self.variable()
        if isinstance(of, str) and of in BITS:
            self._varint(held)
            self.lines.append(f"{held} = {held} >> 1 ^ -({held} & 1)")
        elif of == "boolean":
            self.lines += [f"{held} = data[position] == 1", "position += 1"]
        elif of in ("string", "bytes"):
            self._varint(held)
            taken = "data[position:end].decode()" if of == "string" else "data[position:end]"
            self.lines += [f"end = position + ({held} >> 1)", f"{held} = {taken}", "position = end"]
        elif isinstance(of, list):
            self._optional(held, of[1])
        elif of["type"] == "enum":
            self._varint(held)
            self.names[f"{held}_symbols"] = tuple(of["symbols"])
            self.lines.append(f"{held} = {held}_symbols[{held} >> 1]")
        else:
            self._array(held, of["items"])
        return held

    def _varint(self, held: str) -> None:
        self.lines += [f"{held} = data[position]", "position += 1"]
        self.block(f"if {held} > 127:", [f"{held}, position = continue_varint(data, position, {held})"])

    def _optional(self, held: str, of: Any) -> None:
        present, value = self.nested(lambda: self.read(of))
        self.lines += [f"{held} = data[position]", "position += 1"]
        self.block(f"if {held} == {ABSENT[0]}:", [f"{held} = None"])
        self.block(f"elif {held} == {PRESENT[0]}:", [*present, f"{held} = {value}"])
        self.block("else:", ["raise ValueError('it is neither absent nor present')"])

    def _array(self, held: str, items: Any) -> None:
        count = self.variable()
        counted, _ = self.nested(lambda: self._varint(count))
        one, value = self.nested(lambda: self.record(items) if isinstance(items, dict) else self.read(items))
        # A negative count is followed by the block's size in bytes, which readers that skip arrays use.
        sized, _ = self.nested(lambda: self._varint("end"))
        self.lines.append(f"{held} = []")
        loop = [
            *counted,
            f"if {count} == 0: break",
            f"if {count} & 1:",
            *(f"    {line}" for line in sized),
            f"{count} = {count} >> 1 ^ -({count} & 1)",
            f"for _ in range(abs({count})):",
            *(f"    {line}" for line in one),
            f"    {held}.append({value})",
        ]
        self.block("while True:", loop)
        self.lines.append(f"{held} = tuple({held})")
