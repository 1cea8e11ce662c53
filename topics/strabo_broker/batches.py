"""Record batches (format version 2): reading, checking, stamping, and building control batches.

A batch is a header of 61 bytes and its records, packed or not. The checksum covers everything from the attributes on,
so a broker may set the base offset and the leader epoch without touching it.

    base offset 8 | length 4 | leader epoch 4 | magic 1 | checksum 4 | attributes 2 | last offset delta 4 |
    base timestamp 8 | max timestamp 8 | producer id 8 | producer epoch 2 | base sequence 4 | record count 4 | records
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from aiokafka.record.util import calc_crc32c

from strabo_broker.codes import ErrorCode
from strabo_broker.compression import Compression, decompress
from strabo_broker.errors import CorruptBatch, Refusal

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
NO_PRODUCER: Final = -1
NO_TIMESTAMP: Final = -1

_PLACE: Final = struct.Struct(">qii")  # base offset, length, leader epoch
_CHECKSUM: Final = struct.Struct(">I")
_CHECKSUM_AT: Final = 17
_CHECKED_FROM: Final = 21
_LENGTH_FROM: Final = 12
_MAGIC: Final = 2
_CODEC: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_HIGHEST_CODEC: Final = 4
_LONGEST_VARINT: Final = 10
_SMALLEST_RECORD: Final = 6  # attributes, two deltas, the lengths of key and value, the number of headers
_CONTROL_KEY: Final = struct.Struct(">hh")
_CONTROL_VALUE: Final = struct.Struct(">hi")


class BatchHeader(NamedTuple):
    """The fields before a batch's records, in their order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    maximum_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def compression(self) -> Compression:
        return Compression(self.attributes & _CODEC)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a batch; `encoded` is its bytes as they stand, so that it can be copied unread."""

    offset: int
    timestamp: int
    key: bytes | None
    is_tombstone: bool
    encoded: bytes


def read_header(batch: bytes) -> BatchHeader:
    """The header of a batch that the broker stored itself."""
    return BatchHeader._make(HEADER.unpack_from(batch))


def check_produced(batch: bytes, maximum_bytes: int) -> BatchHeader:
    """The header of a batch that a producer sent, once the batch holds together.

    Raises CorruptBatch where bytes were damaged, Refusal where they say what no producer may say.
    """
    if len(batch) < HEADER.size:
        raise CorruptBatch(f"a batch of {len(batch)} bytes; its header alone has {HEADER.size}")
    header = read_header(batch)
    if header.magic != _MAGIC:
        raise CorruptBatch(f"a batch of format {header.magic}; only format {_MAGIC} is taken")
    size = header.length + _LENGTH_FROM
    if size < HEADER.size or size > len(batch):
        raise CorruptBatch(f"a batch that says it has {size} bytes and has {len(batch)}")
    if size < len(batch):
        raise Refusal(ErrorCode.INVALID_RECORD, "a request carries one batch a partition, and no more")
    if size > maximum_bytes:
        raise Refusal(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {size} bytes; max.message.bytes is {maximum_bytes}"
        )
    if calc_crc32c(memoryview(batch)[_CHECKED_FROM:]) != header.checksum:
        raise CorruptBatch("the batch's checksum is not that of its bytes")
    if header.base_offset != 0:
        raise Refusal(ErrorCode.INVALID_RECORD, "a producer may not choose the offset of its records")
    if header.is_control:
        raise Refusal(ErrorCode.INVALID_RECORD, "a producer may not write control records")
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise Refusal(
            ErrorCode.INVALID_RECORD,
            f"a batch of {header.record_count} records whose last offset delta is {header.last_offset_delta}",
        )
    if header.attributes & _CODEC > _HIGHEST_CODEC:
        raise Refusal(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression {header.attributes & _CODEC} is unknown"
        )
    if header.producer_id >= 0 and (header.producer_epoch < 0 or header.base_sequence < 0):
        raise Refusal(ErrorCode.INVALID_RECORD, "a batch with a producer id needs an epoch and a sequence")
    if header.is_transactional and header.producer_id < 0:
        raise Refusal(ErrorCode.INVALID_RECORD, "a transactional batch needs a producer id")
    return header


def placed(batch: bytes, header: BatchHeader, base_offset: int) -> bytes:
    """The batch at its offset in the log."""
    return _PLACE.pack(base_offset, header.length, 0) + batch[_PLACE.size :]


def stamped(header: BatchHeader, batch: bytes, timestamp: int) -> bytes:
    """The batch with the broker's time for all of its records (`message.timestamp.type=LogAppendTime`)."""
    attributes = header.attributes | _LOG_APPEND_TIME
    return assemble(header._replace(attributes=attributes, maximum_timestamp=timestamp), batch[HEADER.size :])


