"""The transaction coordinator: fencing, states, time-outs, and what survives a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_broker.cache import TailCache
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.offsets import CommittedOffset, Offsets
from strabo_broker.partition import Partition
from strabo_broker.store import Store
from strabo_broker.topics import Topics
from strabo_broker.transactions import Transactions
from tests.unit.strabo_broker.building import batch

TIMEOUT = 1_000


class World:
    """A coordinator with one topic of two partitions."""

    def __init__(self, store: Store) -> None:
        self.topics = Topics(store, TailCache(1 << 20))
        self.topics.restore()
        self.offsets = Offsets(store)
        self.transactions = Transactions(store, self.topics, self.offsets, 60_000)
        self.transactions.restore()
        if self.topics.find("t") is None:
            self.topics.create("t", 2, {}, 0)

    @property
    def partitions(self) -> list[Partition]:
        return self.topics.topic("t").partitions

    def initialise(self, name: str = "x", now: int = 0) -> tuple[int, int]:
        return self.transactions.initialise(name, TIMEOUT, -1, -1, now)

    def begin(self, producer_id: int, epoch: int, now: int = 0, name: str = "x") -> None:
        self.transactions.add_partitions(name, producer_id, epoch, self.partitions[:1], now)
        state = self.partitions[0].producers.get(producer_id)
        sequence = len(state.batches) if state is not None and state.epoch == epoch else 0
        self.partitions[0].append(
            batch(producer_id=producer_id, epoch=epoch, sequence=sequence, transactional=True), now
        )

    def end(self, producer_id: int, epoch: int, *, commit: bool = True) -> None:
        self.transactions.end("x", producer_id, epoch, commit=commit, now_ms=0)


@pytest.fixture
async def world(store: Store) -> World:
    return World(store)


def code_of(refused: pytest.ExceptionInfo[Refusal]) -> ErrorCode:
    return refused.value.code


async def test_each_initialisation_has_the_same_producer_and_the_next_epoch(world: World) -> None:
    first, second = world.initialise(), world.initialise()
    assert second == (first[0], first[1] + 1)


async def test_ids_have_producers_of_their_own(world: World) -> None:
    assert world.initialise("a")[0] != world.initialise("b")[0]


async def test_an_initialisation_aborts_the_open_transaction(world: World) -> None:
    world.begin(*world.initialise())
    assert world.partitions[0].last_stable_offset == 0
    world.initialise()
    assert world.partitions[0].last_stable_offset == world.partitions[0].next_offset == 2
    assert len(world.partitions[0].aborted) == 1


async def test_a_fenced_producer_is_refused_whatever_it_asks(world: World) -> None:
    zombie = world.initialise()
    world.begin(*zombie)
    world.initialise()
    for ask in (
        lambda: world.end(*zombie),
        lambda: world.transactions.add_partitions("x", *zombie, world.partitions, 0),
        lambda: world.transactions.add_group("x", *zombie, "g", 0),
        lambda: world.transactions.check_offsets("x", *zombie, "g"),
    ):
        with pytest.raises(Refusal) as refused:
            ask()
        assert code_of(refused) is ErrorCode.PRODUCER_FENCED
    with pytest.raises(Refusal) as refused:
        world.transactions.check_produce(*zombie, world.partitions[0])
    assert code_of(refused) is ErrorCode.INVALID_PRODUCER_EPOCH


async def test_an_unknown_id_or_anothers_producer_is_refused(world: World) -> None:
    producer_id, epoch = world.initialise()
    for name, given in (("y", producer_id), ("x", producer_id + 5)):
        with pytest.raises(Refusal) as refused:
            world.transactions.end(name, given, epoch, commit=True, now_ms=0)
        assert code_of(refused) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("timeout", [0, -1, 60_001])
async def test_a_time_out_beyond_bounds_is_refused(world: World, timeout: int) -> None:
    with pytest.raises(Refusal) as refused:
        world.transactions.initialise("x", timeout, -1, -1, 0)
    assert code_of(refused) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize("commit", [True, False])
async def test_an_end_may_be_asked_for_twice_but_not_turned_round(world: World, commit: bool) -> None:
    producer = world.initialise()
    world.begin(*producer)
    world.end(*producer, commit=commit)
    end = world.partitions[0].next_offset
    world.end(*producer, commit=commit)
    assert world.partitions[0].next_offset == end
    with pytest.raises(Refusal) as refused:
        world.end(*producer, commit=not commit)
    assert code_of(refused) is ErrorCode.INVALID_TXN_STATE


async def test_an_end_without_a_beginning_is_refused(world: World) -> None:
    with pytest.raises(Refusal) as refused:
        world.end(*world.initialise())
    assert code_of(refused) is ErrorCode.INVALID_TXN_STATE


async def test_offsets_take_effect_with_the_commit_alone(world: World) -> None:
    producer = world.initialise()
    for commit, expected in ((False, None), (True, 7)):
        world.transactions.add_group("x", *producer, "g", 0)
        transaction = world.transactions.check_offsets("x", *producer, "g")
        world.transactions.add_offset(transaction, "g", "t", 0, CommittedOffset(7))
        assert world.offsets.find("g", "t", 0) is None
        assert world.transactions.has_pending_offset("g", "t", 0)
        world.end(*producer, commit=commit)
        found = world.offsets.find("g", "t", 0)
        assert (found and found.offset) == expected
        assert not world.transactions.has_pending_offset("g", "t", 0)


async def test_offsets_of_a_group_that_was_not_added_are_refused(world: World) -> None:
    producer = world.initialise()
    world.begin(*producer)
    with pytest.raises(Refusal) as refused:
        world.transactions.check_offsets("x", *producer, "g")
    assert code_of(refused) is ErrorCode.INVALID_TXN_STATE


async def test_a_batch_outside_the_transactions_partitions_is_refused(world: World) -> None:
    producer = world.initialise()
    world.begin(*producer)
    world.transactions.check_produce(*producer, world.partitions[0])
    with pytest.raises(Refusal) as refused:
        world.transactions.check_produce(*producer, world.partitions[1])
    assert code_of(refused) is ErrorCode.INVALID_TXN_STATE


async def test_a_transaction_past_its_time_is_aborted_and_its_producer_fenced(world: World) -> None:
    producer = world.initialise()
    world.begin(*producer, now=100)
    assert world.transactions.abort_overdue(100 + TIMEOUT) == []
    assert world.transactions.abort_overdue(101 + TIMEOUT) == ["x"]
    assert world.partitions[0].last_stable_offset == world.partitions[0].next_offset
    with pytest.raises(Refusal) as refused:
        world.end(*producer)
    assert code_of(refused) is ErrorCode.PRODUCER_FENCED


async def test_a_producer_may_ask_for_its_own_next_epoch_and_repeat_that(world: World) -> None:
    producer_id, epoch = world.initialise()
    world.begin(producer_id, epoch)
    bumped = world.transactions.initialise("x", TIMEOUT, producer_id, epoch, 0)
    assert bumped == (producer_id, epoch + 1)
    assert world.transactions.initialise("x", TIMEOUT, producer_id, epoch, 0) == bumped


async def test_a_fenced_producer_may_not_ask_for_its_next_epoch(world: World) -> None:
    producer_id, epoch = world.initialise()
    world.initialise()
    with pytest.raises(Refusal) as refused:
        world.transactions.initialise("x", TIMEOUT, producer_id, epoch, 0)
    assert code_of(refused) is ErrorCode.PRODUCER_FENCED


async def test_an_id_whose_epochs_are_used_up_gets_another_producer(world: World) -> None:
    producer_id, epoch = world.initialise()
    while epoch < 32_766:
        producer_id, epoch = world.initialise()
    other, epoch = world.initialise()
    assert other != producer_id
    assert epoch == 0


async def test_idle_ids_are_forgotten_and_open_ones_kept(world: World) -> None:
    world.initialise("idle", now=10)
    world.begin(*world.initialise("x", now=10), now=10)
    world.transactions.expire(11)
    with pytest.raises(Refusal) as refused:
        world.transactions.end("idle", 0, 0, commit=True, now_ms=0)
    assert code_of(refused) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert world.transactions.abort_overdue(10 + TIMEOUT + 1) == ["x"]


async def test_an_open_transaction_goes_on_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    store = Store(folder, synchronous="off")
    before = World(store)
    producer = before.initialise()
    before.begin(*producer)
    before.transactions.add_group("x", *producer, "g", 0)
    transaction = before.transactions.check_offsets("x", *producer, "g")
    before.transactions.add_offset(transaction, "g", "t", 1, CommittedOffset(5, 2, "note"))
    store.close()

    store = Store(folder, synchronous="off")
    after = World(store)
    assert after.partitions[0].last_stable_offset == 0
    after.end(*producer)
    assert after.partitions[0].last_stable_offset == after.partitions[0].next_offset == 2
    assert after.offsets.find("g", "t", 1) == CommittedOffset(5, 2, "note")
    store.close()


async def test_producer_ids_are_never_given_out_twice(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    given = set()
    for _ in range(3):
        store = Store(folder, synchronous="off")
        world = World(store)
        given |= {world.transactions.new_producer_id() for _ in range(3)}
        store.close()
    assert len(given) == 9
