"""A group member that sends each request when it is told to: no heartbeat of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from aiokafka.protocol.types import Int16, Int32, Schema, String

from tests.contracts.wire import (
    GROUP_COORDINATOR,
    PATIENCE_S,
    Code,
    Log,
    Wire,
    find_coordinator,
    group_description,
)

RANGE = [("range", b"subscription")]


class HeartbeatResponse3(Response):
    API_KEY = 12
    API_VERSION = 3
    SCHEMA = Schema(("throttle_time_ms", Int32), ("error_code", Int16))


class HeartbeatRequest3(RequestStruct):
    """The first version whose sender says which static member it is; aiokafka does not have it."""

    API_KEY = 12
    API_VERSION = 3
    RESPONSE_TYPE = HeartbeatResponse3
    SCHEMA = Schema(
        ("group", String("utf-8")),
        ("generation_id", Int32),
        ("member_id", String("utf-8")),
        ("group_instance_id", String("utf-8")),
    )


class StaticHeartbeatRequest(Request[HeartbeatRequest3]):
    """A heartbeat of a static member."""

    API_KEY: ClassVar[int] = 12

    def __init__(self, *fields: Any) -> None:
        self._fields = fields

    def build(self, request_struct_class: type[HeartbeatRequest3]) -> HeartbeatRequest3:
        return request_struct_class(*self._fields)


class GroupMember:
    """One member on a connection of its own, since a join is answered when all others have joined, too."""

    def __init__(
        self,
        wire: Wire,
        group: str,
        *,
        instance_id: str | None = None,
        session_timeout_ms: int = 20_000,
        rebalance_timeout_ms: int = 20_000,
        protocols: Sequence[tuple[str, bytes]] = tuple(RANGE),
        protocol_type: str = "consumer",
    ) -> None:
        self.wire, self.group, self.instance_id = wire, group, instance_id
        self.session_timeout_ms, self.rebalance_timeout_ms = session_timeout_ms, rebalance_timeout_ms
        self.protocols, self.protocol_type = list(protocols), protocol_type
        self.member_id, self.generation = "", -1
        self.joined: Any = None
        if group:
            find_coordinator(wire, group, GROUP_COORDINATOR)

    def begin_join(self) -> None:
        """Ask to join and do not wait for the others."""
        self.wire.begin(
            JoinGroupRequest(
                self.group,
                self.session_timeout_ms,
                self.rebalance_timeout_ms,
                self.member_id,
                self.instance_id,
                self.protocol_type,
                self.protocols,
            )
        )

    def finish_join(self) -> int:
        """Take the answer of the join; asks again when it only gives an id, as KIP-394 has it."""
        answer = self.wire.answer()
        if answer.error_code == Code.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            self.begin_join()
            answer = self.wire.answer()
        self.joined = answer
        if answer.error_code == Code.NONE:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return int(answer.error_code)

    def join(self) -> int:
        """Join; for the first member of a group, or when the others have asked, too."""
        self.begin_join()
        return self.finish_join()

    def take_id(self) -> None:
        """Only ask for a member id, so that the next join is a request of its own."""
        self.begin_join()
        answer = self.wire.answer()
        assert answer.error_code == Code.MEMBER_ID_REQUIRED
        self.member_id = answer.member_id

    @property
    def leads(self) -> bool:
        return bool(self.joined.leader_id == self.member_id)

    @property
    def members(self) -> dict[str, bytes]:
        """Whom the leader has to give work: id to what it subscribed with."""
        return {member[0]: member[-1] for member in self.joined.members}

    def begin_sync(self, assignments: Mapping[str, bytes] | None = None) -> None:
        shares = list((assignments or {}).items())
        self.wire.begin(
            SyncGroupRequest(self.group, self.generation, self.member_id, self.instance_id, shares)
        )

    def finish_sync(self) -> tuple[int, bytes]:
        answer = self.wire.answer()
        return answer.error_code, answer.member_assignment

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> tuple[int, bytes]:
        """Give (as the leader) or take the assignment; returns the error code and the own share."""
        self.begin_sync(assignments)
        return self.finish_sync()

    def heartbeat(self, generation: int | None = None) -> int:
        known = self.generation if generation is None else generation
        if self.instance_id is not None:
            request = StaticHeartbeatRequest(self.group, known, self.member_id, self.instance_id)
        else:
            request = HeartbeatRequest(self.group, known, self.member_id)
        return int(self.wire.ask(request).error_code)

    def wait_for_heartbeat(self, code: Code) -> None:
        """Send heartbeats until one is answered with this code."""
        deadline = time.monotonic() + PATIENCE_S
        while (got := self.heartbeat()) != code:
            assert time.monotonic() < deadline, f"heartbeats were answered with {got}, never with {code!r}"
            time.sleep(0.02)

    def leave(self) -> int:
        return int(self.wire.ask(LeaveGroupRequest(self.group, self.member_id)).error_code)

    def commit(self, log: Log, offset: int, *, generation: int | None = None, metadata: str = "") -> int:
        """Commit a position; returns the error code."""
        known = self.generation if generation is None else generation
        topics = [(log.topic, [(log.partition, offset, metadata)])]
        answer = self.wire.ask(OffsetCommitRequest(self.group, known, self.member_id, -1, topics))
        return int(answer.topics[0][1][0][1])


def commit_without_membership(wire: Wire, group: str, log: Log, offset: int, metadata: str = "") -> int:
    """Commit a position as a consumer that assigns itself; returns the error code."""
    return GroupMember(wire, group).commit(log, offset, metadata=metadata)


def committed(wire: Wire, group: str, log: Log) -> tuple[int, str | None]:
    """A group's position in a partition, -1 when it has none, and what was noted with it."""
    find_coordinator(wire, group, GROUP_COORDINATOR)
    answer = wire.ask(OffsetFetchRequest(group, [(log.topic, [log.partition])]))
    _partition, offset, metadata, code = answer.topics[0][1][0]
    assert code == Code.NONE
    return offset, metadata


def settle(*members: GroupMember) -> None:
    """Bring all members into one stable generation, each with its own id as its share."""
    newcomers = [member for member in members if member.generation < 0]
    present = [member for member in members if member.generation >= 0]
    assert present or len(newcomers) == 1, "a group begins with one member"
    for member in newcomers:
        if member.instance_id is None:
            member.take_id()
        member.begin_join()
    if present and newcomers:
        # Did a present member join before them, the generation would be complete without them.
        wait_for_members(present[0].wire, present[0].group, len(members))
    for member in present:
        member.begin_join()
    for member in members:
        assert member.finish_join() == Code.NONE
    leader = next(member for member in members if member.leads)
    for member in members:
        shares = {name: name.encode() for name in leader.members} if member is leader else None
        member.begin_sync(shares)
    for member in members:
        assert member.finish_sync() == (Code.NONE, member.member_id.encode())


def wait_for_members(wire: Wire, group: str, count: int) -> None:
    """Wait until so many members are known to the group, joined or joining."""
    deadline = time.monotonic() + PATIENCE_S
    while len(group_description(wire, group)[5]) < count:
        assert time.monotonic() < deadline, f"group {group} never had {count} members"
        time.sleep(0.01)