def assemble(header: BatchHeader, payload: bytes) -> bytes:
    """A batch of this header and payload, with its length and checksum set."""
    length = HEADER.size - _LENGTH_FROM + len(payload)
    batch = bytearray(HEADER.pack(*header._replace(length=length, magic=_MAGIC, checksum=0)) + payload)
    _CHECKSUM.pack_into(batch, _CHECKSUM_AT, calc_crc32c(memoryview(batch)[_CHECKED_FROM:]))
    return bytes(batch)


def control_batch(producer_id: int, producer_epoch: int, *, commit: bool, timestamp: int) -> bytes:
    """The marker that ends a transaction in one partition."""
    key, value = _CONTROL_KEY.pack(0, int(commit)), _CONTROL_VALUE.pack(0, 0)
    body = b"\x00\x00\x00" + varint(len(key)) + key + varint(len(value)) + value + b"\x00"
    header = BatchHeader(
        0,
        0,
        0,
        _MAGIC,
        0,
        _TRANSACTIONAL | _CONTROL,
        0,
        timestamp,
        timestamp,
        producer_id,
        producer_epoch,
        -1,
        1,
    )
    return assemble(header, varint(len(body)) + body)


def is_commit(control: bytes) -> bool:
    """Whether a control batch ends its transaction with a commit."""
    (record,) = records(read_header(control), control)
    return record.key is not None and _CONTROL_KEY.unpack(record.key)[1] == 1


def records(header: BatchHeader, batch: bytes) -> Iterator[Record]:
    """The records of a batch; CorruptBatch when they do not hold together."""
    payload = decompress(header.compression, batch[HEADER.size :])
    try:
        yield from _walk(header, payload)
    except IndexError:
        raise CorruptBatch("the batch's records end inside a record") from None


def _walk(header: BatchHeader, payload: bytes) -> Iterator[Record]:
    position, end = 0, len(payload)
    for _ in range(header.record_count):
        start = position
        length, position = read_varint(payload, position)
        stop = position + length
        if length < 0 or stop > end:
            raise CorruptBatch(f"a record of {length} bytes at byte {start} leaves the batch")
        timestamp_delta, position = read_varint(payload, position + 1)
        offset_delta, position = read_varint(payload, position)
        key_length, position = read_varint(payload, position)
        key_end = position + max(key_length, 0)
        if key_end > stop:
            raise CorruptBatch(f"a key of {key_length} bytes at byte {position} leaves its record")
        value_length, value_at = read_varint(payload, key_end)
        if value_at + max(value_length, 0) > stop:
            raise CorruptBatch(f"a value of {value_length} bytes at byte {value_at} leaves its record")
        yield Record(
            offset=header.base_offset + offset_delta,
            timestamp=(
                header.maximum_timestamp
                if header.is_log_append_time
                else header.base_timestamp + timestamp_delta
            ),
            key=payload[position:key_end] if key_length >= 0 else None,
            is_tombstone=value_length < 0,
            encoded=payload[start:stop],
        )
        position = stop
    if position != end:
        raise CorruptBatch(f"{end - position} bytes follow the batch's last record")


def check_records(header: BatchHeader, batch: bytes, *, with_keys: bool) -> None:
    """Refuse records that do not hold together: once in the log, they would stop every reader of the partition.

    Each record's length is believed only if the records end exactly with the batch; that costs little. Where
    compaction will read them (`with_keys`) every field is looked at, and a record without a key is refused.
    """
    payload = decompress(header.compression, batch[HEADER.size :])
    position, end = 0, len(payload)
    try:
        if with_keys:
            for record in _walk(header, payload):
                if record.key is None:
                    raise Refusal(ErrorCode.INVALID_RECORD, "a compacted topic takes no record without a key")
            return
        for _ in range(header.record_count):
            length, position = read_varint(payload, position)
            position += length
            if length < _SMALLEST_RECORD or position > end:
                break
    except IndexError:
        position = -1
    if position != end:
        raise Refusal(
            ErrorCode.INVALID_RECORD,
            f"the {header.record_count} records do not end with their batch of {end} bytes",
        )


def read_varint(payload: bytes, position: int) -> tuple[int, int]:
    """A signed variable-length number, and the position after it; IndexError when the payload ends before."""
    byte = payload[position]
    position += 1
    if not byte & 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    value, shift = byte & 0x7F, 7
    for _ in range(_LONGEST_VARINT - 1):
        byte = payload[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise CorruptBatch(f"a variable-length number before byte {position} has no end")


def varint(value: int) -> bytes:
    """The bytes of a signed variable-length number."""
    value = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
