"""Compaction: the newest record of each key stays, and nothing else that may go."""

from __future__ import annotations

import random

import pytest

from strabo_broker import batches
from strabo_broker.cache import TailCache
from strabo_broker.compaction import compact
from strabo_broker.compression import Compression
from strabo_broker.partition import Partition
from strabo_broker.store import Store
from strabo_broker.topics import Topics
from tests.unit.strabo_broker.building import Pair, batch

NOW = 10_000


def partition_of(topics: Topics, **configs: str) -> Partition:
    named = {"cleanup.policy": "compact"} | {name.replace("_", "."): value for name, value in configs.items()}
    return topics.create("t", 1, topics.check_new("t", 1, named), NOW).partitions[0]


def keys_of(partition: Partition) -> list[tuple[int, bytes | None]]:
    found = []
    for _, _, data in partition.batches_from(partition.log_start):
        header = batches.read_header(data)
        if not header.is_control:
            found += [(each.offset, each.key) for each in batches.records(header, data)]
    return found


def markers_of(partition: Partition) -> list[int]:
    return [
        base
        for base, _, data in partition.batches_from(partition.log_start)
        if batches.read_header(data).is_control
    ]


async def run(store: Store, partition: Partition, now: int = NOW) -> None:
    await compact(store, partition, now, at_once=True)
    await store.settled()


async def test_the_newest_record_of_each_key_stays(topics: Topics, store: Store) -> None:
    partition = partition_of(topics)
    for pair in ((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"a", b"3"), (b"end", b"")):
        partition.append(batch(pair), NOW)
    await run(store, partition)
    assert keys_of(partition) == [(1, b"b"), (3, b"a"), (4, b"end")]
    assert (partition.log_start, partition.next_offset) == (0, 5)


async def test_the_last_batch_is_never_touched_so_that_readers_get_to_the_end(
    topics: Topics, store: Store
) -> None:
    partition = partition_of(topics)
    partition.append(batch((b"a", b"1")), NOW)
    partition.append(batch((b"a", b"2"), (b"a", b"3")), NOW)
    await run(store, partition)
    assert keys_of(partition) == [(0, b"a"), (1, b"a"), (2, b"a")]
    partition.append(batch((b"end", b"")), NOW)
    await run(store, partition)
    assert keys_of(partition) == [(2, b"a"), (3, b"end")]


