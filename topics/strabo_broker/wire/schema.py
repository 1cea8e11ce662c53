"""A small declarative language for the protocol's messages, compiled into bounded decoders and encoders.

A message is a frozen dataclass whose fields are made by `wired`: the kind on the wire, and the versions that carry it.
From that one declaration come, for each version, a decoder and an encoder. A field that a version does not carry has
its default.

Decoders face hostile bytes. No length or count is believed before it is held against what is left of the frame, and the
elements of all arrays of one frame share a budget, so that a small frame cannot make a large heap or hold up the loop.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Final

from strabo_broker.errors import MalformedRequest

MAXIMUM_ELEMENTS: Final = 500_000
MAXIMUM_TEXT: Final = 32_767
_NEVER: Final = 1 << 15
_VARINT_BYTES: Final = 5

Decoder = Callable[["Reader"], Any]
Encoder = Callable[[list[bytes], Any], None]


class Reader:
    """A position in one frame, and how many array elements it may still hold."""

    __slots__ = ("budget", "buffer", "end", "position")

    def __init__(self, buffer: bytes, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position
        self.end = len(buffer)
        self.budget = MAXIMUM_ELEMENTS

    def take(self, length: int) -> bytes:
        """The next `length` bytes; MalformedRequest when the frame ends before."""
        start = self.position
        stop = start + length
        if length < 0 or stop > self.end:
            raise MalformedRequest(
                f"a field of {length} bytes at byte {start} leaves the frame of {self.end} bytes"
            )
        self.position = stop
        return self.buffer[start:stop]

    def unpack(self, packing: struct.Struct) -> tuple[Any, ...]:
        """The next fixed-width values; MalformedRequest when the frame ends before."""
        start = self.position
        self.position = start + packing.size
        if self.position > self.end:
            raise MalformedRequest(f"the frame of {self.end} bytes ends inside a number at byte {start}")
        return packing.unpack_from(self.buffer, start)

    def unsigned_varint(self) -> int:
        """An unsigned variable-length number of at most 32 bits."""
        value = 0
        for place in range(_VARINT_BYTES):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if not byte & 0x80:
                return value
        raise MalformedRequest(f"a variable-length number at byte {self.position} has no end")

    def count(self, elements: int, smallest: int) -> int:
        """`elements`, once it is certain that as many of the smallest possible size can follow."""
        left = self.end - self.position
        if elements < 0 or elements * smallest > left:
            raise MalformedRequest(
                f"an array of {elements} elements at byte {self.position} leaves the frame"
            )
        self.budget -= elements
        if self.budget < 0:
            raise MalformedRequest(f"a request with more than {MAXIMUM_ELEMENTS} array elements")
        return elements

    def skip_tagged_fields(self) -> None:
        """Pass over the optional fields at the end of a flexible structure; this broker needs none of them."""
        for _ in range(self.count(self.unsigned_varint(), 2)):
            self.unsigned_varint()
            self.take(self.unsigned_varint())


def unsigned_varint(value: int) -> bytes:
    """The bytes of an unsigned variable-length number."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """A number or truth value of fixed width; `form` is its letter in the struct module."""

    form: str
    zero: object = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Variable:
    """Text or bytes behind a length; `length` is the struct of that length in versions that are not flexible."""

    length: struct.Struct
    text: bool
    zero: object


@dataclasses.dataclass(frozen=True, slots=True)
class ArrayOf:
    """A counted sequence of one kind, or of messages."""

    element: Fixed | Variable | type
    zero: object = ()


Kind = Fixed | Variable | ArrayOf

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")

BOOLEAN: Final = Fixed("?", zero=False)
INT8: Final = Fixed("b")
INT16: Final = Fixed("h")
INT32: Final = Fixed("i")
INT64: Final = Fixed("q")
STRING: Final = Variable(_SHORT, text=True, zero="")
BYTES: Final = Variable(_INT, text=False, zero=b"")


@dataclasses.dataclass(frozen=True, slots=True)
class _Wire:
    kind: Kind
    since: int
    until: int
    nullable: int


def wired(
    kind: Kind, *, since: int = 0, until: int = _NEVER, nullable: int = _NEVER, default: object = ...
) -> Any:
    """A field on the wire from version `since` to `until`, which may be null from version `nullable` on."""
    metadata = {"wire": _Wire(kind, since, until, nullable)}
    return dataclasses.field(default=kind.zero if default is ... else default, metadata=metadata)


def message(cls: type) -> tuple[tuple[str, object, _Wire], ...]:
    """The fields of a message: name, default and place on the wire."""
    return tuple((each.name, each.default, each.metadata["wire"]) for each in dataclasses.fields(cls))


@cache
def decoder(cls: type, version: int, flexible: bool) -> Decoder:
    """The function that reads one `cls` as `version` lays it out."""
    steps: list[Callable[[Reader, list[Any]], None]] = []
    fixed = ""
    for _, default, wire in message(cls):
        present = wire.since <= version <= wire.until
        if present and isinstance(wire.kind, Fixed):
            fixed += wire.kind.form
            continue
        if fixed:
            steps.append(_fixed_step(fixed))
            fixed = ""
        if present:
            steps.append(_step(_kind_decoder(wire.kind, version, flexible, version >= wire.nullable)))
        else:
            steps.append(_constant_step(default))
    if fixed:
        steps.append(_fixed_step(fixed))

    def decode(reader: Reader) -> Any:
        values: list[Any] = []
        for step in steps:
            step(reader, values)
        if flexible:
            reader.skip_tagged_fields()
        return cls(*values)

    return decode


def _fixed_step(form: str) -> Callable[[Reader, list[Any]], None]:
    packing = struct.Struct(">" + form)

    def step(reader: Reader, values: list[Any]) -> None:
        values.extend(reader.unpack(packing))

    return step


def _constant_step(default: object) -> Callable[[Reader, list[Any]], None]:
    def step(_: Reader, values: list[Any]) -> None:
        values.append(default)

    return step


def _step(decode: Decoder) -> Callable[[Reader, list[Any]], None]:
    def step(reader: Reader, values: list[Any]) -> None:
        values.append(decode(reader))

    return step


def _kind_decoder(kind: Kind, version: int, flexible: bool, nullable: bool) -> Decoder:
    if isinstance(kind, ArrayOf):
        return _array_decoder(kind, version, flexible, nullable)
    assert isinstance(kind, Variable)
    return _variable_decoder(kind, flexible, nullable)


def _variable_decoder(kind: Variable, flexible: bool, nullable: bool) -> Decoder:
    def decode(reader: Reader) -> Any:
        length = reader.unsigned_varint() - 1 if flexible else reader.unpack(kind.length)[0]
        if length == -1 and nullable:
            return None
        encoded = reader.take(length)
        if not kind.text:
            return encoded
        if length > MAXIMUM_TEXT:
            raise MalformedRequest(f"a text of {length} bytes; the most is {MAXIMUM_TEXT}")
        try:
            return encoded.decode()
        except UnicodeDecodeError:
            raise MalformedRequest(f"a text that ends at byte {reader.position} is not UTF-8") from None

    return decode


def _array_decoder(kind: ArrayOf, version: int, flexible: bool, nullable: bool) -> Decoder:
    smallest = _smallest(kind.element, version, flexible)
    element = kind.element

    def length(reader: Reader) -> int:
        return reader.unsigned_varint() - 1 if flexible else int(reader.unpack(_INT)[0])

    if isinstance(element, Fixed):
        form = element.form

        def decode_fixed(reader: Reader) -> Any:
            elements = length(reader)
            if elements == -1 and nullable:
                return None
            return reader.unpack(struct.Struct(f">{reader.count(elements, smallest)}{form}"))

        return decode_fixed

    one = _variable_decoder(element, flexible, False) if isinstance(element, Variable) else None
    decode_element = one or decoder(element, version, flexible)

    def decode_array(reader: Reader) -> Any:
        elements = length(reader)
        if elements == -1 and nullable:
            return None
        return tuple([decode_element(reader) for _ in range(reader.count(elements, smallest))])

    return decode_array


def _smallest(kind: Kind | type, version: int, flexible: bool) -> int:
    """The fewest bytes that a value of this kind takes."""
    if isinstance(kind, Fixed):
        return struct.calcsize(">" + kind.form)
    if isinstance(kind, Variable):
        return 1 if flexible else kind.length.size
    if isinstance(kind, ArrayOf):
        return 1 if flexible else _INT.size
    present = [wire.kind for _, _, wire in message(kind) if wire.since <= version <= wire.until]
    return sum(_smallest(each, version, flexible) for each in present) + (1 if flexible else 0)


@cache
def encoder(cls: type, version: int, flexible: bool) -> Encoder:
    """The function that writes one `cls` as `version` lays it out, as pieces to be joined."""
    steps: list[Encoder] = []
    fixed: list[tuple[str, str]] = []
    for name, _, wire in message(cls):
        if not wire.since <= version <= wire.until:
            continue
        if isinstance(wire.kind, Fixed):
            fixed.append((name, wire.kind.form))
            continue
        if fixed:
            steps.append(_pack_step(fixed))
            fixed = []
        steps.append(
            _attribute_step(name, _kind_encoder(wire.kind, version, flexible, version >= wire.nullable))
        )
    if fixed:
        steps.append(_pack_step(fixed))

    def encode(parts: list[bytes], value: Any) -> None:
        for step in steps:
            step(parts, value)
        if flexible:
            parts.append(b"\x00")

    return encode


def _pack_step(fields: list[tuple[str, str]]) -> Encoder:
    pack = struct.Struct(">" + "".join(form for _, form in fields)).pack
    read = attrgetter(*(name for name, _ in fields))
    if len(fields) == 1:
        return lambda parts, value: parts.append(pack(read(value)))
    return lambda parts, value: parts.append(pack(*read(value)))


def _attribute_step(name: str, encode: Encoder) -> Encoder:
    read = attrgetter(name)
    return lambda parts, value: encode(parts, read(value))


def _kind_encoder(kind: Kind, version: int, flexible: bool, nullable: bool) -> Encoder:
    if isinstance(kind, ArrayOf):
        return _array_encoder(kind, version, flexible, nullable)
    assert isinstance(kind, Variable)
    return _variable_encoder(kind, flexible, nullable)


def _null(length: struct.Struct, flexible: bool, nullable: bool, empty: int) -> bytes:
    """What stands for None: null where the version knows it, else an empty value."""
    if flexible:
        return unsigned_varint(0 if nullable else empty + 1)
    return length.pack(-1 if nullable else empty)


def _variable_encoder(kind: Variable, flexible: bool, nullable: bool) -> Encoder:
    null = _null(kind.length, flexible, nullable, 0)

    def encode(parts: list[bytes], value: Any) -> None:
        if value is None:
            parts.append(null)
            return
        if kind.text:
            value = value.encode()
        elif isinstance(value, tuple):  # record batches stay apart until the whole response is joined once
            size = sum(map(len, value))
            parts.append(unsigned_varint(size + 1) if flexible else kind.length.pack(size))
            parts.extend(value)
            return
        parts.append(unsigned_varint(len(value) + 1) if flexible else kind.length.pack(len(value)))
        parts.append(value)

    return encode


def _array_encoder(kind: ArrayOf, version: int, flexible: bool, nullable: bool) -> Encoder:
    null = _null(_INT, flexible, nullable, 0)
    element = kind.element

    def head(parts: list[bytes], elements: int) -> None:
        parts.append(unsigned_varint(elements + 1) if flexible else _INT.pack(elements))

    if isinstance(element, Fixed):
        form = element.form

        def encode_fixed(parts: list[bytes], value: Any) -> None:
            if value is None:
                parts.append(null)
                return
            head(parts, len(value))
            parts.append(struct.pack(f">{len(value)}{form}", *value))

        return encode_fixed

    one = _variable_encoder(element, flexible, False) if isinstance(element, Variable) else None
    encode_element = one or encoder(element, version, flexible)

    def encode_array(parts: list[bytes], value: Any) -> None:
        if value is None:
            parts.append(null)
            return
        head(parts, len(value))
        for each in value:
            encode_element(parts, each)

    return encode_array
