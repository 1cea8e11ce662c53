"""The compressions: packed and unpacked alike, and bounded."""

from __future__ import annotations

import gzip

import cramjam
import pytest
from aiokafka import codec

from strabo_broker import compression
from strabo_broker.compression import Compression, compress, decompress
from strabo_broker.errors import CorruptBatch

TEXT = b"the same words again and again, " * 5_000
THEIRS = {
    Compression.GZIP: (codec.gzip_encode, codec.gzip_decode),
    Compression.SNAPPY: (codec.snappy_encode, codec.snappy_decode),
    Compression.LZ4: (codec.lz4_encode, codec.lz4_decode),
    Compression.ZSTD: (codec.zstd_encode, codec.zstd_decode),
}


@pytest.mark.parametrize("kind", Compression)
def test_what_is_packed_is_unpacked_again(kind: Compression) -> None:
    assert decompress(kind, compress(kind, TEXT)) == TEXT


@pytest.mark.parametrize("kind", THEIRS)
def test_aiokafka_unpacks_what_is_packed_here_and_the_other_way_round(kind: Compression) -> None:
    pack, unpack = THEIRS[kind]
    assert decompress(kind, pack(TEXT)) == TEXT
    assert unpack(compress(kind, TEXT)) == TEXT


def test_snappy_without_blocks_is_unpacked_too() -> None:
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


@pytest.mark.parametrize("kind", THEIRS)
def test_garbage_is_found_corrupt(kind: Compression) -> None:
    for garbage in (b"", b"garbage", b"\xff" * 100, compress(kind, TEXT)[:-9]):
        with pytest.raises(CorruptBatch):
            decompress(kind, garbage)


@pytest.mark.parametrize("kind", THEIRS)
def test_a_small_batch_cannot_unpack_to_a_huge_one(
    kind: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MAXIMUM_UNPACKED", 100_000)
    with pytest.raises(CorruptBatch, match="more than 100000 bytes"):
        decompress(kind, compress(kind, bytes(1_000_000)))


def test_a_result_of_just_the_allowed_size_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MAXIMUM_UNPACKED", len(TEXT))
    assert decompress(Compression.GZIP, gzip.compress(TEXT)) == TEXT
    assert decompress(Compression.ZSTD, bytes(cramjam.zstd.compress(TEXT))) == TEXT
