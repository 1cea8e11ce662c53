"""Batches that no correct producer writes are refused whole, and never reach a reader."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable

import pytest
from aiokafka.record.util import calc_crc32c

from tests.contracts.wire import Code, Log, Wire, batch, create_topic

# Where the fields of a batch are, in bytes from its begin (KIP-98).
LENGTH, MAGIC, CRC, ATTRIBUTES, LAST_OFFSET_DELTA, COUNT, RECORDS = 8, 16, 17, 21, 23, 57, 61
CONTROL, TRANSACTIONAL, GZIP = 0x20, 0x10, 1
# Apache Kafka has no code for records that cannot be unpacked, and answers "unknown server error".
REFUSED = {Code.CORRUPT_MESSAGE, Code.INVALID_RECORD, Code.UNKNOWN_SERVER_ERROR}


@pytest.fixture
def log(wire: Wire, topic: str) -> Log:
    """An empty partition."""
    return Log(wire, topic)


def sealed(data: bytearray) -> bytes:
    """A changed batch with the length and the checksum that it then has to have."""
    struct.pack_into(">i", data, LENGTH, len(data) - 12)
    struct.pack_into(">I", data, CRC, calc_crc32c(data[ATTRIBUTES:]))
    return bytes(data)


def changed(position: int, form: str, value: int) -> bytes:
    """A batch of three records with one field of its header set to something else."""
    data = bytearray(batch([b"a", b"b", b"c"]))
    struct.pack_into(form, data, position, value)
    return sealed(data)


def with_body(body: bytes, *, attributes: int = 0, count: int = 3) -> bytes:
    """A batch whose records are these bytes."""
    data = bytearray(batch([b"a", b"b", b"c"])[:RECORDS] + body)
    struct.pack_into(">h", data, ATTRIBUTES, attributes)
    struct.pack_into(">i", data, COUNT, count)
    return sealed(data)


RECORDS_OF_THREE = batch([b"a", b"b", b"c"])[RECORDS:]
BAD: dict[str, Callable[[], bytes]] = {
    "more records counted than there are": lambda: changed(COUNT, ">i", 4),
    "fewer records counted than there are": lambda: changed(COUNT, ">i", 2),
    "endless records counted": lambda: changed(COUNT, ">i", 2**31 - 1),
    "a negative count": lambda: changed(COUNT, ">i", -1),
    "no records": lambda: with_body(b"", count=0),
    "a last offset that does not fit the count": lambda: changed(LAST_OFFSET_DELTA, ">i", 7),
    "a negative last offset": lambda: changed(LAST_OFFSET_DELTA, ">i", -1),
    "a control batch": lambda: changed(ATTRIBUTES, ">h", CONTROL),
    "records cut short": lambda: with_body(RECORDS_OF_THREE[:-3]),
    "bytes after the records": lambda: with_body(RECORDS_OF_THREE + b"more"),
    "records of noise": lambda: with_body(bytes(range(256))),
    "gzip that is none": lambda: with_body(RECORDS_OF_THREE, attributes=GZIP),
    "gzip cut short": lambda: with_body(gzip.compress(RECORDS_OF_THREE)[:-12], attributes=GZIP),
    "gzip of noise": lambda: with_body(gzip.compress(bytes(range(256))), attributes=GZIP),
    "an offset that the producer chose": lambda: changed(0, ">q", 12_345),
    "two batches at once": lambda: batch([b"a"]) + batch([b"b"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_batch_is_refused_and_nothing_is_kept(log: Log, name: str) -> None:
    code, _offset = log.produce(BAD[name]())
    assert code in REFUSED
    assert log.end() == 0
    assert log.produce(batch([b"good"])) == (Code.NONE, 0)


def test_the_same_batches_unharmed_are_taken(log: Log) -> None:
    assert log.produce(with_body(RECORDS_OF_THREE)) == (Code.NONE, 0)
    assert log.produce(with_body(gzip.compress(RECORDS_OF_THREE), attributes=GZIP)) == (Code.NONE, 3)
    assert log.end() == 6


def test_a_transactional_batch_without_a_transactional_id_is_refused(log: Log) -> None:
    code, _offset = log.produce(changed(ATTRIBUTES, ">h", TRANSACTIONAL))
    assert code in {Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Code.INVALID_TXN_STATE}
    assert log.end() == 0


def test_a_small_batch_that_unpacks_to_much_does_not_end_the_broker(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"max.message.bytes": str(64 << 20)})
    log = Log(wire, unique)
    huge = gzip.compress(bytes(200 << 20), 9)
    code, _offset = log.produce(with_body(huge, attributes=GZIP))
    assert code in REFUSED
    assert log.produce(batch([b"good"])) == (Code.NONE, 0)