@pytest.mark.parametrize("compression", Compression)
async def test_a_batch_that_loses_records_keeps_its_offsets_and_packing(
    topics: Topics, store: Store, compression: Compression
) -> None:
    partition = partition_of(topics)
    pairs: list[Pair] = [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")]
    partition.append(batch(*pairs, compression=compression, timestamp_deltas=(1, 2, 3)), NOW)
    partition.append(batch((b"a", b"2"), (b"c", b"2")), NOW)
    partition.append(batch((b"end", b"")), NOW)
    await run(store, partition)
    (first, last, data), *_ = partition.batches_from(0)
    header = batches.read_header(data)
    (record,) = batches.records(header, data)
    assert (first, last, header.compression, header.maximum_timestamp) == (0, 2, compression, 1_002)
    assert (record.offset, record.key, record.timestamp) == (1, b"b", 1_002)


async def test_a_second_pass_compacts_what_came_since(topics: Topics, store: Store) -> None:
    partition = partition_of(topics)
    for index in range(6):
        partition.append(batch((b"a", b"%d" % index)), NOW)
        await run(store, partition)
    assert keys_of(partition) == [(4, b"a"), (5, b"a")]


async def test_a_tombstone_removes_its_key_and_goes_itself_later(topics: Topics, store: Store) -> None:
    partition = partition_of(topics, delete_retention_ms="100")
    for pair in ((b"a", b"1"), (b"a", None), (b"end", b"")):
        partition.append(batch(pair), NOW)
    await run(store, partition)
    assert keys_of(partition) == [(1, b"a"), (2, b"end")]
    await run(store, partition, NOW + 99)
    assert keys_of(partition) == [(1, b"a"), (2, b"end")]
    await run(store, partition, NOW + 100)
    assert keys_of(partition) == [(2, b"end")]


async def test_an_open_transaction_is_not_touched(topics: Topics, store: Store) -> None:
    partition = partition_of(topics)
    partition.append(batch((b"a", b"1")), NOW)
    for sequence in range(2):
        partition.append(
            batch((b"a", b"2"), producer_id=1, epoch=0, sequence=sequence, transactional=True), NOW
        )
    partition.append(batch((b"a", b"3")), NOW)
    await run(store, partition)
    assert keys_of(partition) == [(0, b"a"), (1, b"a"), (2, b"a"), (3, b"a")]


async def test_aborted_records_go_and_do_not_count_as_newest(topics: Topics, store: Store) -> None:
    partition = partition_of(topics, delete_retention_ms="100")
    partition.append(batch((b"a", b"kept")), NOW)
    partition.append(batch((b"a", b"aborted"), producer_id=1, epoch=0, sequence=0, transactional=True), NOW)
    partition.append_marker(1, 0, commit=False, now_ms=NOW)
    partition.append(batch((b"end", b"")), NOW)
    await run(store, partition)
    assert keys_of(partition) == [(0, b"a"), (3, b"end")]
    assert markers_of(partition) == [2] and len(partition.aborted) == 1
    await run(store, partition, NOW + 100)
    assert markers_of(partition) == [] and partition.aborted == []


async def test_committed_records_outlive_their_marker(topics: Topics, store: Store) -> None:
    partition = partition_of(topics, delete_retention_ms="0")
    partition.append(batch((b"a", b"1"), producer_id=1, epoch=0, sequence=0, transactional=True), NOW)
    partition.append_marker(1, 0, commit=True, now_ms=NOW)
    partition.append(batch((b"end", b"")), NOW)
    await run(store, partition)
    await run(store, partition)
    assert keys_of(partition) == [(0, b"a"), (2, b"end")]
    assert markers_of(partition) == []


async def test_a_lag_keeps_what_is_young(topics: Topics, store: Store) -> None:
    partition = partition_of(topics, min_compaction_lag_ms="500")
    for timestamp in (NOW - 501, NOW - 501, NOW - 499, NOW):
        partition.append(batch((b"a", b""), timestamp=timestamp), NOW)
    await run(store, partition)
    assert [offset for offset, _ in keys_of(partition)] == [1, 2, 3]


async def test_a_log_that_is_clean_enough_is_left_alone(topics: Topics, store: Store) -> None:
    partition = partition_of(topics, min_cleanable_dirty_ratio="0.9")
    for _ in range(10):
        partition.append(batch((b"a", b"v" * 100)), NOW)
    await run(store, partition)
    partition.append(batch((b"b", b"v" * 10)), NOW)
    partition.append(batch((b"b", b"v" * 10)), NOW)
    await compact(store, partition, NOW, at_once=False)
    assert len(keys_of(partition)) == 4


async def test_a_log_that_waited_too_long_is_compacted_however_clean(topics: Topics, store: Store) -> None:
    partition = partition_of(topics, min_cleanable_dirty_ratio="1.0", max_compaction_lag_ms="1000")
    for _ in range(3):
        partition.append(batch((b"a", b""), timestamp=NOW), NOW)
    await compact(store, partition, NOW + 1_000, at_once=False)
    assert len(keys_of(partition)) == 3
    await compact(store, partition, NOW + 1_001, at_once=False)
    assert len(keys_of(partition)) == 2


async def test_the_size_follows(topics: Topics, store: Store) -> None:
    partition = partition_of(topics)
    for index in range(20):
        partition.append(batch((b"key%d" % (index % 3), b"v" * index), (b"other", b"")), NOW)
    await run(store, partition)
    assert partition.size == sum(len(data) for _, _, data in partition.batches_from(0))


@pytest.mark.parametrize("seed", range(8))
async def test_a_reader_of_committed_records_ends_with_the_same_values_whenever_compaction_runs(
    store: Store, seed: int
) -> None:
    chance = random.Random(seed)
    partition = partition_of(Topics(store, TailCache(2_000)), delete_retention_ms="0")
    expected: dict[bytes, bytes | None] = {}
    for turn in range(60):
        transactional, commit = chance.random() < 0.5, chance.random() < 0.6
        written: dict[bytes, bytes | None] = {}
        sequence = 0
        for _ in range(chance.randint(1, 3)):
            pairs = [random_pair(chance, turn) for _ in range(chance.randint(1, 4))]
            written.update(pairs)
            partition.append(
                batch(*pairs, producer_id=turn, epoch=0, sequence=sequence, transactional=transactional), NOW
            )
            sequence += len(pairs)
        if transactional:
            partition.append_marker(turn, 0, commit=commit, now_ms=NOW)
        if commit or not transactional:
            expected.update(written)
        if chance.random() < 0.3:
            await run(store, partition, NOW + turn)
        assert newest_values(partition) == {
            key: value for key, value in expected.items() if value is not None
        }


def random_pair(chance: random.Random, turn: int) -> tuple[bytes, bytes | None]:
    return b"k%d" % chance.randint(0, 9), None if chance.random() < 0.2 else b"%d" % turn


def newest_values(partition: Partition) -> dict[bytes, bytes]:
    """What a read_committed reader makes of the log, as aiokafka decides which batches are aborted."""
    aborted = sorted(partition.aborted_between(0, partition.next_offset), key=lambda each: each.first_offset)
    ignored: set[int] = set()
    values: dict[bytes, bytes] = {}
    for base, _, data in partition.batches_from(partition.log_start):
        header = batches.read_header(data)
        while aborted and aborted[0].first_offset <= base:
            ignored.add(aborted.pop(0).producer_id)
        if header.is_control:
            if not batches.is_commit(data):
                ignored.discard(header.producer_id)
            continue
        if header.is_transactional and header.producer_id in ignored:
            continue
        for record in batches.records(header, data):
            assert record.key is not None
            if record.is_tombstone:
                values.pop(record.key, None)
            else:
                values[record.key] = record.encoded[
                    record.encoded.index(record.key) + len(record.key) + 1 : -1
                ]
    return values
