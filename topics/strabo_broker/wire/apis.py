"""The APIs that this broker speaks: number, versions, and the messages of each; framing of requests and responses.

The newest versions offered stop short of topic ids (Produce 13, Fetch 13, Metadata 10) and of the second transaction
protocol, in which a partition joins a transaction by being written to (Produce 12, AddPartitionsToTxn 4): no client
needs them, and every client falls back to the versions offered.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from strabo_broker.errors import MalformedRequest
from strabo_broker.wire import admin, cluster, groups, offsets, records, transactions
from strabo_broker.wire.schema import Reader, decoder, encoder

_NOT_FLEXIBLE: Final = 1 << 15
_HEADER: Final = struct.Struct(">hhih")
_CORRELATION: Final = struct.Struct(">i")
_FRAME: Final = struct.Struct(">ii")


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its number, the versions offered, the first flexible version, and its two messages."""

    key: int
    oldest: int
    newest: int
    flexible: int
    request: type
    response: type

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible


API_VERSIONS: Final = Api(18, 0, 3, 3, cluster.ApiVersionsRequest, cluster.ApiVersionsResponse)

_ALL: Final = (
    Api(0, 3, 9, 9, records.ProduceRequest, records.ProduceResponse),
    Api(1, 4, 11, 12, records.FetchRequest, records.FetchResponse),
    Api(2, 1, 6, 6, records.ListOffsetsRequest, records.ListOffsetsResponse),
    Api(3, 0, 9, 9, cluster.MetadataRequest, cluster.MetadataResponse),
    Api(8, 2, 8, 8, offsets.OffsetCommitRequest, offsets.OffsetCommitResponse),
    Api(9, 1, 7, 6, offsets.OffsetFetchRequest, offsets.OffsetFetchResponse),
    Api(10, 0, 3, 3, cluster.FindCoordinatorRequest, cluster.FindCoordinatorResponse),
    Api(11, 0, 8, 6, groups.JoinGroupRequest, groups.JoinGroupResponse),
    Api(12, 0, 4, 4, groups.HeartbeatRequest, groups.HeartbeatResponse),
    Api(13, 0, 5, 4, groups.LeaveGroupRequest, groups.LeaveGroupResponse),
    Api(14, 0, 5, 4, groups.SyncGroupRequest, groups.SyncGroupResponse),
    Api(15, 0, 5, 5, groups.DescribeGroupsRequest, groups.DescribeGroupsResponse),
    Api(16, 0, 4, 3, groups.ListGroupsRequest, groups.ListGroupsResponse),
    API_VERSIONS,
    Api(19, 2, 5, 5, admin.CreateTopicsRequest, admin.CreateTopicsResponse),
    Api(20, 1, 5, 4, admin.DeleteTopicsRequest, admin.DeleteTopicsResponse),
    Api(21, 0, 2, 2, records.DeleteRecordsRequest, records.DeleteRecordsResponse),
    Api(22, 0, 4, 2, transactions.InitProducerIdRequest, transactions.InitProducerIdResponse),
    Api(24, 0, 3, 3, transactions.AddPartitionsToTxnRequest, transactions.AddPartitionsToTxnResponse),
    Api(25, 0, 3, 3, transactions.AddOffsetsToTxnRequest, transactions.AddOffsetsToTxnResponse),
    Api(26, 0, 3, 3, transactions.EndTxnRequest, transactions.EndTxnResponse),
    Api(28, 0, 3, 3, offsets.TransactionalOffsetCommitRequest, offsets.TransactionalOffsetCommitResponse),
    Api(32, 1, 4, 4, admin.DescribeConfigsRequest, admin.DescribeConfigsResponse),
    Api(33, 0, 2, 2, admin.AlterConfigsRequest, admin.AlterConfigsResponse),
    Api(37, 0, 2, 2, admin.CreatePartitionsRequest, admin.CreatePartitionsResponse),
    Api(42, 0, 2, 2, groups.DeleteGroupsRequest, groups.DeleteGroupsResponse),
    Api(44, 0, 1, 1, admin.IncrementalAlterConfigsRequest, admin.IncrementalAlterConfigsResponse),
    Api(60, 0, 0, 0, cluster.DescribeClusterRequest, cluster.DescribeClusterResponse),
)

APIS: Final[Mapping[int, Api]] = {each.key: each for each in _ALL}


@dataclass(frozen=True, slots=True)
class Request:
    """A request taken from its frame. `body` is None for an ApiVersions of a version that is not offered."""

    api: Api
    version: int
    correlation_id: int
    client_id: str
    body: Any


def read_request(frame: bytes) -> Request:
    """The request in a frame (without its length); MalformedRequest when it is not one that this broker offers."""
    reader = Reader(frame)
    key, version, correlation_id, length = reader.unpack(_HEADER)
    client_id = "" if length == -1 else reader.take(length).decode(errors="replace")
    api = APIS.get(key)
    if api is None:
        raise MalformedRequest(f"API {key} is not offered")
    if not api.oldest <= version <= api.newest:
        # A client may begin with a newer ApiVersions than ours; it is told so, and asks again.
        if api is API_VERSIONS:
            return Request(api, version, correlation_id, client_id, None)
        raise MalformedRequest(
            f"version {version} of API {key} is not offered ({api.oldest} to {api.newest} are)"
        )
    flexible = api.is_flexible(version)
    if flexible:
        reader.skip_tagged_fields()
    return Request(api, version, correlation_id, client_id, decoder(api.request, version, flexible)(reader))


def write_response(api: Api, version: int, correlation_id: int, body: object) -> bytes:
    """A framed response. ApiVersions keeps the oldest header, since the client cannot know better yet."""
    flexible = api.is_flexible(version)
    parts: list[bytes] = [b"", b"\x00"] if flexible and api is not API_VERSIONS else [b""]
    encoder(api.response, version, flexible)(parts, body)
    parts[0] = _FRAME.pack(_CORRELATION.size + sum(map(len, parts)), correlation_id)
    return b"".join(parts)
