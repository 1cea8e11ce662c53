"""Record batches as a producer would send them."""

from __future__ import annotations

from collections.abc import Sequence

from strabo_broker.batches import BatchHeader, assemble, varint
from strabo_broker.compression import Compression, compress

TRANSACTIONAL = 0x10

Pair = tuple[bytes | None, bytes | None]


def record(offset_delta: int, key: bytes | None, value: bytes | None, timestamp_delta: int = 0) -> bytes:
    """One encoded record without headers."""
    body = b"\x00" + varint(timestamp_delta) + varint(offset_delta)
    for each in (key, value):
        body += varint(-1) if each is None else varint(len(each)) + each
    body += varint(0)
    return varint(len(body)) + body


def batch(
    *pairs: Pair,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    compression: Compression = Compression.NONE,
    timestamp: int = 1_000,
    timestamp_deltas: Sequence[int] = (),
) -> bytes:
    """A batch of (key, value) pairs; one pair with the value b"v" when none is given."""
    pairs = pairs or ((None, b"v"),)
    deltas = timestamp_deltas or [0] * len(pairs)
    payload = b"".join(record(index, *pair, deltas[index]) for index, pair in enumerate(pairs))
    header = BatchHeader(
        base_offset=0,
        length=0,
        leader_epoch=-1,
        magic=2,
        checksum=0,
        attributes=compression | (TRANSACTIONAL if transactional else 0),
        last_offset_delta=len(pairs) - 1,
        base_timestamp=timestamp,
        maximum_timestamp=timestamp + max(deltas),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        record_count=len(pairs),
    )
    return assemble(header, compress(compression, payload))
