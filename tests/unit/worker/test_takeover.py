"""Taking over partitions by owner keys, on a Kafka in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from strabo_avro.codec import encode
from strabo_avro.records import POSITION_KEY, Owner, Position, owner_key
from strabo_runtime.worker.clock import Clock
from strabo_runtime.worker.errors import KafkaFailed, Overtaken, PartitionHalted
from strabo_runtime.worker.kafka import Appended, Batches, Outgoing, Producer, pass_by
from strabo_runtime.worker.takeover import StateLog, TakeOver
from strabo_runtime.worker.transaction import transact
from tests.unit.worker.memory_kafka import MemoryKafka

STATE = "ns.state"


def kafka() -> MemoryKafka:
    return MemoryKafka(clock=Clock(5_000).now, partitions={STATE: 4})


def claim(owner: str) -> Outgoing:
    return Outgoing(owner_key(owner), encode(Owner(owner=owner, at=0)))


def position(at: int) -> Outgoing:
    return Outgoing(POSITION_KEY, encode(Position(position=at, at=0)))


async def commit(producer: Producer, batches: Batches) -> Mapping[tuple[str, int], Appended]:
    return await transact(producer, batches, "batch", pass_by, Clock(5_000))


async def take_over(broker: MemoryKafka, owner: str, partitions: Sequence[int] = (0,)) -> list[StateLog]:
    producer = await broker.producer(owner)
    taking = TakeOver(
        broker,
        STATE,
        owner,
        lambda batches: commit(producer, batches),
        lambda: None,
        set(),
        Clock(0).now,
        pass_by,
    )
    return await taking.run(partitions)


def owners(broker: MemoryKafka, partition: int = 0) -> set[str]:
    log = StateLog(partition)
    log.take(broker.committed(STATE, partition), 1_000_000)
    return log.owners


async def test_an_empty_partition_is_claimed_and_has_no_position() -> None:
    broker = kafka()

    (log,) = await take_over(broker, "me")

    assert (log.position, log.instances, owners(broker)) == (None, {}, {"me"})


async def test_what_was_committed_before_the_claim_is_the_state() -> None:
    broker = kafka()
    other = await broker.producer("other")
    await commit(
        other, {(STATE, 0): [claim("other"), Outgoing(b"a", b"1"), Outgoing(b"b", b"1"), position(7)]}
    )
    await commit(other, {(STATE, 0): [Outgoing(b"b", None), Outgoing(b"a", b"2"), position(9)]})

    (log,) = await take_over(broker, "me")

    assert (log.position, log.instances) == (9, {b"a": b"2"})


async def test_the_owner_before_is_fenced_and_its_key_removed() -> None:
    broker = kafka()
    other = await broker.producer("other")
    await commit(other, {(STATE, 0): [claim("other")]})

    await take_over(broker, "me")

    assert broker.fenced == ["other"]
    assert owners(broker) == {"me"}
    with pytest.raises(KafkaFailed):
        await commit(other, {(STATE, 0): [position(1)]})


async def test_an_open_transaction_of_the_owner_before_is_ended_and_counts_for_nothing() -> None:
    broker = kafka()
    other = await broker.producer("other")
    await commit(other, {(STATE, 0): [claim("other"), position(1)]})
    await other.begin()
    for acknowledgement in await other.queue(STATE, 0, [position(2)]):
        await acknowledgement

    (log,) = await take_over(broker, "me")

    assert log.position == 1


async def test_an_owner_that_hides_behind_its_own_open_claim_is_found_and_fenced() -> None:
    broker = kafka()
    claimant = await broker.producer("claimant")
    await claimant.begin()
    for acknowledgement in await claimant.queue(STATE, 0, [claim("claimant")]):
        await acknowledgement

    await take_over(broker, "me")

    assert broker.fenced == ["claimant"]
    assert owners(broker) == {"me"}


async def test_an_owner_that_claimed_between_reading_and_claiming_is_fenced_and_the_claim_made_again() -> (
    None
):
    broker = kafka()
    producer = await broker.producer("me")
    rival = await broker.producer("rival")
    claims = 0

    async def claiming(batches: Batches) -> Mapping[tuple[str, int], Appended]:
        nonlocal claims
        claims += 1
        if claims == 1:
            await commit(rival, {(STATE, 0): [claim("rival"), position(5)]})
        return await commit(producer, batches)

    (log,) = await TakeOver(broker, STATE, "me", claiming, lambda: None, set(), Clock(0).now, pass_by).run(
        [0]
    )

    assert (claims, broker.fenced, log.position, owners(broker)) == (2, ["rival"], 5, {"me"})


async def test_several_partitions_are_claimed_in_one_transaction() -> None:
    broker = kafka()
    producer = await broker.producer("me")
    transactions = []

    async def claiming(batches: Batches) -> Mapping[tuple[str, int], Appended]:
        transactions.append(sorted(partition for _topic, partition in batches))
        return await commit(producer, batches)

    await TakeOver(broker, STATE, "me", claiming, lambda: None, set(), Clock(0).now, pass_by).run([0, 1, 3])

    assert transactions == [[0, 1, 3]]


async def test_of_two_that_take_over_at_once_only_one_can_still_commit() -> None:
    broker = kafka()
    first, second = await broker.producer("first"), await broker.producer("second")

    async def run(producer: Producer) -> bool:
        taking = TakeOver(
            broker,
            STATE,
            producer.transactional_id,
            lambda batches: commit(producer, batches),
            lambda: None,
            set(),
            Clock(0).now,
            pass_by,
        )
        try:
            await taking.run([0])
            await asyncio.sleep(0.01)
            await commit(producer, {(STATE, 0): [position(1)]})
        except KafkaFailed:
            return False
        return True

    assert sorted(await asyncio.gather(run(first), run(second))) in ([False, True], [False, False])


async def test_a_rebalance_stops_a_take_over() -> None:
    broker = kafka()
    other = await broker.producer("other")
    await commit(other, {(STATE, 0): [claim("other")]})
    producer = await broker.producer("me")

    def check() -> None:
        raise Overtaken("the assignment changed")

    with pytest.raises(Overtaken):
        await TakeOver(
            broker,
            STATE,
            "me",
            lambda batches: commit(producer, batches),
            check,
            set(),
            Clock(0).now,
            pass_by,
        ).run([0])
    assert broker.fenced == []


def test_a_position_that_goes_back_halts_the_partition() -> None:
    broker = kafka()
    records = [broker.append(STATE, 0, position(7)), broker.append(STATE, 0, position(6))]

    with pytest.raises(PartitionHalted, match="went back from 7 to 6"):
        StateLog(0).take(records, 10)


def test_records_beyond_the_end_are_kept_for_later() -> None:
    broker = kafka()
    records = [broker.append(STATE, 0, position(number)) for number in (1, 2, 3)]
    log = StateLog(0)

    log.take(records, 2)
    before = log.position
    log.take([], 3)

    assert (before, log.position) == (2, 3)
