"""Records to bytes and back, in Avro's single-object encoding:

C3 01, the schema's fingerprint, the Avro binary value.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar, cast

import fastavro

from strabo_avro import schema_files
from strabo_avro.errors import Undecodable, Unencodable, UnknownSchema
from strabo_avro.records import RECORD_TYPES, Plays, Record

MARKER = b"\xc3\x01"
HEADER_LENGTH = 10

RecordT = TypeVar("RecordT", bound=Record)


class _Format:
    """How one record class is written and read; made once, since parsing a schema costs as much as 500
    records.
    """

    __slots__ = ("_array_fields", "_header", "_names", "_readable", "_type", "_values", "_written")

    def __init__(self, record_type: type[Record], versions: tuple[schema_files.RecordSchema, ...]) -> None:
        newest = versions[-1]
        self._type = record_type
        self._written = newest.parsed
        self._header = MARKER + newest.fingerprint
        self._readable = {MARKER + version.fingerprint: version.parsed for version in versions}
        self._names = tuple(field.name for field in fields(record_type))
        self._values: Callable[[object], tuple[Any, ...]] = attrgetter(*self._names)
        self._array_fields = tuple(
            (field["name"], _item_type(field["type"]["items"]))
            for field in newest.source["fields"]
            if isinstance(field["type"], dict) and field["type"]["type"] == "array"
        )

    def encode(self, record: Record) -> bytes:
        values = dict(zip(self._names, self._values(record), strict=True))
        for name, item_type in self._array_fields:
            if item_type is not None:
                values[name] = [{"protocol": item.protocol, "role": item.role} for item in values[name]]
        stream = io.BytesIO()
        stream.write(self._header)
        try:
            fastavro.schemaless_writer(stream, self._written, values)
        except Exception as error:
            raise Unencodable(f"a {self._type.__name__} cannot be written: {error}") from error
        return stream.getvalue()

    def decode(self, data: bytes) -> Record:
        header = data[:HEADER_LENGTH]
        schema = self._readable.get(header)
        if schema is None:
            raise self._unreadable(data)
        stream = io.BytesIO(data)
        stream.seek(HEADER_LENGTH)
        reader_schema = None if header == self._header else self._written
        try:
            values: Any = fastavro.schemaless_reader(stream, schema, reader_schema)
            for name, item_type in self._array_fields:
                items = values[name]
                values[name] = tuple(items if item_type is None else (item_type(**item) for item in items))
            return self._type(**values)
        except Exception as error:
            raise Undecodable(f"not a {self._type.__name__}: its bytes are damaged ({error})") from error

    def _unreadable(self, data: bytes) -> Undecodable:
        name = self._type.__name__
        if len(data) < HEADER_LENGTH or not data.startswith(MARKER):
            return Undecodable(f"not a {name}: the bytes do not begin as Avro's single-object encoding does")
        other = _NAMES.get(data[:HEADER_LENGTH])
        if other is not None:
            return Undecodable(f"not a {name}: it is a {other}")
        return UnknownSchema(data[2:HEADER_LENGTH], name)


def _item_type(items: Any) -> type[Plays] | None:
    return Plays if isinstance(items, dict) else None


_SCHEMAS = schema_files.packaged()
_FORMATS: dict[type, _Format] = {
    record_type: _Format(record_type, _SCHEMAS[record_type.__name__]) for record_type in RECORD_TYPES
}
_NAMES = {MARKER + schema.fingerprint: name for name, some in _SCHEMAS.items() for schema in some}


def encode(record: Record) -> bytes:
    """The record's bytes, with the newest schema; raises `Unencodable` when a field has a value of a wrong
    type.
    """
    return _FORMATS[type(record)].encode(record)


def decode(data: bytes, record_type: type[RecordT]) -> RecordT:
    """The record in these bytes; raises `Undecodable`, or `UnknownSchema` when a newer version wrote them."""
    return cast(RecordT, _FORMATS[record_type].decode(data))
