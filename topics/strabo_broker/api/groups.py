"""Answers to consumer groups: joining, syncing, staying, leaving, and their description."""

from __future__ import annotations

import asyncio

from strabo_broker.api.call import Answers, Call
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.group_records import decode_group, encode_group
from strabo_broker.groups import Group, GroupState, Joined, JoinRequest, MemberIdRequired
from strabo_broker.offsets import Offsets
from strabo_broker.settings import BrokerSettings
from strabo_broker.store import Store
from strabo_broker.wire import groups

_NEEDS_KNOWN_ID = 4
"""The JoinGroup version from which on a new member is first told its id."""


class GroupsApi:
    """The group coordinator of every group."""

    def __init__(self, settings: BrokerSettings, store: Store, offsets: Offsets) -> None:
        self._settings = settings
        self._store = store
        self._offsets = offsets
        self._groups: dict[str, Group] = {}

    def answers(self) -> Answers:
        return {
            11: self.join,
            14: self.sync,
            12: self.heartbeat,
            13: self.leave,
            15: self.describe,
            16: self.list_groups,
            42: self.delete,
        }

    def restore(self) -> None:
        """Take up the groups that an earlier process left."""
        now = _now()
        for group_id, state in self._store.query("select id, state from groups"):
            self._groups[group_id] = decode_group(group_id, state, self._initial_delay, self._keep, now)

    @property
    def _initial_delay(self) -> float:
        return self._settings.initial_rebalance_delay_ms / 1000

    def _keep(self, group: Group) -> None:
        self._store.execute("insert or replace into groups values (?, ?)", (group.id, encode_group(group)))

    def _forget(self, group_id: str) -> None:
        if self._groups.pop(group_id, None) is not None:
            self._store.execute("delete from groups where id = ?", (group_id,))

    def find(self, group_id: str) -> Group | None:
        """A group that has members, or had them lately."""
        return self._groups.get(group_id)

    def tick(self) -> None:
        """Notice what is due in every group."""
        now = _now()
        for group in self._groups.values():
            group.tick(now)

    def live(self) -> frozenset[str]:
        """The groups that have members."""
        return frozenset(group.id for group in self._groups.values() if group.members)

    def forget_empty(self) -> None:
        """Drop groups without members, offsets or anyone about to join; what they were has no meaning any more."""
        with_offsets = set(self._offsets.groups())
        for group in list(self._groups.values()):
            if group.state is GroupState.EMPTY and not group.pending and group.id not in with_offsets:
                self._forget(group.id)

    def close(self) -> None:
        for group in self._groups.values():
            group.close()

    async def join(self, request: groups.JoinGroupRequest, call: Call) -> groups.JoinGroupResponse:
        try:
            joined = await self._join(request, call)
        except MemberIdRequired as required:
            return groups.JoinGroupResponse(error_code=required.code, member_id=required.member_id)
        except Refusal as refusal:
            return groups.JoinGroupResponse(error_code=refusal.code, member_id=request.member_id)
        return groups.JoinGroupResponse(
            error_code=ErrorCode.NONE,
            generation_id=joined.generation,
            protocol_type=joined.protocol_type,
            protocol_name=joined.protocol,
            leader=joined.leader,
            member_id=joined.member_id,
            members=tuple(groups.JoinGroupMember(*each) for each in joined.members),
        )

    def _join(self, request: groups.JoinGroupRequest, call: Call) -> asyncio.Future[Joined]:
        _check_id(request.group_id)
        settings = self._settings
        timeout = request.session_timeout_ms
        if not settings.minimum_session_timeout_ms <= timeout <= settings.maximum_session_timeout_ms:
            raise Refusal(ErrorCode.INVALID_SESSION_TIMEOUT)
        group = self._groups.get(request.group_id)
        if group is None:
            if request.member_id:
                raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
            group = Group(request.group_id, self._initial_delay, self._keep)
            self._groups[request.group_id] = group
        rebalance_timeout = request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else timeout
        return group.join(
            JoinRequest(
                request.member_id,
                request.group_instance_id,
                call.client_id,
                call.client_host,
                timeout / 1000,
                rebalance_timeout / 1000,
                request.protocol_type,
                tuple((each.name, each.metadata) for each in request.protocols),
                call.version >= _NEEDS_KNOWN_ID,
            ),
            _now(),
        )

    async def sync(self, request: groups.SyncGroupRequest, _: Call) -> groups.SyncGroupResponse:
        try:
            group = self._group(request.group_id)
            assignment = await group.sync(
                request.member_id,
                request.group_instance_id,
                request.generation_id,
                {each.member_id: each.assignment for each in request.assignments},
                _now(),
            )
        except Refusal as refusal:
            return groups.SyncGroupResponse(error_code=refusal.code)
        return groups.SyncGroupResponse(
            error_code=ErrorCode.NONE,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol,
            assignment=assignment,
        )

    async def heartbeat(self, request: groups.HeartbeatRequest, _: Call) -> groups.HeartbeatResponse:
        try:
            self._group(request.group_id).heartbeat(
                request.member_id, request.group_instance_id, request.generation_id, _now()
            )
        except Refusal as refusal:
            return groups.HeartbeatResponse(error_code=refusal.code)
        return groups.HeartbeatResponse()

    async def leave(self, request: groups.LeaveGroupRequest, call: Call) -> groups.LeaveGroupResponse:
        members = request.members if call.version >= 3 else (groups.LeavingMember(request.member_id),)
        try:
            group = self._group(request.group_id)
        except Refusal as refusal:
            return groups.LeaveGroupResponse(error_code=refusal.code)
        left = tuple(
            groups.LeftMember(each.member_id, each.group_instance_id, self._leave_one(group, each))
            for each in members
        )
        if call.version >= 3:
            return groups.LeaveGroupResponse(members=left)
        return groups.LeaveGroupResponse(error_code=left[0].error_code)

    def _leave_one(self, group: Group, member: groups.LeavingMember) -> ErrorCode:
        try:
            group.leave(member.member_id, member.group_instance_id, _now())
        except Refusal as refusal:
            return refusal.code
        return ErrorCode.NONE

    async def describe(self, request: groups.DescribeGroupsRequest, _: Call) -> groups.DescribeGroupsResponse:
        known = set(self._offsets.groups())
        return groups.DescribeGroupsResponse(
            groups=tuple(self._describe_one(each, known) for each in request.groups)
        )

    def _describe_one(self, group_id: str, with_offsets: set[str]) -> groups.DescribedGroup:
        group = self._groups.get(group_id)
        if group is None:
            state = GroupState.EMPTY if group_id in with_offsets else GroupState.DEAD
            return groups.DescribedGroup(ErrorCode.NONE, group_id, state)
        settled = group.state is GroupState.STABLE
        return groups.DescribedGroup(
            ErrorCode.NONE,
            group_id,
            group.state,
            group.protocol_type,
            group.protocol if settled else "",
            tuple(
                groups.DescribedMember(
                    each.id,
                    each.instance_id,
                    each.client_id,
                    each.client_host,
                    each.metadata(group.protocol) if settled else b"",
                    each.assignment if settled else b"",
                )
                for each in group.members.values()
            ),
        )

    async def list_groups(self, request: groups.ListGroupsRequest, _: Call) -> groups.ListGroupsResponse:
        listed = [
            groups.ListedGroup(each.id, each.protocol_type, each.state) for each in self._groups.values()
        ]
        listed += (
            groups.ListedGroup(group_id, "", GroupState.EMPTY)
            for group_id in self._offsets.groups()
            if group_id not in self._groups
        )
        states = {each.lower() for each in request.states}
        return groups.ListGroupsResponse(
            groups=tuple(each for each in listed if not states or each.state.lower() in states)
        )

    async def delete(self, request: groups.DeleteGroupsRequest, _: Call) -> groups.DeleteGroupsResponse:
        known = set(self._offsets.groups())
        return groups.DeleteGroupsResponse(
            results=tuple(groups.DeletedGroup(each, self._delete_one(each, known)) for each in request.groups)
        )

    def _delete_one(self, group_id: str, with_offsets: set[str]) -> ErrorCode:
        group = self._groups.get(group_id)
        if group is None and group_id not in with_offsets:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group is not None and group.members:
            return ErrorCode.NON_EMPTY_GROUP
        self._forget(group_id)
        self._offsets.delete_group(group_id)
        return ErrorCode.NONE

    def _group(self, group_id: str) -> Group:
        _check_id(group_id)
        group = self._groups.get(group_id)
        if group is None:
            raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
        return group


def _check_id(group_id: str) -> None:
    if not group_id:
        raise Refusal(ErrorCode.INVALID_GROUP_ID)


def _now() -> float:
    return asyncio.get_running_loop().time()
