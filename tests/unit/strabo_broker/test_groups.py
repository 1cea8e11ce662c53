"""Consumer groups, with time passed in: rebalances, static members, and who is refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.group_records import decode_group, encode_group
from strabo_broker.groups import Group, GroupState, Joined, JoinRequest, MemberIdRequired

SESSION = 10.0
REBALANCE = 60.0


@dataclass
class Fleet:
    """A group and its clock."""

    initial_delay: float = 0.0
    now: float = 0.0
    kept: list[str] = field(default_factory=list)
    group: Group = field(init=False)

    def __post_init__(self) -> None:
        self.group = Group("g", self.initial_delay, self.keep)

    def keep(self, group: Group) -> None:
        self.kept.append(encode_group(group))

    def restarted(self) -> Fleet:
        """What a broker that starts again makes of what was kept."""
        again = Fleet(now=self.now)
        again.group = decode_group("g", self.kept[-1], 0.0, again.keep, self.now)
        return again

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[str, ...] = ("range",),
        known_id: bool = False,
        kind: str = "consumer",
        metadata: bytes = b"m",
    ) -> asyncio.Future[Joined]:
        request = JoinRequest(
            member_id,
            instance,
            "client",
            "/127.0.0.1",
            SESSION,
            REBALANCE,
            kind,
            tuple((name, metadata) for name in protocols),
            known_id,
        )
        return self.group.join(request, self.now)

    def sync(self, joined: Joined, instance: str | None = None) -> asyncio.Future[bytes]:
        assignments = {each[0]: each[0].encode() for each in joined.members}
        return self.group.sync(joined.member_id, instance, joined.generation, assignments, self.now)

    def state(self) -> GroupState:
        return self.group.state

    def beat(self, joined: Joined, instance: str | None = None) -> None:
        self.group.heartbeat(joined.member_id, instance, joined.generation, self.now)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.group.tick(self.now)

    async def stable_pair(self) -> tuple[Joined, Joined]:
        """Two members of one stable generation; the first leads."""
        alone = await self.join()
        waiting = self.join()
        leader = await self.join(alone.member_id)
        follower = await waiting
        self.sync(leader)
        return leader, follower


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def code_of(refused: pytest.ExceptionInfo[Refusal]) -> ErrorCode:
    return refused.value.code


async def test_the_first_member_leads_a_generation_of_its_own(fleet: Fleet) -> None:
    joined = await fleet.join()
    assert (joined.generation, joined.leader, len(joined.members)) == (1, joined.member_id, 1)
    assert fleet.state() is GroupState.COMPLETING
    assert await fleet.sync(joined) == joined.member_id.encode()
    assert fleet.state() is GroupState.STABLE


async def test_a_second_member_waits_until_the_first_has_joined_again(fleet: Fleet) -> None:
    first = await fleet.join()
    await fleet.sync(first)
    second = fleet.join()
    assert not second.done()
    with pytest.raises(Refusal) as refused:
        fleet.beat(first)
    assert code_of(refused) is ErrorCode.REBALANCE_IN_PROGRESS
    again = await fleet.join(first.member_id)
    assert again.generation == (await second).generation == 2
    assert len(again.members) == 2 and (await second).members == ()


async def test_followers_get_their_assignment_from_the_leader(fleet: Fleet) -> None:
    alone = await fleet.join()
    waiting = fleet.join()
    leader, follower = await fleet.join(alone.member_id), await waiting
    syncing = fleet.sync(follower)
    assert not syncing.done()
    await fleet.sync(leader)
    assert await syncing == follower.member_id.encode()


async def test_a_late_follower_gets_its_assignment_at_once(fleet: Fleet) -> None:
    _, follower = await fleet.stable_pair()
    assert await fleet.sync(follower) == follower.member_id.encode()


async def test_a_new_member_is_told_its_id_first_where_it_knows_of_that(fleet: Fleet) -> None:
    with pytest.raises(MemberIdRequired) as required:
        fleet.join(known_id=True)
    assert fleet.state() is GroupState.EMPTY
    joined = await fleet.join(required.value.member_id, known_id=True)
    assert joined.member_id == required.value.member_id


async def test_a_rebalance_waits_for_those_about_to_join(fleet: Fleet) -> None:
    with pytest.raises(MemberIdRequired):
        fleet.join(known_id=True)
    waiting = fleet.join()
    assert not waiting.done()
    fleet.pass_time(SESSION)
    assert (await waiting).generation == 1


async def test_a_silent_member_is_dropped_and_the_others_rebalance(fleet: Fleet) -> None:
    leader, follower = await fleet.stable_pair()
    fleet.now += SESSION - 1
    fleet.beat(follower)
    fleet.pass_time(1)
    assert list(fleet.group.members) == [follower.member_id]
    with pytest.raises(Refusal) as refused:
        fleet.beat(leader)
    assert code_of(refused) is ErrorCode.UNKNOWN_MEMBER_ID
    again = await fleet.join(follower.member_id)
    assert again.leader == follower.member_id


async def test_a_member_that_does_not_join_again_is_left_behind(fleet: Fleet) -> None:
    leader, follower = await fleet.stable_pair()
    waiting = fleet.join(leader.member_id)
    for _ in range(int(REBALANCE)):
        fleet.now += 1
        with pytest.raises(Refusal):
            fleet.beat(follower)
    fleet.pass_time(0)
    assert len((await waiting).members) == 1


async def test_leaving_starts_a_rebalance_and_the_last_empties_the_group(fleet: Fleet) -> None:
    leader, follower = await fleet.stable_pair()
    fleet.group.leave(follower.member_id, None, fleet.now)
    assert fleet.state() is GroupState.PREPARING
    fleet.group.leave(leader.member_id, None, fleet.now)
    assert fleet.state() is GroupState.EMPTY


async def test_a_member_of_another_generation_is_refused(fleet: Fleet) -> None:
    leader, _ = await fleet.stable_pair()
    for ask in (
        lambda: fleet.group.heartbeat(leader.member_id, None, leader.generation - 1, 0.0),
        lambda: fleet.group.sync(leader.member_id, None, leader.generation + 1, {}, 0.0),
        lambda: fleet.group.check_commit(leader.member_id, None, 1, transactional=False),
    ):
        with pytest.raises(Refusal) as refused:
            ask()
        assert code_of(refused) is ErrorCode.ILLEGAL_GENERATION


async def test_a_stranger_is_refused(fleet: Fleet) -> None:
    leader, _ = await fleet.stable_pair()
    for ask in (
        lambda: fleet.join("stranger"),
        lambda: fleet.group.heartbeat("stranger", None, leader.generation, 0.0),
        lambda: fleet.group.leave("stranger", None, 0.0),
        lambda: fleet.group.check_commit("stranger", None, leader.generation, transactional=False),
        lambda: fleet.group.check_commit("", None, -1, transactional=False),
    ):
        with pytest.raises(Refusal) as refused:
            ask()
        assert code_of(refused) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_anyone_may_commit_in_an_empty_group(fleet: Fleet) -> None:
    fleet.group.check_commit("", None, -1, transactional=False)


async def test_members_without_a_common_protocol_do_not_meet(fleet: Fleet) -> None:
    await fleet.join(protocols=("range", "sticky"))
    for protocols, kind in ((("cooperative",), "consumer"), (("range",), "connect")):
        with pytest.raises(Refusal) as refused:
            fleet.join(protocols=protocols, kind=kind)
        assert code_of(refused) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_the_protocol_that_most_members_prefer_is_taken(fleet: Fleet) -> None:
    first = await fleet.join(protocols=("a", "b"))
    others = [fleet.join(protocols=("b", "a")) for _ in range(2)]
    assert (await fleet.join(first.member_id, protocols=("a", "b"))).protocol == "b"
    await asyncio.gather(*others)


async def test_a_follower_that_joins_unchanged_gets_the_same_generation(fleet: Fleet) -> None:
    leader, follower = await fleet.stable_pair()
    assert (await fleet.join(follower.member_id)).generation == leader.generation


async def test_a_leader_that_joins_again_starts_a_rebalance(fleet: Fleet) -> None:
    leader, _ = await fleet.stable_pair()
    assert not fleet.join(leader.member_id).done()
    assert fleet.state() is GroupState.PREPARING


async def test_a_follower_with_another_subscription_starts_a_rebalance(fleet: Fleet) -> None:
    _, follower = await fleet.stable_pair()
    assert not fleet.join(follower.member_id, metadata=b"other").done()


async def test_a_static_member_comes_back_without_a_rebalance(fleet: Fleet) -> None:
    first = await fleet.join(instance="one")
    await fleet.sync(first, "one")
    back = await fleet.join(instance="one")
    assert back.generation == first.generation
    assert back.member_id != first.member_id
    assert back.leader == first.member_id and back.members == ()
    assert fleet.state() is GroupState.STABLE
    assert await fleet.sync(back, "one") == first.member_id.encode()


async def test_the_former_self_of_a_static_member_is_fenced(fleet: Fleet) -> None:
    former = await fleet.join(instance="one")
    await fleet.sync(former, "one")
    await fleet.join(instance="one")
    for ask in (
        lambda: fleet.beat(former, "one"),
        lambda: fleet.sync(former, "one"),
        lambda: fleet.join(former.member_id, instance="one"),
        lambda: fleet.group.leave(former.member_id, "one", 0.0),
        lambda: fleet.group.check_commit(former.member_id, "one", former.generation, transactional=False),
    ):
        with pytest.raises(Refusal) as refused:
            ask()
        assert code_of(refused) is ErrorCode.FENCED_INSTANCE_ID


async def test_a_static_member_that_waits_is_fenced_by_its_successor(fleet: Fleet) -> None:
    leader = await fleet.join()
    await fleet.sync(leader)
    waiting = fleet.join(instance="one")
    successor = fleet.join(instance="one")
    with pytest.raises(Refusal) as refused:
        await waiting
    assert code_of(refused) is ErrorCode.FENCED_INSTANCE_ID
    await fleet.join(leader.member_id)
    assert (await successor).generation == 2


async def test_a_static_member_is_removed_by_its_instance_id_alone(fleet: Fleet) -> None:
    await fleet.sync(await fleet.join(instance="one"), "one")
    fleet.group.leave("", "one", fleet.now)
    assert not fleet.group.members and not fleet.group.static


async def test_a_static_member_keeps_its_place_through_a_rebalance_until_its_session_ends(
    fleet: Fleet,
) -> None:
    static = await fleet.join(instance="one")
    await fleet.sync(static, "one")
    waiting = fleet.join()
    fleet.now += SESSION - 1
    fleet.group.tick(fleet.now)
    assert static.member_id in fleet.group.members
    fleet.pass_time(2)
    assert static.member_id not in fleet.group.members
    assert (await waiting).generation == 2


async def test_a_leader_that_never_syncs_is_dropped(fleet: Fleet) -> None:
    alone = await fleet.join()
    waiting = fleet.join()
    leader, follower = await fleet.join(alone.member_id), await waiting
    syncing = fleet.sync(follower)
    fleet.pass_time(SESSION)
    with pytest.raises(Refusal) as refused:
        await syncing
    assert code_of(refused) is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(fleet.group.members) == [follower.member_id]
    assert leader.member_id not in fleet.group.members


async def test_a_first_rebalance_waits_for_more_members_when_told_to() -> None:
    fleet = Fleet(3.0)
    first, second = fleet.join(), fleet.join()
    fleet.pass_time(2.9)
    assert not first.done()
    fleet.pass_time(0.2)
    assert (await first).generation == (await second).generation == 1


async def test_a_member_whose_connection_ended_while_joining_expires(fleet: Fleet) -> None:
    leader = await fleet.join()
    await fleet.sync(leader)
    gone = fleet.join()
    gone.cancel()
    await fleet.join(leader.member_id)
    fleet.now += SESSION
    fleet.group.members[leader.member_id].expires = fleet.now + 1
    fleet.group.tick(fleet.now)
    assert list(fleet.group.members) == [leader.member_id]


async def test_the_members_of_a_stable_generation_go_on_after_a_restart(fleet: Fleet) -> None:
    leader, follower = await fleet.stable_pair()
    fleet.now += SESSION
    again = fleet.restarted()
    for member in (leader, follower):
        again.beat(member)
        assert await again.sync(member) == member.member_id.encode()
        again.group.check_commit(member.member_id, None, member.generation, transactional=False)
    assert again.state() is GroupState.STABLE


async def test_members_that_did_not_come_back_after_a_restart_expire(fleet: Fleet) -> None:
    _, follower = await fleet.stable_pair()
    again = fleet.restarted()
    again.now += SESSION - 1
    again.beat(follower)
    again.pass_time(1)
    assert list(again.group.members) == [follower.member_id]
    assert again.state() is GroupState.PREPARING


async def test_a_static_member_is_known_after_a_restart_and_its_former_self_fenced(fleet: Fleet) -> None:
    former = await fleet.join(instance="one")
    await fleet.sync(former, "one")
    latter = await fleet.join(instance="one")
    again = fleet.restarted()
    again.beat(latter, "one")
    with pytest.raises(Refusal) as refused:
        again.beat(former, "one")
    assert code_of(refused) is ErrorCode.FENCED_INSTANCE_ID


async def test_a_rebalance_under_way_is_taken_up_from_the_generation_before(fleet: Fleet) -> None:
    leader, _ = await fleet.stable_pair()
    fleet.join()
    again = fleet.restarted()
    again.beat(leader)
    assert (again.state(), again.group.generation) == (GroupState.STABLE, leader.generation)


async def test_an_empty_group_keeps_its_generation_through_a_restart(fleet: Fleet) -> None:
    joined = await fleet.join()
    await fleet.sync(joined)
    fleet.group.leave(joined.member_id, None, fleet.now)
    again = fleet.restarted()
    assert again.state() is GroupState.EMPTY
    assert (await again.join()).generation > joined.generation
