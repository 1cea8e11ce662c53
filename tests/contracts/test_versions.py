"""Every version of a request that a broker offers is answered in that version's form."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.protocol.admin import (
    AlterConfigsRequest,
    ApiVersionRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from aiokafka.protocol.api import Request
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.protocol.produce import ProduceRequest

from tests.contracts.group_member import GroupMember, settle
from tests.contracts.wire import GROUP_COORDINATOR, Code, Log, Wire, batch, create_topic, find_coordinator

Make = Callable[[str, GroupMember], Request[Any]]

# By kind, a request about a topic, and a group of the same name with one member, that has the answer "no error".
REQUESTS: dict[type[Request[Any]], Make] = {
    ApiVersionRequest: lambda name, member: ApiVersionRequest(),
    ProduceRequest: lambda name, member: ProduceRequest(None, -1, 5_000, [(name, [(0, batch([b"x"]))])]),
    FetchRequest: lambda name, member: FetchRequest(0, 0, 1 << 20, 0, [(name, [(0, 0, 1 << 20)])]),
    OffsetRequest: lambda name, member: OffsetRequest(-1, 0, [(name, [(0, -1)])]),
    MetadataRequest: lambda name, member: MetadataRequest([name], False),
    FindCoordinatorRequest: lambda name, member: FindCoordinatorRequest(name, 0),
    JoinGroupRequest: lambda name, member: JoinGroupRequest(
        name, 6_000, 6_000, member.member_id, None, "consumer", member.protocols
    ),
    SyncGroupRequest: lambda name, member: SyncGroupRequest(
        name, member.generation, member.member_id, None, []
    ),
    HeartbeatRequest: lambda name, member: HeartbeatRequest(name, member.generation, member.member_id),
    LeaveGroupRequest: lambda name, member: LeaveGroupRequest(name, member.member_id),
    OffsetCommitRequest: lambda name, member: OffsetCommitRequest(
        name, member.generation, member.member_id, -1, [(name, [(0, 5, "note")])]
    ),
    OffsetFetchRequest: lambda name, member: OffsetFetchRequest(name, [(name, [0])]),
    DescribeGroupsRequest: lambda name, member: DescribeGroupsRequest([name]),
    ListGroupsRequest: lambda name, member: ListGroupsRequest(),
    CreateTopicsRequest: lambda name, member: CreateTopicsRequest(
        [(f"{name}-2", 1, 1, [], [])], 5_000, False
    ),
    DeleteTopicsRequest: lambda name, member: DeleteTopicsRequest([name], 5_000),
    DeleteRecordsRequest: lambda name, member: DeleteRecordsRequest([(name, [(0, 1)])], 5_000),
    DescribeConfigsRequest: lambda name, member: DescribeConfigsRequest([(2, name, None)], False),
    AlterConfigsRequest: lambda name, member: AlterConfigsRequest(
        [(2, name, [("retention.ms", "7")])], False
    ),
    CreatePartitionsRequest: lambda name, member: CreatePartitionsRequest([(name, (3, None))], 5_000, False),
    DeleteGroupsRequest: lambda name, member: DeleteGroupsRequest([f"{name}-none"]),
}
# Apache Kafka 4 lists Produce 0 to 2, for old librdkafka's sake, and closes on them; aiokafka leaves the last field of
# DescribeGroups 3 out.
LEFT_OUT = {"ProduceRequest_v0", "ProduceRequest_v1", "ProduceRequest_v2", "DescribeGroupsRequest_v3"}
CASES = [
    pytest.param(kind, struct, id=struct.__name__)
    for kind in REQUESTS
    for struct in kind._CLASSES
    if struct.__name__ not in LEFT_OUT
]


def error_codes(answer: Any) -> set[int]:
    """All error codes anywhere in an answer."""

    def walk(schema: Any, value: Any) -> set[int]:
        found: set[int] = set()
        for name, kind, part in zip(schema.names, schema.fields, value, strict=True):
            if name == "error_code":
                found.add(part)
            elif hasattr(kind, "array_of") and hasattr(kind.array_of, "names"):
                for item in part or []:
                    found |= walk(kind.array_of, item)
        return found

    return walk(answer.SCHEMA, [answer.get_item(name) for name in answer.SCHEMA.names])


@pytest.mark.parametrize(("kind", "struct"), CASES)
def test_a_version_is_answered_in_its_own_form(
    connect: Callable[[], Wire], wire: Wire, unique: str, kind: type[Request[Any]], struct: Any
) -> None:
    least, most = wire.versions[struct.API_KEY]
    if not least <= struct.API_VERSION <= most:
        pytest.skip(f"versions {least} to {most} are offered")
    create_topic(wire, unique)
    assert Log(wire, unique).produce(batch([b"first"])) == (Code.NONE, 0)
    find_coordinator(wire, unique, GROUP_COORDINATOR)
    member = GroupMember(connect(), unique)
    settle(member)
    prepared = REQUESTS[kind](unique, member).build(struct)
    wire.send_frame(prepared.build_request_header(7, "contract").encode() + prepared.encode())
    buffer = io.BytesIO(wire.receive_frame())
    assert prepared.parse_response_header(buffer).correlation_id == 7
    answer = prepared.RESPONSE_TYPE.decode(buffer)
    assert buffer.read() == b"", "the answer is longer than its version allows"
    expected = {Code.GROUP_ID_NOT_FOUND} if kind is DeleteGroupsRequest else {Code.NONE}
    assert error_codes(answer) <= expected
