"""Consumer groups: members, generations, and the rebalance that leads from one generation to the next.

    EMPTY ──join──▶ PREPARING ──all joined, or time out──▶ COMPLETING ──leader's assignment──▶ STABLE
      ▲                 ▲                                      │                                  │
      └── no member ────┴──── join, leave, expiry of a member ─┴──────────────────────────────────┘

The rules are those of Apache Kafka's classic groups. A static member (one with an instance id) that comes back takes
the place of its former self without a rebalance; the former self is then fenced.

Time comes in from outside: `now` in every call, and `tick` often enough to notice what is due. `keep` is called
whenever the group is in a state that has to survive the broker: stable, or empty. A broker that starts again goes on
with the generation kept last, so its members need not notice.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal

Value = TypeVar("Value")


class GroupState(StrEnum):
    """The names that DescribeGroups and ListGroups tell."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """What a member says of itself when it joins."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    needs_known_id: bool
    """Whether a new member is first told its id, and joins again with it (JoinGroup 4 and later)."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A member's place in a generation. The leader also gets everyone's metadata."""

    generation: int
    protocol_type: str
    protocol: str
    leader: str
    member_id: str
    members: tuple[tuple[str, str | None, bytes], ...]


@dataclass(slots=True, eq=False)
class Member:
    """A member, and the answers that it waits for."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: tuple[tuple[str, bytes], ...]
    expires: float
    assignment: bytes = b""
    joining: asyncio.Future[Joined] | None = None
    syncing: asyncio.Future[bytes] | None = None

    def metadata(self, protocol: str) -> bytes:
        return dict(self.protocols).get(protocol, b"")


@dataclass(slots=True, eq=False)
class Group:
    """One group. Methods raise Refusal with the code that the member is to get."""

    id: str
    initial_delay: float
    keep: Callable[[Group], None]
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Instance id to member id."""
    pending: dict[str, float] = field(default_factory=dict)
    """Member ids given out and not yet joined with, and when they expire."""
    join_deadline: float = 0.0
    not_before: float = 0.0
    sync_deadline: float = 0.0

    # Joining.

    def join(self, request: JoinRequest, now: float) -> asyncio.Future[Joined]:
        """A future of the member's place in the next generation (or this one, where nothing changes)."""
        if self.members and (
            request.protocol_type != self.protocol_type or not self._agrees(request.protocols)
        ):
            raise Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not request.protocol_type or not request.protocols:
            raise Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id:
            if request.instance_id is not None:
                return self._join_static(request, now)
            return self._join_unknown(request, now)
        if request.instance_id is not None:
            self._check_instance(request.member_id, request.instance_id)
        elif request.member_id in self.pending:
            del self.pending[request.member_id]
            return self._add(request, request.member_id, now)
        member = self._member(request.member_id, request.instance_id)
        return self._rejoin(member, request, now)

    def _agrees(self, protocols: tuple[tuple[str, bytes], ...]) -> bool:
        names = {name for name, _ in protocols}
        return bool(
            names.intersection(*({name for name, _ in each.protocols} for each in self.members.values()))
        )

    def _join_unknown(self, request: JoinRequest, now: float) -> asyncio.Future[Joined]:
        member_id = f"{request.client_id}-{uuid.uuid4()}"
        if request.needs_known_id:
            self.pending[member_id] = now + request.session_timeout
            raise MemberIdRequired(member_id)
        return self._add(request, member_id, now)

    def _join_static(self, request: JoinRequest, now: float) -> asyncio.Future[Joined]:
        assert request.instance_id is not None
        member_id = f"{request.instance_id}-{uuid.uuid4()}"
        former_id = self.static.get(request.instance_id)
        if former_id is None:
            return self._add(request, member_id, now)
        member = self.members.pop(former_id)
        _refuse(member, ErrorCode.FENCED_INSTANCE_ID)
        member.id = member_id
        self.members[member_id] = member
        self.static[request.instance_id] = member_id
        former_leader = self.leader
        if former_id == self.leader:
            self.leader = member_id
        before = self._select() if self.state is GroupState.STABLE else ""
        self._update(member, request, now)
        if self.state is GroupState.STABLE and self._select() == before == self.protocol:
            self.keep(self)
            # It is told the leader's former id: a leader that came back must not compute an assignment (KIP-345).
            return _done(
                Joined(self.generation, self.protocol_type, self.protocol, former_leader, member_id, ())
            )
        return self._await_generation(member, now)

    def _add(self, request: JoinRequest, member_id: str, now: float) -> asyncio.Future[Joined]:
        member = Member(
            member_id,
            request.instance_id,
            request.client_id,
            request.client_host,
            request.session_timeout,
            request.rebalance_timeout,
            request.protocols,
            now + request.session_timeout,
        )
        if not self.members:
            self.protocol_type = request.protocol_type
        self.members[member_id] = member
        if request.instance_id is not None:
            self.static[request.instance_id] = member_id
        return self._await_generation(member, now)

    def _rejoin(self, member: Member, request: JoinRequest, now: float) -> asyncio.Future[Joined]:
        unchanged = member.protocols == request.protocols
        self._update(member, request, now)
        if unchanged and (
            self.state is GroupState.COMPLETING
            or (self.state is GroupState.STABLE and member.id != self.leader)
        ):
            # Its answer got lost, or it asks again: it gets the same place.
            return _done(self._place(member))
        return self._await_generation(member, now)

    def _update(self, member: Member, request: JoinRequest, now: float) -> None:
        member.client_id, member.client_host = request.client_id, request.client_host
        member.session_timeout, member.rebalance_timeout = request.session_timeout, request.rebalance_timeout
        member.protocols = request.protocols
        member.expires = now + member.session_timeout

    def _await_generation(self, member: Member, now: float) -> asyncio.Future[Joined]:
        if member.joining is None or member.joining.done():
            member.joining = asyncio.get_running_loop().create_future()
        joining = member.joining
        self._prepare(now)
        self._complete_join(now)
        return joining

    def _prepare(self, now: float) -> None:
        """Begin a rebalance, unless one is being prepared."""
        if self.state is GroupState.PREPARING:
            return
        self.not_before = now + self.initial_delay if self.state is GroupState.EMPTY else now
        self.state = GroupState.PREPARING
        for member in self.members.values():
            member.assignment = b""
            if member.syncing is not None and not member.syncing.done():
                # It could send no heartbeat while it waited, so its session begins anew.
                member.expires = now + member.session_timeout
                member.syncing.set_exception(Refusal(ErrorCode.REBALANCE_IN_PROGRESS))
            member.syncing = None
        self.join_deadline = now + max(
            (each.rebalance_timeout for each in self.members.values()), default=0.0
        )

    def _complete_join(self, now: float) -> None:
        """Begin the next generation, once every member has joined or has had its time."""
        if self.state is not GroupState.PREPARING or now < self.not_before:
            return
        late = [each for each in self.members.values() if each.joining is None]
        if (late or self.pending) and now < self.join_deadline:
            return
        for member in late:
            if member.instance_id is None:
                self._drop(member)
        if not self.members:
            self._empty()
            return
        self.generation += 1
        if self.leader not in self.members or self.members[self.leader].joining is None:
            self.leader = next((each.id for each in self.members.values() if each.joining is not None), "")
        if not self.leader:  # static members only, none of which came: wait for them once more
            self.leader = next(iter(self.members))
            self.join_deadline = now + max(each.rebalance_timeout for each in self.members.values())
            return
        self.protocol = self._select()
        self.state = GroupState.COMPLETING
        self.sync_deadline = now + max(each.rebalance_timeout for each in self.members.values())
        for member in self.members.values():
            joining, member.joining = member.joining, None
            if joining is not None and not joining.done():
                member.expires = now + member.session_timeout
                joining.set_result(self._place(member))

    def _place(self, member: Member) -> Joined:
        members = (
            tuple((each.id, each.instance_id, each.metadata(self.protocol)) for each in self.members.values())
            if member.id == self.leader
            else ()
        )
        return Joined(self.generation, self.protocol_type, self.protocol, self.leader, member.id, members)

    def _select(self) -> str:
        """The protocol that all members know and most prefer."""
        common = set.intersection(*({name for name, _ in each.protocols} for each in self.members.values()))
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = next((name for name, _ in member.protocols if name in common), None)
            if choice is not None:
                votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__, default="")

    # Syncing.

    def sync(
        self,
        member_id: str,
        instance_id: str | None,
        generation: int,
        assignments: Mapping[str, bytes],
        now: float,
    ) -> asyncio.Future[bytes]:
        """A future of the member's assignment; the leader brings everyone's."""
        member = self._member(member_id, instance_id)
        self._check_generation(generation)
        if self.state is GroupState.PREPARING:
            raise Refusal(ErrorCode.REBALANCE_IN_PROGRESS)
        member.expires = now + member.session_timeout
        if self.state is GroupState.COMPLETING and member_id == self.leader:
            self.state = GroupState.STABLE
            for each in self.members.values():
                each.assignment = assignments.get(each.id, b"")
                if each.syncing is not None and not each.syncing.done():
                    each.syncing.set_result(each.assignment)
                each.syncing = None
            self.keep(self)
        if self.state is GroupState.STABLE:
            return _done(member.assignment)
        if member.syncing is None or member.syncing.done():
            member.syncing = asyncio.get_running_loop().create_future()
        return member.syncing

    # Staying and leaving.

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Note that a member lives; REBALANCE_IN_PROGRESS tells it to join again."""
        member = self._member(member_id, instance_id)
        self._check_generation(generation)
        member.expires = now + member.session_timeout
        if self.state is GroupState.PREPARING:
            raise Refusal(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, member_id: str, instance_id: str | None, now: float) -> None:
        """A member goes, or an operator removes a static one by its instance id alone."""
        if instance_id is not None and not member_id:
            known = self.static.get(instance_id)
            if known is None:
                raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
            member_id = known
        if self.pending.pop(member_id, None) is not None:
            self._complete_join(now)
            return
        self._remove(self._member(member_id, instance_id), now)

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, *, transactional: bool
    ) -> None:
        """Refuse an offset commit by who is not a member of this generation."""
        if generation < 0 and self.state is GroupState.EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            self._member(member_id, instance_id)
            self._check_generation(generation)
        elif not transactional and self.state is not GroupState.EMPTY:
            raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
        if not transactional and self.state is GroupState.COMPLETING:
            raise Refusal(ErrorCode.REBALANCE_IN_PROGRESS)

    def touch(self, member_id: str, now: float) -> None:
        """A commit counts as a sign of life."""
        member = self.members.get(member_id)
        if member is not None:
            member.expires = now + member.session_timeout

    def tick(self, now: float) -> None:
        """Drop members that were silent for too long, and end a rebalance whose time is over."""
        for member_id in [key for key, expires in self.pending.items() if expires <= now]:
            del self.pending[member_id]
        for member in list(self.members.values()):
            waits = (member.joining is not None and not member.joining.done()) or (
                member.syncing is not None and not member.syncing.done()
            )
            if not waits and member.expires <= now and member.id in self.members:
                self._remove(member, now)
        if self.state is GroupState.COMPLETING and now >= self.sync_deadline:
            for member in [each for each in self.members.values() if each.syncing is None]:
                self._drop(member)
            self._changed(now)
        self._complete_join(now)

    def close(self) -> None:
        """Let everyone who waits for an answer go."""
        for member in self.members.values():
            _refuse(member, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _remove(self, member: Member, now: float) -> None:
        self._drop(member)
        self._changed(now)

    def _changed(self, now: float) -> None:
        """Membership shrank: rebalance among those left, if any."""
        if self.state in (GroupState.STABLE, GroupState.COMPLETING):
            if self.members:
                self._prepare(now)
            else:
                self._empty()
        self._complete_join(now)

    def _drop(self, member: Member) -> None:
        del self.members[member.id]
        if member.instance_id is not None and self.static.get(member.instance_id) == member.id:
            del self.static[member.instance_id]
        _refuse(member, ErrorCode.UNKNOWN_MEMBER_ID)

    def _empty(self) -> None:
        self.state = GroupState.EMPTY
        self.generation += 1
        self.protocol = self.leader = ""
        self.keep(self)

    def _check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise Refusal(ErrorCode.ILLEGAL_GENERATION)

    def _check_instance(self, member_id: str, instance_id: str) -> None:
        known = self.static.get(instance_id)
        if known is None:
            raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
        if known != member_id:
            raise Refusal(ErrorCode.FENCED_INSTANCE_ID)

    def _member(self, member_id: str, instance_id: str | None) -> Member:
        if instance_id is not None:
            self._check_instance(member_id, instance_id)
        member = self.members.get(member_id)
        if member is None:
            raise Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
        return member


class MemberIdRequired(Refusal):
    """A new member is told its id, with which it joins again."""

    def __init__(self, member_id: str) -> None:
        super().__init__(ErrorCode.MEMBER_ID_REQUIRED)
        self.member_id = member_id


def _done(value: Value) -> asyncio.Future[Value]:
    future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future


def _refuse(member: Member, code: ErrorCode) -> None:
    """End whatever a member waits for with this code."""
    waiting: tuple[asyncio.Future[Joined] | asyncio.Future[bytes] | None, ...] = (
        member.joining,
        member.syncing,
    )
    for future in waiting:
        if future is not None and not future.done():
            future.set_exception(Refusal(code))
    member.joining = member.syncing = None
