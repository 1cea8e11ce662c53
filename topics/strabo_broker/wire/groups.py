"""Messages of consumer groups: membership, and their description."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_broker.wire.cluster import NO_AUTHORIZED_OPERATIONS
from strabo_broker.wire.schema import BOOLEAN, BYTES, INT16, INT32, STRING, ArrayOf, wired


@dataclass(frozen=True, slots=True)
class JoinGroupProtocol:
    name: str = wired(STRING)
    metadata: bytes = wired(BYTES)


@dataclass(frozen=True, slots=True)
class JoinGroupRequest:
    group_id: str = wired(STRING)
    session_timeout_ms: int = wired(INT32)
    rebalance_timeout_ms: int = wired(INT32, since=1, default=-1)
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, since=5, nullable=5, default=None)
    protocol_type: str = wired(STRING)
    protocols: tuple[JoinGroupProtocol, ...] = wired(ArrayOf(JoinGroupProtocol))
    reason: str | None = wired(STRING, since=8, nullable=8, default=None)


@dataclass(frozen=True, slots=True)
class JoinGroupMember:
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, since=5, nullable=5, default=None)
    metadata: bytes = wired(BYTES)


@dataclass(frozen=True, slots=True)
class JoinGroupResponse:
    throttle_time_ms: int = wired(INT32, since=2)
    error_code: int = wired(INT16)
    generation_id: int = wired(INT32, default=-1)
    protocol_type: str | None = wired(STRING, since=7, nullable=7, default=None)
    protocol_name: str | None = wired(STRING, nullable=7, default=None)
    leader: str = wired(STRING)
    member_id: str = wired(STRING)
    members: tuple[JoinGroupMember, ...] = wired(ArrayOf(JoinGroupMember))


@dataclass(frozen=True, slots=True)
class SyncGroupAssignment:
    member_id: str = wired(STRING)
    assignment: bytes = wired(BYTES)


@dataclass(frozen=True, slots=True)
class SyncGroupRequest:
    group_id: str = wired(STRING)
    generation_id: int = wired(INT32)
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, since=3, nullable=3, default=None)
    protocol_type: str | None = wired(STRING, since=5, nullable=5, default=None)
    protocol_name: str | None = wired(STRING, since=5, nullable=5, default=None)
    assignments: tuple[SyncGroupAssignment, ...] = wired(ArrayOf(SyncGroupAssignment))


@dataclass(frozen=True, slots=True)
class SyncGroupResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    error_code: int = wired(INT16)
    protocol_type: str | None = wired(STRING, since=5, nullable=5, default=None)
    protocol_name: str | None = wired(STRING, since=5, nullable=5, default=None)
    assignment: bytes = wired(BYTES)


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    group_id: str = wired(STRING)
    generation_id: int = wired(INT32)
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, since=3, nullable=3, default=None)


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class LeavingMember:
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, nullable=3, default=None)
    reason: str | None = wired(STRING, since=5, nullable=5, default=None)


@dataclass(frozen=True, slots=True)
class LeaveGroupRequest:
    group_id: str = wired(STRING)
    member_id: str = wired(STRING, until=2)
    members: tuple[LeavingMember, ...] = wired(ArrayOf(LeavingMember), since=3)


@dataclass(frozen=True, slots=True)
class LeftMember:
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, nullable=3, default=None)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class LeaveGroupResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    error_code: int = wired(INT16)
    members: tuple[LeftMember, ...] = wired(ArrayOf(LeftMember), since=3)


@dataclass(frozen=True, slots=True)
class DescribeGroupsRequest:
    groups: tuple[str, ...] = wired(ArrayOf(STRING))
    include_authorized_operations: bool = wired(BOOLEAN, since=3)


@dataclass(frozen=True, slots=True)
class DescribedMember:
    member_id: str = wired(STRING)
    group_instance_id: str | None = wired(STRING, since=4, nullable=4, default=None)
    client_id: str = wired(STRING)
    client_host: str = wired(STRING)
    metadata: bytes = wired(BYTES)
    assignment: bytes = wired(BYTES)


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    error_code: int = wired(INT16)
    group_id: str = wired(STRING)
    state: str = wired(STRING)
    protocol_type: str = wired(STRING)
    protocol_name: str = wired(STRING)
    members: tuple[DescribedMember, ...] = wired(ArrayOf(DescribedMember))
    authorized_operations: int = wired(INT32, since=3, default=NO_AUTHORIZED_OPERATIONS)


@dataclass(frozen=True, slots=True)
class DescribeGroupsResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    groups: tuple[DescribedGroup, ...] = wired(ArrayOf(DescribedGroup))


@dataclass(frozen=True, slots=True)
class ListGroupsRequest:
    states: tuple[str, ...] = wired(ArrayOf(STRING), since=4)


@dataclass(frozen=True, slots=True)
class ListedGroup:
    group_id: str = wired(STRING)
    protocol_type: str = wired(STRING)
    state: str = wired(STRING, since=4)


@dataclass(frozen=True, slots=True)
class ListGroupsResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    error_code: int = wired(INT16)
    groups: tuple[ListedGroup, ...] = wired(ArrayOf(ListedGroup))


@dataclass(frozen=True, slots=True)
class DeleteGroupsRequest:
    groups: tuple[str, ...] = wired(ArrayOf(STRING))


@dataclass(frozen=True, slots=True)
class DeletedGroup:
    group_id: str = wired(STRING)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class DeleteGroupsResponse:
    throttle_time_ms: int = wired(INT32)
    results: tuple[DeletedGroup, ...] = wired(ArrayOf(DeletedGroup))
