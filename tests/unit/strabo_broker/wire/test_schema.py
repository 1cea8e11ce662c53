"""The wire's schema language: what is written is read again, and hostile bytes are refused before they cost."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strabo_broker.errors import MalformedRequest
from strabo_broker.wire.apis import APIS, Api
from strabo_broker.wire.schema import (
    INT32,
    MAXIMUM_ELEMENTS,
    MAXIMUM_TEXT,
    STRING,
    ArrayOf,
    Fixed,
    Reader,
    Variable,
    decoder,
    encoder,
    message,
    unsigned_varint,
    wired,
)

pytestmark = pytest.mark.slow

BOUNDS = {"b": 7, "h": 15, "i": 31, "q": 63}


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    name: str = wired(STRING)


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    items: tuple[Item, ...] | None = wired(ArrayOf(Item), nullable=1)
    numbers: tuple[int, ...] = wired(ArrayOf(INT32), since=1)
    note: str | None = wired(STRING, since=2, nullable=2, default=None)
    old: int = wired(INT32, until=1, default=-1)


def values_of(kind: Any, version: int, nullable: bool) -> st.SearchStrategy[Any]:
    plain: st.SearchStrategy[Any]
    if isinstance(kind, Fixed):
        if kind.form == "?":
            return st.booleans()
        most = 1 << BOUNDS[kind.form]
        return st.integers(-most, most - 1)
    if isinstance(kind, Variable):
        plain = st.text(max_size=8) if kind.text else st.binary(max_size=8)
    elif isinstance(kind, ArrayOf):
        plain = st.lists(values_of(kind.element, version, False), max_size=3).map(tuple)
    else:
        return messages_of(kind, version)
    return st.none() | plain if nullable else plain


def messages_of(cls: type, version: int) -> st.SearchStrategy[Any]:
    present = {
        name: values_of(wire.kind, version, version >= wire.nullable)
        for name, _, wire in message(cls)
        if wire.since <= version <= wire.until
    }
    return st.builds(cls, **present)


def round_trip(cls: type, value: object, version: int, *, flexible: bool) -> object:
    parts: list[bytes] = []
    encoder(cls, version, flexible)(parts, value)
    reader = Reader(b"".join(parts))
    read = decoder(cls, version, flexible)(reader)
    assert reader.position == reader.end
    return read


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.request.__name__)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_every_message_is_read_as_it_was_written_in_every_version(api: Api, data: st.DataObject) -> None:
    version = data.draw(st.integers(api.oldest, api.newest))
    for cls in (api.request, api.response):
        value = data.draw(messages_of(cls, version))
        assert round_trip(cls, value, version, flexible=api.is_flexible(version)) == value


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.request.__name__)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_message_cut_or_changed_anywhere_is_read_or_refused_and_nothing_else(
    api: Api, data: st.DataObject
) -> None:
    version = data.draw(st.integers(api.oldest, api.newest))
    flexible = api.is_flexible(version)
    parts: list[bytes] = []
    encoder(api.request, version, flexible)(parts, data.draw(messages_of(api.request, version)))
    encoded = bytearray(b"".join(parts))
    for _ in range(data.draw(st.integers(0, 3))):
        if encoded:
            encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(encoded[: data.draw(st.integers(0, len(encoded)))])
    with contextlib.suppress(MalformedRequest):
        decoder(api.request, version, flexible)(Reader(cut))


def test_a_field_that_a_version_lacks_has_its_default() -> None:
    whole = Sample((Item("a"),), (1, 2), "note", 7)
    assert round_trip(Sample, whole, 0, flexible=False) == Sample((Item("a"),), (), None, 7)
    assert round_trip(Sample, whole, 2, flexible=True) == Sample((Item("a"),), (1, 2), "note", -1)


def test_null_is_refused_where_the_version_does_not_know_it() -> None:
    with pytest.raises(MalformedRequest):
        decoder(Sample, 0, False)(Reader(struct.pack(">i", -1)))


def test_an_array_longer_than_its_frame_is_refused_before_it_is_made() -> None:
    with pytest.raises(MalformedRequest, match="leaves the frame"):
        decoder(Sample, 0, False)(Reader(struct.pack(">i", 0x7FFFFFFF)))


def test_all_arrays_of_a_frame_share_a_budget() -> None:
    item = struct.pack(">h", 0)
    encoded = struct.pack(">i", MAXIMUM_ELEMENTS + 1) + item * (MAXIMUM_ELEMENTS + 1)
    with pytest.raises(MalformedRequest, match="array elements"):
        decoder(Sample, 0, False)(Reader(encoded))


def test_a_text_longer_than_the_protocol_allows_is_refused() -> None:
    encoded = unsigned_varint(2) + unsigned_varint(MAXIMUM_TEXT + 2) + b"x" * (MAXIMUM_TEXT + 1)
    with pytest.raises(MalformedRequest, match="the most is"):
        decoder(Sample, 2, True)(Reader(encoded))


def test_a_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedRequest, match="UTF-8"):
        decoder(Sample, 0, False)(Reader(struct.pack(">ih", 1, 1) + b"\xff"))


def test_a_variable_length_number_without_end_is_refused() -> None:
    with pytest.raises(MalformedRequest, match="no end"):
        Reader(b"\xff" * 10).unsigned_varint()


def test_tagged_fields_are_passed_over() -> None:
    reader = Reader(b"\x02" + b"\x00\x01x" + b"\x05\x02yz" + b"rest")
    reader.skip_tagged_fields()
    assert reader.take(4) == b"rest"
