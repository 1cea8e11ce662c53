"""Records to bytes and back, in Avro's single-object encoding.

That is C3 01, the fingerprint of the schema that wrote the record, and the record in Avro's binary encoding.
"""

from __future__ import annotations

import io
from typing import Any, TypeVar, cast

import fastavro

from strabo_avro import compiled, schema_files
from strabo_avro.errors import Undecodable, Unencodable, UnknownSchema
from strabo_avro.records import RECORD_TYPES, Plays, Record

MARKER = b"\xc3\x01"
HEADER_LENGTH = 10

RecordT = TypeVar("RecordT", bound=Record)

_TYPES: dict[str, type] = {record_type.__name__: record_type for record_type in (*RECORD_TYPES, Plays)}


class RecordFormat:
    """How one record type is written and read: with its newest schema quickly, with older ones by
    resolution."""

    __slots__ = ("_bytes", "_header", "_name", "_newest", "_older", "_read", "_write")

    def __init__(self, name: str, versions: tuple[schema_files.RecordSchema, ...]) -> None:
        newest = versions[-1]
        self._name = name
        self._newest = newest.parsed
        self._bytes = tuple(field["name"] for field in newest.source["fields"] if field["type"] == "bytes")
        self._header = MARKER + newest.fingerprint
        self._older = {MARKER + version.fingerprint: version.parsed for version in versions[:-1]}
        self._write = compiled.make_writer(self._header, newest.source)
        self._read = compiled.make_reader(HEADER_LENGTH, newest.source, _TYPES)

    def encode(self, record: Record) -> bytes:
        """As `encode` of this module."""
        try:
            return self._write(record)
        except Exception as error:
            raise Unencodable(f"a {self._name} cannot be written: {type(error).__name__} {error}") from error

    def decode(self, data: bytes) -> Record:
        """As `decode` of this module."""
        header = data[:HEADER_LENGTH]
        if header != self._header and header not in self._older:
            raise self._unreadable(data)
        try:
            if header == self._header:
                return cast(Record, self._read(data))
            return cast(Record, self._read(self._upgraded(data, self._older[header])))
        except Exception as error:
            raise Undecodable(f"not a {self._name}: its bytes are damaged ({error})") from error

    def _upgraded(self, data: bytes, written: Any) -> bytes:
        """The same record as the newest schema would have written it."""
        stream = io.BytesIO(data)
        stream.seek(HEADER_LENGTH)
        values = cast("dict[str, Any]", fastavro.schemaless_reader(stream, written, self._newest))
        for name in self._bytes:
            # The default of bytes is text in a schema, and fastavro gives it as it stands there.
            if isinstance(values[name], str):
                values[name] = values[name].encode("latin-1")
        upgraded = io.BytesIO()
        upgraded.write(self._header)
        fastavro.schemaless_writer(upgraded, self._newest, values)
        return upgraded.getvalue()

    def _unreadable(self, data: bytes) -> Undecodable:
        if len(data) < HEADER_LENGTH or not data.startswith(MARKER):
            return Undecodable(
                f"not a {self._name}: the bytes do not begin as Avro's single-object encoding does"
            )
        other = _NAMES.get(data[:HEADER_LENGTH])
        if other is not None:
            return Undecodable(f"not a {self._name}: it is of the type {other}")
        return UnknownSchema(data[2:HEADER_LENGTH], self._name)


_SCHEMAS = schema_files.packaged()
_FORMATS: dict[type, RecordFormat] = {
    record_type: RecordFormat(record_type.__name__, _SCHEMAS[record_type.__name__])
    for record_type in RECORD_TYPES
}
_NAMES = {MARKER + schema.fingerprint: name for name, some in _SCHEMAS.items() for schema in some}


def encode(record: Record) -> bytes:
    """The record's bytes, by the newest schema; raises `Unencodable` when a value does not fit its field."""
    return _FORMATS[type(record)].encode(record)


def decode(data: bytes, record_type: type[RecordT]) -> RecordT:
    """The record in these bytes; raises `Undecodable`, or `UnknownSchema` when a newer version wrote them."""
    return cast(RecordT, _FORMATS[record_type].decode(data))
