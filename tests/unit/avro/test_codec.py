from __future__ import annotations

import contextlib
import io
import json
from dataclasses import asdict, replace
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strabo_avro import schema_files
from strabo_avro.codec import HEADER_LENGTH, RecordFormat, decode, encode
from strabo_avro.errors import AvroError, Undecodable, Unencodable, UnknownSchema
from strabo_avro.records import RECORD_TYPES, Envelope, Owner, Position, Record
from tests.unit.avro.samples import SAMPLES, any_record

SCHEMAS = {name: versions[-1] for name, versions in schema_files.packaged().items()}
ENVELOPE = next(sample for sample in SAMPLES if isinstance(sample, Envelope))
ANY_RECORD = st.one_of(*(any_record(schema.source) for schema in SCHEMAS.values()))


def written_by_fastavro(record: Record) -> bytes:
    schema = SCHEMAS[type(record).__name__]
    stream = io.BytesIO()
    stream.write(b"\xc3\x01" + schema.fingerprint)
    fastavro.schemaless_writer(stream, schema.parsed, asdict(record))
    return stream.getvalue()


@given(ANY_RECORD)
def test_a_record_is_the_same_after_encoding_and_decoding(record: Record) -> None:
    assert decode(encode(record), type(record)) == record


@given(ANY_RECORD)
def test_the_bytes_are_those_that_fastavro_writes(record: Record) -> None:
    assert encode(record) == written_by_fastavro(record)


def test_an_array_in_blocks_that_say_their_size_is_read() -> None:
    whole = encode(replace(ENVELOPE, to=("a", "b")))
    in_blocks = whole.replace(b"\x04\x02a\x02b\x00", b"\x01\x04\x02a\x02\x02b\x00")
    assert in_blocks != whole
    assert decode(in_blocks, Envelope).to == ("a", "b")


def test_the_header_is_the_marker_and_the_crc_of_the_canonical_schema() -> None:
    checksum = fastavro.schema.fingerprint(
        fastavro.schema.to_parsing_canonical_form(SCHEMAS["Position"].source), "CRC-64-AVRO"
    )
    encoded = encode(Position(position=1, at=2))
    assert encoded[:HEADER_LENGTH] == b"\xc3\x01" + bytes.fromhex(checksum)
    assert encoded[HEADER_LENGTH:] == b"\x02\x04"


@pytest.mark.parametrize("data", [b"", b"\xc3\x01", b"{}", b"x" * 40])
def test_bytes_that_are_no_record_say_so(data: bytes) -> None:
    with pytest.raises(Undecodable, match="not a Envelope: the bytes do not begin"):
        decode(data, Envelope)


def test_a_record_of_another_type_is_named() -> None:
    with pytest.raises(Undecodable, match="not a Envelope: it is of the type Owner"):
        decode(encode(Owner(owner="w", at=1)), Envelope)


def test_an_unknown_schema_is_told_apart_since_the_reader_must_be_upgraded() -> None:
    with pytest.raises(UnknownSchema, match="newer version") as caught:
        decode(b"\xc3\x01" + b"\7" * 8 + b"abc", Envelope)
    assert caught.value.fingerprint == b"\7" * 8


@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: type(record).__name__)
def test_a_record_cut_short_or_with_more_behind_it_is_damaged(record: Record) -> None:
    data = encode(record)
    for damaged in (*(data[:length] for length in range(HEADER_LENGTH, len(data))), data + b"\0"):
        with pytest.raises(Undecodable, match="damaged"):
            decode(damaged, type(record))


@given(st.sampled_from(SAMPLES), st.data())
@settings(max_examples=300)
def test_damaged_bytes_never_raise_anything_else(record: Record, data: st.DataObject) -> None:
    damaged = bytearray(encode(record))
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=5)):
        damaged[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(AvroError):
        decode(bytes(damaged), type(record))


@given(st.sampled_from(RECORD_TYPES), st.binary(max_size=200))
def test_arbitrary_bytes_behind_a_good_header_never_raise_anything_else(
    record_type: type[Record], rest: bytes
) -> None:
    header = b"\xc3\x01" + SCHEMAS[record_type.__name__].fingerprint
    with contextlib.suppress(Undecodable):
        decode(header + rest, record_type)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": None},
        {"id": b"bytes"},
        {"kind": "shout"},
        {"payload": "text"},
        {"sent_at": 1.5},
        {"sent_at": 2**63},
        {"to": (1,)},
        {"wants_reply": "yes"},
        {"user": 7},
        {"sender": "\ud800"},
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_its_field_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unencodable, match="a Envelope cannot be written"):
        encode(replace(ENVELOPE, **wrong))


def test_a_record_of_an_older_schema_is_read_with_the_new_fields_defaults() -> None:
    newest = dict(SCHEMAS["Owner"].source)
    older = {**newest, "fields": [newest["fields"][0]]}
    at = {**newest["fields"][1], "default": 77}
    newest["fields"] = [newest["fields"][0], at]
    versions = tuple(
        schema_files.parse("Owner", number, json.dumps(source))
        for number, source in enumerate((older, newest), 1)
    )
    stream = io.BytesIO()
    stream.write(b"\xc3\x01" + versions[0].fingerprint)
    fastavro.schemaless_writer(stream, versions[0].parsed, {"owner": "w"})
    assert RecordFormat("Owner", versions).decode(stream.getvalue()) == Owner(owner="w", at=77)


def test_a_damaged_record_of_an_older_schema_is_undecodable() -> None:
    newest = SCHEMAS["Owner"]
    older = schema_files.parse("Owner", 1, json.dumps({**newest.source, "name": "Owner_"}))
    with pytest.raises(Undecodable, match="damaged"):
        RecordFormat("Owner", (older, newest)).decode(b"\xc3\x01" + older.fingerprint + b"\xff")
