"""One partition: appending and reading, stable offsets, memory and disk, and what survives a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from strabo_broker.cache import TailCache
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import CorruptBatch, Refusal
from strabo_broker.partition import Aborted, Partition
from strabo_broker.store import Store
from strabo_broker.topics import Topics
from tests.unit.strabo_broker.building import batch

NOW = 1_000
ROOM = 1 << 20


def partition_of(topics: Topics, **configs: str) -> Partition:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    overrides = topics.check_new("t", 1, named)
    return topics.create("t", 1, overrides, NOW).partitions[0]


def read_values(partition: Partition, offset: int = 0) -> list[int]:
    """The base offsets of everything from `offset` on."""
    return [base for base, _, _ in partition.batches_from(offset)]


async def test_batches_get_the_next_offsets(topics: Topics) -> None:
    partition = partition_of(topics)
    placed = [partition.append(batch(*[(None, b"v")] * count), NOW).base_offset for count in (1, 3, 2)]
    assert placed == [0, 1, 4]
    assert partition.next_offset == 6


async def test_a_read_begins_with_the_batch_that_holds_the_offset(topics: Topics) -> None:
    partition = partition_of(topics)
    for count in (1, 3, 2):
        partition.append(batch(*[(None, b"v")] * count), NOW)
    assert read_values(partition, 3) == [1, 4]


async def test_memory_and_disk_give_the_same(topics: Topics, store: Store) -> None:
    partition = partition_of(topics)
    for count in (1, 3, 2, 5):
        partition.append(batch(*[(None, b"v")] * count), NOW)
    in_memory = [list(partition.batches_from(offset)) for offset in range(11)]
    partition.rewritten()
    assert [list(partition.batches_from(offset)) for offset in range(11)] == in_memory


async def test_old_batches_leave_memory_and_are_still_read(store: Store) -> None:
    topics = Topics(store, TailCache(2_000))
    partition = partition_of(topics)
    for _ in range(50):
        partition.append(batch((None, b"v" * 100)), NOW)
    assert read_values(partition) == list(range(50))
    assert read_values(partition, 49) == [49]


async def test_a_read_keeps_to_its_size_but_gives_one_batch_when_asked(topics: Topics) -> None:
    partition = partition_of(topics)
    size = len(batch((None, b"v" * 100)))
    for _ in range(3):
        partition.append(batch((None, b"v" * 100)), NOW)
    assert len(partition.read(0, 3, 2 * size, at_least_one=False)[0]) == 2
    assert len(partition.read(0, 3, 1, at_least_one=True)[0]) == 1
    assert partition.read(0, 3, 1, at_least_one=False) == ([], 0)


@pytest.mark.parametrize("offset", [-1, 2])
async def test_a_read_outside_the_log_is_refused(topics: Topics, offset: int) -> None:
    partition = partition_of(topics)
    partition.append(batch(), NOW)
    with pytest.raises(Refusal) as refusal:
        partition.read(offset, 1, ROOM, at_least_one=True)
    assert refusal.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_refused_batch_changes_nothing(topics: Topics) -> None:
    partition = partition_of(topics)
    partition.append(batch(producer_id=1, epoch=0, sequence=0), NOW)
    before = (partition.next_offset, partition.size, partition.producers[1])
    with pytest.raises(CorruptBatch):
        partition.append(batch()[:-1], NOW)
    with pytest.raises(Refusal):
        partition.append(batch(producer_id=1, epoch=0, sequence=9), NOW)
    assert (partition.next_offset, partition.size, partition.producers[1]) == before


async def test_a_repeated_batch_is_answered_with_its_first_place(topics: Topics) -> None:
    partition = partition_of(topics)
    first = partition.append(batch(producer_id=1, epoch=0, sequence=0), NOW)
    partition.append(batch(producer_id=1, epoch=0, sequence=1), NOW)
    assert partition.append(batch(producer_id=1, epoch=0, sequence=0), NOW + 9) == first
    assert partition.next_offset == 2


async def test_log_append_time_is_told_again_for_a_repeat(topics: Topics) -> None:
    partition = partition_of(topics, message_timestamp_type="LogAppendTime")
    sent = batch(producer_id=1, epoch=0, sequence=0)
    assert partition.append(sent, NOW).append_time == NOW
    assert partition.append(sent, NOW + 50).append_time == NOW


async def test_an_open_transaction_holds_back_the_stable_offset(topics: Topics) -> None:
    partition = partition_of(topics)
    partition.append(batch(), NOW)
    partition.append(batch(producer_id=1, epoch=0, sequence=0, transactional=True), NOW)
    partition.append(batch(producer_id=2, epoch=0, sequence=0, transactional=True), NOW)
    assert partition.last_stable_offset == 1
    partition.append_marker(1, 0, commit=True, now_ms=NOW)
    assert partition.last_stable_offset == 2
    partition.append_marker(2, 0, commit=False, now_ms=NOW)
    assert partition.last_stable_offset == partition.next_offset == 5
    assert partition.aborted == [Aborted(2, 2, 4)]


async def test_a_reader_is_told_of_the_aborted_transactions_in_its_range_alone(topics: Topics) -> None:
    partition = partition_of(topics)
    for epoch in range(3):  # offsets 0-1, 2-3, 4-5
        partition.append(batch(producer_id=1, epoch=epoch, sequence=0, transactional=True), NOW)
        partition.append_marker(1, epoch, commit=False, now_ms=NOW)
    assert [each.first_offset for each in partition.aborted_between(2, 4)] == [2]
    assert [each.first_offset for each in partition.aborted_between(1, 5)] == [0, 2, 4]


async def test_a_batch_outside_its_producers_open_transaction_is_refused(topics: Topics) -> None:
    partition = partition_of(topics)
    partition.append(batch(producer_id=1, epoch=0, sequence=0, transactional=True), NOW)
    with pytest.raises(Refusal) as refusal:
        partition.append(batch(producer_id=1, epoch=0, sequence=1), NOW)
    assert refusal.value.code is ErrorCode.INVALID_TXN_STATE


async def test_a_compacted_topic_takes_no_record_without_a_key(topics: Topics) -> None:
    partition = partition_of(topics, cleanup_policy="compact")
    with pytest.raises(Refusal) as refusal:
        partition.append(batch((b"k", b"v"), (None, b"v")), NOW)
    assert refusal.value.code is ErrorCode.INVALID_RECORD


async def test_a_timestamp_far_in_the_future_is_refused(topics: Topics) -> None:
    partition = partition_of(topics, message_timestamp_after_max_ms="1000")
    with pytest.raises(Refusal) as refusal:
        partition.append(batch(timestamp=NOW + 1_001), NOW)
    assert refusal.value.code is ErrorCode.INVALID_TIMESTAMP


async def test_a_time_is_found_at_the_first_record_that_is_not_older(topics: Topics) -> None:
    partition = partition_of(topics)
    partition.append(batch(*[(None, b"v")] * 3, timestamp=100, timestamp_deltas=(0, 10, 20)), NOW)
    partition.append(batch(timestamp=200), NOW)
    assert partition.find_time(105, 4) == (110, 1)
    assert partition.find_time(121, 4) == (200, 3)
    assert partition.find_time(201, 4) is None


async def test_waiting_readers_are_woken_by_what_they_can_read(topics: Topics) -> None:
    partition = partition_of(topics)
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    stable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    partition.waiting_for_end.add(end)
    partition.waiting_for_stable.add(stable)
    partition.append(batch(producer_id=1, epoch=0, sequence=0, transactional=True), NOW)
    assert end.done() and not stable.done()
    partition.append_marker(1, 0, commit=True, now_ms=NOW)
    assert stable.done()


async def test_the_log_is_shortened_from_its_start(topics: Topics) -> None:
    partition = partition_of(topics)
    for _ in range(3):
        partition.append(batch(*[(None, b"v")] * 2), NOW)
    whole = partition.size
    partition.start_at(3)
    assert (partition.log_start, read_values(partition, 3)) == (3, [2, 4])
    assert partition.size == whole * 2 // 3


async def test_everything_is_taken_up_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    store = Store(folder, synchronous="off")
    partition = partition_of(Topics(store, TailCache(ROOM)))
    partition.append(batch(producer_id=1, epoch=0, sequence=0, transactional=True), NOW)
    partition.append_marker(1, 0, commit=False, now_ms=NOW)
    partition.append(batch(producer_id=1, epoch=0, sequence=1, transactional=True), NOW)
    partition.start_at(1)
    store.close()

    store = Store(folder, synchronous="off")
    again = Topics(store, TailCache(ROOM))
    again.restore()
    found = again.partition("t", 0)
    assert (found.log_start, found.next_offset, found.last_stable_offset) == (1, 3, 2)
    assert (found.size, found.producers, found.aborted) == (
        partition.size,
        partition.producers,
        partition.aborted,
    )
    assert read_values(found, 1) == [1, 2]
    store.close()
