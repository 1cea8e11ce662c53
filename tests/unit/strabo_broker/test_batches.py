"""Record batches: what is taken from producers, what is refused, and what the broker makes itself."""

from __future__ import annotations

import contextlib
import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from strabo_broker import batches
from strabo_broker.batches import (
    HEADER,
    assemble,
    check_produced,
    control_batch,
    is_commit,
    read_header,
    records,
)
from strabo_broker.codes import ErrorCode
from strabo_broker.compression import Compression
from strabo_broker.errors import CorruptBatch, Refusal
from tests.unit.strabo_broker.building import batch

ROOM = 1 << 20


def test_a_sound_batch_is_taken() -> None:
    header = check_produced(batch((b"k", b"v"), (b"l", b"w")), ROOM)
    assert (header.record_count, header.last_offset_delta) == (2, 1)


@pytest.mark.parametrize("compression", Compression)
def test_a_batch_of_aiokafka_is_read_record_by_record(compression: Compression) -> None:
    builder = DefaultRecordBatchBuilder(2, compression, False, -1, -1, -1, 1 << 16)
    for index in range(20):
        builder.append(index, 5_000 + index, b"key%d" % index, b"value" * 10, [("h", b"x")])
    built = bytes(builder.build())
    header = check_produced(built, ROOM)
    found = list(records(header, built))
    assert [each.key for each in found] == [b"key%d" % index for index in range(20)]
    assert [each.timestamp for each in found] == list(range(5_000, 5_020))


@pytest.mark.parametrize("at", [17, 21, 30, 61, -1])
def test_a_changed_byte_makes_the_batch_corrupt(at: int) -> None:
    damaged = bytearray(batch((b"k", b"v")))
    damaged[at] ^= 0x01
    with pytest.raises(CorruptBatch, match="checksum"):
        check_produced(bytes(damaged), ROOM)


@pytest.mark.parametrize("size", [0, 1, HEADER.size - 1, HEADER.size + 3])
def test_a_batch_cut_short_is_corrupt(size: int) -> None:
    with pytest.raises(CorruptBatch):
        check_produced(batch((b"k", b"v" * 50))[:size], ROOM)


@pytest.mark.parametrize("length", [-1, 0, 48, 0x7FFFFFFF])
def test_a_batch_that_lies_about_its_length_is_corrupt(length: int) -> None:
    lying = bytearray(batch())
    struct.pack_into(">i", lying, 8, length)
    with pytest.raises(CorruptBatch):
        check_produced(bytes(lying), ROOM)


def test_an_older_format_is_corrupt() -> None:
    old = bytearray(batch())
    old[16] = 1
    with pytest.raises(CorruptBatch, match="format 1"):
        check_produced(bytes(old), ROOM)


def refused_code(produced: bytes, room: int = ROOM) -> ErrorCode:
    with pytest.raises(Refusal) as refusal:
        check_produced(produced, room)
    return refusal.value.code


def altered(**fields: int) -> bytes:
    sound = batch((b"k", b"v"))
    return assemble(read_header(sound)._replace(**fields), sound[HEADER.size :])


def test_two_batches_at_once_are_refused() -> None:
    assert refused_code(batch() + batch()) is ErrorCode.INVALID_RECORD


