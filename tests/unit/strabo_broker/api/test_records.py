"""Produce, Fetch, ListOffsets and DeleteRecords where they are refused or bounded."""

from __future__ import annotations

import pytest

from strabo_broker.codes import ErrorCode
from strabo_broker.wire import admin, records
from tests.unit.strabo_broker.building import batch
from tests.unit.strabo_broker.wire_client import WireClient


@pytest.fixture(autouse=True)
async def topics(client: WireClient) -> None:
    await client.ask(
        admin.CreateTopicsRequest(
            (
                admin.CreatableTopic("t", 2, 1),
                admin.CreatableTopic("safe", 1, 1, configs=(admin.TopicConfig("min.insync.replicas", "2"),)),
                admin.CreatableTopic(
                    "compacted", 1, 1, configs=(admin.TopicConfig("cleanup.policy", "compact"),)
                ),
            ),
            1_000,
        )
    )


async def produce(
    client: WireClient, produced: bytes | None, topic: str = "t", index: int = 0, acks: int = -1
) -> records.ProducePartitionResponse:
    wanted = records.ProduceTopic(topic, (records.ProducePartition(index, produced),))
    answer = await client.ask(records.ProduceRequest(None, acks, 1_000, (wanted,)))
    found: records.ProducePartitionResponse = answer.topics[0].partitions[0]
    return found


async def fetch(
    client: WireClient, *partitions: records.FetchPartition, maximum_bytes: int = 1 << 20
) -> list[records.FetchPartitionResponse]:
    wanted = records.FetchTopic("t", partitions)
    answer = await client.ask(records.FetchRequest(maximum_bytes=maximum_bytes, topics=(wanted,)))
    return list(answer.topics[0].partitions)


@pytest.mark.parametrize(
    ("produced", "where", "code"),
    [
        (batch(), {"topic": "nowhere"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (batch(), {"index": 2}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (batch(), {"index": -1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (batch(), {"acks": 2}, ErrorCode.INVALID_REQUIRED_ACKS),
        (batch(), {"topic": "safe"}, ErrorCode.NOT_ENOUGH_REPLICAS),
        (batch(), {"topic": "safe", "acks": 1}, ErrorCode.NONE),
        (batch(), {"topic": "compacted"}, ErrorCode.INVALID_RECORD),
        (None, {}, ErrorCode.INVALID_RECORD),
        (b"", {}, ErrorCode.INVALID_RECORD),
        (batch()[:-1], {}, ErrorCode.CORRUPT_MESSAGE),
        (batch((None, b"x" * (1 << 20))), {}, ErrorCode.MESSAGE_TOO_LARGE),
        (batch(producer_id=5, epoch=0, sequence=0, transactional=True), {}, ErrorCode.INVALID_TXN_STATE),
    ],
)
async def test_a_batch_is_taken_or_refused_by_itself(
    client: WireClient, produced: bytes | None, where: dict[str, object], code: ErrorCode
) -> None:
    answer = await produce(client, produced, **where)  # type: ignore[arg-type]
    assert answer.error_code == code
    assert (answer.base_offset == 0) is (code is ErrorCode.NONE)


async def test_one_refused_partition_leaves_the_others_of_its_request_alone(client: WireClient) -> None:
    partitions = (records.ProducePartition(0, b"garbage"), records.ProducePartition(1, batch()))
    answer = await client.ask(
        records.ProduceRequest(None, -1, 1_000, (records.ProduceTopic("t", partitions),))
    )
    codes = [each.error_code for each in answer.topics[0].partitions]
    assert codes == [ErrorCode.CORRUPT_MESSAGE, ErrorCode.NONE]


async def test_a_fetch_keeps_to_its_size_over_all_partitions_but_always_gives_one_batch(
    client: WireClient,
) -> None:
    for index in (0, 1):
        await produce(client, batch((None, b"v" * 1_000)), index=index)
    wanted = [records.FetchPartition(index, fetch_offset=0) for index in (0, 1)]
    assert [bool(each.records) for each in await fetch(client, *wanted, maximum_bytes=10)] == [True, False]
    assert [bool(each.records) for each in await fetch(client, *wanted)] == [True, True]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (records.FetchPartition(9, fetch_offset=0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (records.FetchPartition(0, fetch_offset=1), ErrorCode.OFFSET_OUT_OF_RANGE),
        (records.FetchPartition(0, fetch_offset=-1), ErrorCode.OFFSET_OUT_OF_RANGE),
        (records.FetchPartition(0, current_leader_epoch=1, fetch_offset=0), ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
async def test_a_fetch_that_cannot_be_is_answered_at_once(
    client: WireClient, wanted: records.FetchPartition, code: ErrorCode
) -> None:
    topic = records.FetchTopic("t", (wanted,))
    answer = await client.ask(records.FetchRequest(maximum_wait_ms=60_000, minimum_bytes=1, topics=(topic,)))
    assert answer.topics[0].partitions[0].error_code == code


@pytest.mark.parametrize(
    ("timestamp", "expected"), [(-2, (-1, 0)), (-1, (-1, 2)), (0, (100, 0)), (101, (200, 1)), (201, (-1, -1))]
)
async def test_offsets_are_listed_by_time(
    client: WireClient, timestamp: int, expected: tuple[int, int]
) -> None:
    for each in (100, 200):
        await produce(client, batch(timestamp=each))
    wanted = records.ListOffsetsTopic("t", (records.ListOffsetsPartition(0, timestamp=timestamp),))
    found = (await client.ask(records.ListOffsetsRequest(topics=(wanted,)))).topics[0].partitions[0]
    assert (found.timestamp, found.offset) == expected


async def test_deleted_records_are_out_of_range_afterwards(client: WireClient) -> None:
    for _ in range(3):
        await produce(client, batch())

    async def delete(offset: int, topic: str = "t") -> tuple[int, int]:
        wanted = records.DeleteRecordsTopic(topic, (records.DeleteRecordsPartition(0, offset),))
        found = (await client.ask(records.DeleteRecordsRequest((wanted,)))).topics[0].partitions[0]
        return found.low_watermark, found.error_code

    assert await delete(2) == (2, ErrorCode.NONE)
    assert await delete(1) == (2, ErrorCode.NONE)
    assert await delete(9) == (-1, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert await delete(0, "compacted") == (-1, ErrorCode.POLICY_VIOLATION)
    (found,) = await fetch(client, records.FetchPartition(0, fetch_offset=1))
    assert (found.error_code, found.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert await delete(-1) == (3, ErrorCode.NONE)
