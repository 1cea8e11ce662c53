"""Retention and expiry, through a broker that is told to tidy up now."""

from __future__ import annotations

import pytest

from strabo_broker import Broker
from strabo_broker.api.call import now_ms
from strabo_broker.partition import Partition
from strabo_broker.topics import Topics
from strabo_broker.wire.groups import ListGroupsRequest
from strabo_broker.wire.offsets import OffsetCommitPartition, OffsetCommitRequest, OffsetCommitTopic
from tests.unit.strabo_broker.building import batch
from tests.unit.strabo_broker.wire_client import WireClient

HOUR = 3_600_000


@pytest.fixture
def own_topics(own_broker: Broker) -> Topics:
    return own_broker._maintenance._topics


def partition_of(topics: Topics, **configs: str) -> Partition:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return topics.create("t", 1, topics.check_new("t", 1, named), 0).partitions[0]


async def test_records_past_their_time_are_dropped(own_broker: Broker, own_topics: Topics) -> None:
    now = now_ms()
    partition = partition_of(own_topics, retention_ms=str(HOUR))
    for age in (3 * HOUR, 2 * HOUR, 0, 2 * HOUR):
        partition.append(batch(timestamp=now - age), now)
    await own_broker.run_maintenance()
    assert (partition.log_start, partition.next_offset) == (2, 4)


async def test_a_log_of_which_everything_is_old_keeps_its_end(own_broker: Broker, own_topics: Topics) -> None:
    partition = partition_of(own_topics, retention_ms="0")
    for _ in range(3):
        partition.append(batch(timestamp=now_ms() - HOUR), now_ms())
    await own_broker.run_maintenance()
    assert (partition.log_start, partition.next_offset, partition.size) == (3, 3, 0)
    assert partition.append(batch(), now_ms()).base_offset == 3


async def test_records_too_far_from_the_end_are_dropped(own_broker: Broker, own_topics: Topics) -> None:
    size = len(batch())
    partition = partition_of(own_topics, retention_bytes=str(2 * size), retention_ms="-1")
    for _ in range(5):
        partition.append(batch(), now_ms())
    await own_broker.run_maintenance()
    assert (partition.log_start, partition.size) == (3, 2 * size)


async def test_unlimited_retention_drops_nothing(own_broker: Broker, own_topics: Topics) -> None:
    partition = partition_of(own_topics, retention_ms="-1")
    partition.append(batch(timestamp=1), now_ms())
    await own_broker.run_maintenance()
    assert partition.log_start == 0


async def test_an_open_transaction_is_kept_however_old(own_broker: Broker, own_topics: Topics) -> None:
    partition = partition_of(own_topics, retention_ms="0")
    partition.append(batch(timestamp=1), now_ms())
    partition.append(batch(producer_id=1, epoch=0, sequence=0, transactional=True, timestamp=1), now_ms())
    partition.append(batch(timestamp=1), now_ms())
    await own_broker.run_maintenance()
    assert partition.log_start == 1


async def test_retention_goes_through_long_logs_in_slices(own_broker: Broker, own_topics: Topics) -> None:
    partition = partition_of(own_topics, retention_ms="0")
    for _ in range(1_234):
        partition.append(batch(timestamp=1), now_ms())
    await own_broker.run_maintenance()
    assert partition.log_start == 1_234


async def test_the_batches_of_a_deleted_topic_leave_the_file(own_broker: Broker, own_topics: Topics) -> None:
    partition = partition_of(own_topics)
    for _ in range(10):
        partition.append(batch(), now_ms())
    own_topics.delete(own_topics.topic("t"))
    await own_broker.run_maintenance()
    ((left,),) = own_broker.store.query("select count(*) from batches")
    assert left == 0


async def test_producers_that_were_silent_for_long_are_forgotten(
    own_broker: Broker, own_topics: Topics
) -> None:
    partition = partition_of(own_topics)
    partition.append(batch(producer_id=1, epoch=0, sequence=0), now_ms() - 48 * HOUR)
    partition.append(batch(producer_id=2, epoch=0, sequence=0), now_ms())
    partition.append(batch(producer_id=3, epoch=0, sequence=0, transactional=True), now_ms() - 48 * HOUR)
    await own_broker.run_maintenance()
    assert set(partition.producers) == {2, 3}


async def test_a_group_with_offsets_alone_is_kept(
    own_broker: Broker, own_topics: Topics, client: WireClient
) -> None:
    partition_of(own_topics)
    offset = OffsetCommitTopic("t", (OffsetCommitPartition(0, 5),))
    await client.ask(OffsetCommitRequest("g", topics=(offset,)))
    await own_broker.run_maintenance()
    listed = await client.ask(ListGroupsRequest())
    assert [each.group_id for each in listed.groups] == ["g"]