def test_a_batch_larger_than_allowed_is_refused() -> None:
    assert refused_code(batch((None, b"v" * 100)), 100) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_control_batch_of_a_producer_is_refused() -> None:
    assert refused_code(control_batch(1, 0, commit=True, timestamp=0)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("fields", [{"record_count": 0}, {"record_count": 5}, {"last_offset_delta": -1}])
def test_counts_that_disagree_are_refused(fields: dict[str, int]) -> None:
    assert refused_code(altered(**fields)) is ErrorCode.INVALID_RECORD


def test_an_unknown_compression_is_refused() -> None:
    assert refused_code(altered(attributes=5)) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("fields", [{"producer_id": 1}, {"attributes": 0x10}])
def test_a_batch_whose_producer_is_half_given_is_refused(fields: dict[str, int]) -> None:
    assert refused_code(altered(**fields)) is ErrorCode.INVALID_RECORD


def test_placing_a_batch_leaves_its_checksum_right() -> None:
    sound = batch()
    placed = batches.placed(sound, read_header(sound), 1_234)
    assert read_header(placed).base_offset == 1_234
    assert DefaultRecordBatch(placed).validate_crc()


def test_stamping_a_batch_gives_all_its_records_the_brokers_time() -> None:
    sound = batch((b"a", b""), (b"b", b""), timestamp_deltas=(0, 5))
    stamped = batches.stamped(read_header(sound), sound, 99_000)
    header = check_produced(stamped, ROOM)
    assert {each.timestamp for each in records(header, stamped)} == {99_000}


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_is_read_as_one_by_aiokafka(commit: bool) -> None:
    marker = control_batch(7, 3, commit=commit, timestamp=1_000)
    theirs = DefaultRecordBatch(marker)
    assert theirs.validate_crc()
    assert theirs.is_control_batch and theirs.is_transactional and theirs.producer_id == 7
    assert is_commit(marker) is commit


def test_records_that_leave_their_batch_are_corrupt() -> None:
    sound = batch((b"k", b"v"))
    payload = bytearray(sound[HEADER.size :])
    payload[0] = 0x7E
    forged = assemble(read_header(sound), bytes(payload))
    with pytest.raises(CorruptBatch):
        list(records(read_header(forged), forged))


def forged(payload: bytes, **fields: int) -> bytes:
    sound = batch((b"a", b"1"), (b"b", b"2"))
    return assemble(read_header(sound)._replace(**fields), payload)


PAYLOAD = batch((b"a", b"1"), (b"b", b"2"))[HEADER.size :]


@pytest.mark.parametrize("with_keys", [False, True])
@pytest.mark.parametrize(
    "payload",
    [
        PAYLOAD[:-1],
        PAYLOAD[:-6],
        PAYLOAD + b"\x00",
        PAYLOAD * 2,
        b"",
        b"\x00\x00",
        b"\x01" * 20,
        b"\xff" * 20,
    ],
)
def test_records_that_do_not_end_with_their_batch_are_not_let_into_the_log(
    payload: bytes, with_keys: bool
) -> None:
    bad = forged(payload)
    with pytest.raises((Refusal, CorruptBatch)):
        batches.check_records(read_header(bad), bad, with_keys=with_keys)


@pytest.mark.parametrize("with_keys", [False, True])
@pytest.mark.parametrize("compression", Compression)
def test_sound_records_are_let_in(compression: Compression, with_keys: bool) -> None:
    sound = batch((b"a", b"1"), (b"b", None), (b"", b""), compression=compression)
    batches.check_records(read_header(sound), sound, with_keys=with_keys)


def test_records_that_cannot_be_unpacked_are_corrupt() -> None:
    bad = forged(PAYLOAD, attributes=Compression.ZSTD)
    with pytest.raises(CorruptBatch, match="zstd"):
        batches.check_records(read_header(bad), bad, with_keys=False)


def test_a_producer_may_not_choose_offsets() -> None:
    assert refused_code(altered(base_offset=7)) is ErrorCode.INVALID_RECORD


def test_bytes_after_the_last_record_are_corrupt() -> None:
    sound = batch((b"k", b"v"))
    forged = assemble(read_header(sound), sound[HEADER.size :] + b"\x00")
    with pytest.raises(CorruptBatch, match="follow"):
        list(records(read_header(forged), forged))


@given(st.binary(max_size=200), st.integers(0, 4), st.integers(1, 50))
def test_any_payload_is_read_or_found_corrupt(payload: bytes, compression: int, count: int) -> None:
    forged = assemble(read_header(batch())._replace(attributes=compression, record_count=count), payload)
    with contextlib.suppress(CorruptBatch):
        list(records(read_header(forged), forged))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_signed_variable_length_numbers_are_read_as_written(value: int) -> None:
    encoded = batches.varint(value)
    assert batches.read_varint(encoded, 0) == (value, len(encoded))
