"""The compressions of record batches, with a bound on what a small batch may unpack to."""

from __future__ import annotations

import gzip
import struct
import zlib
from enum import IntEnum
from typing import Any, Final

import cramjam

from strabo_broker.errors import CorruptBatch

MAXIMUM_UNPACKED: Final = 64 << 20
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 << 10
_BLOCK_LENGTH: Final = struct.Struct(">I")


class Compression(IntEnum):
    """The number that a batch's attributes carry."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(kind: Compression, payload: bytes) -> bytes:
    """The payload, packed as Kafka's clients expect to read it."""
    match kind:
        case Compression.NONE:
            return payload
        case Compression.GZIP:
            return gzip.compress(payload, compresslevel=6)
        case Compression.SNAPPY:
            return _pack_xerial(payload)
        case Compression.LZ4:
            # Kafka's readers know no linked blocks (KIP-57).
            packer = cramjam.lz4.Compressor(level=9, content_checksum=False, block_linked=False)
            packer.compress(payload)
            return bytes(packer.finish())
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(payload, level=3))


def decompress(kind: Compression, payload: bytes) -> bytes:
    """The records of a batch; CorruptBatch when they are not what `kind` says, or unpack to more than the bound."""
    try:
        match kind:
            case Compression.NONE:
                return payload
            case Compression.GZIP:
                return _unpack_gzip(payload)
            case Compression.SNAPPY:
                return _unpack_snappy(payload)
            case Compression.LZ4:
                return _unpack_growing(cramjam.lz4, payload)
            case Compression.ZSTD:
                return _unpack_growing(cramjam.zstd, payload)
    except (zlib.error, cramjam.DecompressionError, struct.error, ValueError, OverflowError) as error:
        raise CorruptBatch(f"the batch's {kind.name.lower()} data cannot be unpacked: {error}") from None


def _too_large() -> CorruptBatch:
    return CorruptBatch(f"the batch unpacks to more than {MAXIMUM_UNPACKED} bytes")


def _unpack_gzip(payload: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    unpacked = unpacker.decompress(payload, MAXIMUM_UNPACKED)
    if unpacker.unconsumed_tail:
        raise _too_large()
    if not unpacker.eof:
        raise CorruptBatch("the batch's gzip data ends early")
    return unpacked


def _unpack_growing(codec: Any, payload: bytes) -> bytes:
    # Neither format's length field can be believed, so the room for the result grows until it suffices.
    room = max(1 << 16, 4 * len(payload))
    while True:
        unpacked = bytearray(min(room, MAXIMUM_UNPACKED))
        try:
            return bytes(unpacked[: codec.decompress_into(payload, unpacked)])
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise
            if room >= MAXIMUM_UNPACKED:
                raise _too_large() from None
        room *= 4


def _unpack_snappy(payload: bytes) -> bytes:
    if not payload.startswith(_XERIAL_MAGIC):
        return _unpack_snappy_block(payload, MAXIMUM_UNPACKED)
    position, blocks, left = len(_XERIAL_HEADER), [], MAXIMUM_UNPACKED
    while position < len(payload):
        (length,) = _BLOCK_LENGTH.unpack_from(payload, position)
        position += _BLOCK_LENGTH.size
        blocks.append(_unpack_snappy_block(payload[position : position + length], left))
        position += length
        left -= len(blocks[-1])
    return b"".join(blocks)


def _unpack_snappy_block(block: bytes, left: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > left:
        raise _too_large()
    return bytes(cramjam.snappy.decompress_raw(block))


def _pack_xerial(payload: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(payload), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(payload[start : start + _XERIAL_BLOCK]))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)
