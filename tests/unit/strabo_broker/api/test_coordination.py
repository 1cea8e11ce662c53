"""Groups, offsets and transactions by request: codes by version, and what only requests can show."""

from __future__ import annotations

import pytest

from strabo_broker.codes import ErrorCode
from strabo_broker.wire import admin, cluster, groups, offsets, transactions
from tests.unit.strabo_broker.wire_client import WireClient


@pytest.fixture(autouse=True)
async def topic(client: WireClient) -> None:
    await client.ask(admin.CreateTopicsRequest((admin.CreatableTopic("t", 2, 1),), 1_000))


async def initialise(client: WireClient) -> tuple[str, int, int]:
    given = await client.ask(transactions.InitProducerIdRequest("x", 10_000))
    return "x", given.producer_id, given.producer_epoch


def position(offset: int, *, metadata: str | None = "") -> tuple[offsets.OffsetCommitTopic, ...]:
    return (offsets.OffsetCommitTopic("t", (offsets.OffsetCommitPartition(0, offset, metadata=metadata),)),)


async def fetched(client: WireClient, *, require_stable: bool = False) -> tuple[int, int]:
    wanted = offsets.OffsetFetchRequest("g", (offsets.OffsetFetchTopic("t", (0,)),), require_stable)
    found = (await client.ask(wanted)).topics[0].partitions[0]
    return found.offset, found.error_code


async def test_every_coordinator_is_this_broker(client: WireClient) -> None:
    known = (await client.ask(cluster.MetadataRequest(()))).brokers[0]
    for kind in (0, 1):
        found = await client.ask(cluster.FindCoordinatorRequest("any", kind))
        assert (found.node_id, found.host, found.port) == (known.node_id, known.host, known.port)
    assert (
        await client.ask(cluster.FindCoordinatorRequest("any", 7))
    ).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("request_type", "version", "code"),
    [
        (transactions.EndTxnRequest, 1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (transactions.EndTxnRequest, 2, ErrorCode.PRODUCER_FENCED),
        (transactions.AddOffsetsToTxnRequest, 1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (transactions.AddOffsetsToTxnRequest, 2, ErrorCode.PRODUCER_FENCED),
    ],
)
async def test_a_fenced_producer_is_told_so_in_the_code_that_its_version_knows(
    client: WireClient, request_type: type, version: int, code: ErrorCode
) -> None:
    zombie = await initialise(client)
    await initialise(client)
    last: object = True if request_type is transactions.EndTxnRequest else "g"
    assert (await client.ask(request_type(*zombie, last), version)).error_code == code


async def test_nothing_is_added_to_a_transaction_when_one_partition_is_unknown(client: WireClient) -> None:
    producer = await initialise(client)
    wanted = transactions.AddPartitionsToTxnTopic("t", (0, 9))
    answer = await client.ask(transactions.AddPartitionsToTxnRequest(*producer, (wanted,)))
    codes = [each.error_code for each in answer.topics[0].partitions]
    assert codes == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert (await client.ask(transactions.EndTxnRequest(*producer, committed=True))).error_code == (
        ErrorCode.INVALID_TXN_STATE
    )


async def test_a_pending_offset_is_unstable_to_those_who_ask_for_stable_ones(client: WireClient) -> None:
    await client.ask(offsets.OffsetCommitRequest("g", topics=position(3)))
    producer = await initialise(client)
    await client.ask(transactions.AddOffsetsToTxnRequest(*producer, "g"))
    pending = offsets.TransactionalOffsetCommitTopic("t", (offsets.TransactionalOffsetCommitPartition(0, 5),))
    name, producer_id, epoch = producer
    await client.ask(
        offsets.TransactionalOffsetCommitRequest(name, "g", producer_id, epoch, topics=(pending,))
    )
    assert await fetched(client) == (3, ErrorCode.NONE)
    assert await fetched(client, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    await client.ask(transactions.EndTxnRequest(*producer, committed=True))
    assert await fetched(client, require_stable=True) == (5, ErrorCode.NONE)


async def test_offset_metadata_has_a_bound(client: WireClient) -> None:
    answer = await client.ask(offsets.OffsetCommitRequest("g", topics=position(3, metadata="é" * 2_049)))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert await fetched(client) == (-1, ErrorCode.NONE)


async def test_a_commit_of_a_generation_that_nobody_knows_is_refused(client: WireClient) -> None:
    answer = await client.ask(offsets.OffsetCommitRequest("g", 3, "member", topics=position(3)))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.ILLEGAL_GENERATION


async def test_all_offsets_of_a_group_are_told_when_no_topic_is_named(client: WireClient) -> None:
    await client.ask(offsets.OffsetCommitRequest("g", topics=position(3)))
    answer = await client.ask(offsets.OffsetFetchRequest("g", None))
    assert [(each.name, each.partitions[0].offset) for each in answer.topics] == [("t", 3)]


async def join(client: WireClient, **fields: object) -> groups.JoinGroupResponse:
    asked = {"group_id": "g", "session_timeout_ms": 10_000, "protocol_type": "consumer"} | fields
    protocols = (groups.JoinGroupProtocol("range", b"m"),)
    answer: groups.JoinGroupResponse = await client.ask(
        groups.JoinGroupRequest(**asked, protocols=protocols)  # type: ignore[arg-type]
    )
    return answer


async def test_a_group_is_described_listed_and_deleted(client: WireClient) -> None:
    told = await join(client)
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = await join(client, member_id=told.member_id)
    share = groups.SyncGroupAssignment(joined.member_id, b"all")
    await client.ask(
        groups.SyncGroupRequest("g", joined.generation_id, joined.member_id, assignments=(share,))
    )
    (described,) = (await client.ask(groups.DescribeGroupsRequest(("g",)))).groups
    assert (described.state, described.protocol_name, described.members[0].assignment) == (
        "Stable",
        "range",
        b"all",
    )
    assert (await client.ask(groups.DeleteGroupsRequest(("g",)))).results[
        0
    ].error_code == ErrorCode.NON_EMPTY_GROUP
    await client.ask(groups.LeaveGroupRequest("g", members=(groups.LeavingMember(joined.member_id),)))
    listed = (await client.ask(groups.ListGroupsRequest(("empty",)))).groups
    assert [(each.group_id, each.state) for each in listed] == [("g", "Empty")]
    for code in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
        assert (await client.ask(groups.DeleteGroupsRequest(("g",)))).results[0].error_code == code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1 << 30}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
async def test_a_member_that_cannot_join_is_told_why(
    client: WireClient, fields: dict[str, object], code: ErrorCode
) -> None:
    assert (await join(client, **fields)).error_code == code


async def test_a_group_without_members_or_offsets_is_dead(client: WireClient) -> None:
    (described,) = (await client.ask(groups.DescribeGroupsRequest(("nobody",)))).groups
    assert described.state == "Dead"
    beat = await client.ask(groups.HeartbeatRequest("nobody", 1, "member"))
    assert beat.error_code == ErrorCode.UNKNOWN_MEMBER_ID
