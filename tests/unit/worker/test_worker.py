"""A whole worker on a Kafka in memory: terms, rebalances, failures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import orjson
import pytest

from strabo_avro.codec import decode, encode
from strabo_avro.records import OWNER_PREFIX, Envelope, Position, StepRecord
from strabo_runtime.worker import Worker, WorkerSettings, term
from strabo_runtime.worker.errors import ClockSkewed, TopicsUnfit, WorkerError
from strabo_runtime.worker.kafka import Incoming, Outgoing
from strabo_runtime.worker.runner import Runner
from tests.unit.worker.family import CHILD, PARENT, begin, judge, say
from tests.unit.worker.kit import NAMES, PARTITIONS, announcement, definition, envelope, home, start
from tests.unit.worker.memory_kafka import MemoryIntake, MemoryKafka, MemoryProducer, Stored

TOPICS = dict.fromkeys((NAMES.inbox, NAMES.state, NAMES.events, NAMES.replies, NAMES.deadletter), PARTITIONS)
ALL = tuple(range(PARTITIONS))


def now() -> int:
    return time.time_ns() // 1_000_000


def kafka() -> MemoryKafka:
    """With the protocol published and a watcher announced."""
    made = MemoryKafka(clock=now, partitions={**TOPICS, NAMES.definitions: 1, NAMES.agents: 1})
    put(made, definition())
    put(made, announcement("w1", at=now()))
    return made


def put(broker: MemoryKafka, record: Stored) -> None:
    broker.append(record.topic, record.partition, Outgoing(record.key or b"", record.value))


def send(broker: MemoryKafka, sent: Envelope) -> None:
    broker.append(NAMES.inbox, home(sent.instance_id), Outgoing(sent.instance_id.encode(), encode(sent)))


def steps(broker: MemoryKafka) -> list[tuple[str, int, str]]:
    """(instance, inbox offset, verdict) of each step."""
    found = [decode(record.value or b"", StepRecord) for record in broker.committed(NAMES.events)]
    return [(one.instance_id, one.offset, one.verdict) for one in found]


def positions(broker: MemoryKafka, partition: int) -> list[int]:
    records = broker.committed(NAMES.state, partition)
    return [decode(one.value or b"", Position).position for one in records if one.key == b"\0position"]


def owners(broker: MemoryKafka, partition: int) -> list[str]:
    claims: dict[bytes, bool] = {}
    for record in broker.committed(NAMES.state, partition):
        if (record.key or b"").startswith(OWNER_PREFIX):
            claims[record.key or b""] = record.value is not None
    return [key.decode().removeprefix("\0owner/") for key, held in claims.items() if held]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def working(broker: MemoryKafka, partitions: Sequence[int] = ALL) -> AsyncIterator[MemoryIntake]:
    """A worker that was assigned these partitions; the body gets its intake."""
    worker = Worker(WorkerSettings.load(namespace="ns"), kafka=broker)
    running = asyncio.create_task(worker.run())
    count = len(broker.intakes)
    await until(
        lambda: running.done() or (len(broker.intakes) > count and broker.intakes[-1].listener is not None)
    )
    if running.done():
        running.result()
    intake = broker.intakes[-1]
    await broker.assign(intake, partitions)
    try:
        yield intake
    finally:
        worker.stop()
        async with asyncio.timeout(5):
            await running


async def test_what_stands_in_the_inbox_is_taken_once_and_the_position_follows() -> None:
    broker = kafka()
    send(broker, start("a"))

    async with working(broker):
        await until(lambda: len(steps(broker)) == 1)
        send(broker, envelope("a", "Add", {"number": 2}))
        await until(lambda: len(steps(broker)) == 2)

    assert steps(broker) == [("a", 0, "taken"), ("a", 1, "taken")]
    assert positions(broker, home("a"))[-1] == 2


async def test_another_worker_goes_on_where_the_first_one_stopped() -> None:
    broker = kafka()
    send(broker, start("a"))
    async with working(broker):
        await until(lambda: len(steps(broker)) == 1)

    send(broker, envelope("a", "Add", {"number": 2}))
    async with working(broker):
        await until(lambda: len(steps(broker)) == 2)

    assert steps(broker) == [("a", 0, "taken"), ("a", 1, "taken")]


async def test_a_worker_that_stops_releases_its_claims_so_that_nobody_fences_it() -> None:
    broker = kafka()
    async with working(broker):
        await until(lambda: all(owners(broker, partition) for partition in ALL))

    assert [owners(broker, partition) for partition in ALL] == [[], [], [], []]
    assert broker.fenced == []


async def test_a_revoked_partition_is_released_and_the_others_are_taken_over_again() -> None:
    broker = kafka()
    async with working(broker) as intake:
        await until(lambda: all(owners(broker, partition) for partition in ALL))

        await broker.assign(intake, [0, 1])

        await until(lambda: bool(owners(broker, 0)) and bool(owners(broker, 1)))
        assert [owners(broker, 2), owners(broker, 3)] == [[], []]
        assert broker.fenced == []


@pytest.mark.parametrize("call", ["begin", "queue", "commit"])
async def test_after_a_failed_call_a_new_id_takes_over_and_no_input_is_lost_or_doubled(call: str) -> None:
    broker = kafka()
    async with working(broker):
        await until(lambda: all(owners(broker, partition) for partition in ALL))
        first = owners(broker, 0)

        broker.fail_next(call)
        send(broker, start("a"))
        send(broker, envelope("a", "Add", {"number": 2}))
        await until(lambda: len(steps(broker)) == 2 and owners(broker, 0) != first)

        assert broker.fenced == first
    assert steps(broker) == [("a", 0, "taken"), ("a", 1, "taken")]


async def test_a_worker_that_was_fenced_takes_over_what_is_still_assigned_to_it() -> None:
    broker = kafka()
    async with working(broker):
        await until(lambda: all(owners(broker, partition) for partition in ALL))
        await broker.producer(owners(broker, 0)[0])

        send(broker, start("a"))
        await until(lambda: len(steps(broker)) == 1)


async def test_a_worker_that_the_group_left_behind_fences_nobody() -> None:
    broker = kafka()
    async with working(broker) as intake:
        await until(lambda: all(owners(broker, partition) for partition in ALL))
        mine = owners(broker, 0)[0]
        intake.member = False
        await broker.producer(mine)
        rival = await broker.producer("rival")
        await rival.begin()
        claim = Outgoing(OWNER_PREFIX + b"rival", b"claim")
        for acknowledgement in await rival.queue(
            NAMES.state, 0, [claim, Outgoing(OWNER_PREFIX + mine.encode(), None)]
        ):
            await acknowledgement
        await rival.commit()

        send(broker, start("a"))
        await asyncio.sleep(0.3)

        assert "rival" not in broker.fenced
        assert steps(broker) == []


async def test_a_producer_that_cannot_be_had_is_asked_for_again() -> None:
    broker = kafka()
    for _ in range(3):
        broker.fail_next("producer")
    send(broker, start("a"))

    async with working(broker):
        await until(lambda: len(steps(broker)) == 1)


async def test_a_timer_fires_by_itself_when_its_time_has_come() -> None:
    broker = kafka()
    text = definition_with_bell("PT0.1S")
    put(broker, text)
    send(broker, start("a", version="2.0"))

    async with working(broker):
        await until(lambda: len(steps(broker)) >= 3)

    assert steps(broker)[:3] == [("a", 0, "taken"), ("a", -1, "taken"), ("a", -1, "taken")]


async def test_a_timer_does_not_overtake_a_message_behind_an_open_transaction() -> None:
    broker = kafka()
    put(broker, definition_with_bell("PT0.1S"))
    async with working(broker):
        send(broker, start("a", version="2.0"))
        await until(lambda: len(steps(broker)) == 1)
        slow = await broker.producer("slow")
        await slow.begin()
        added = envelope("a", "Add", {"number": 2})
        for acknowledgement in await slow.queue(NAMES.inbox, home("a"), [Outgoing(b"a", encode(added))]):
            await acknowledgement
        await asyncio.sleep(0.4)
        waiting = steps(broker)
        await slow.commit()
        await until(lambda: len(steps(broker)) >= 3)

    assert waiting == [("a", 0, "taken")]
    assert steps(broker)[1:3] == [("a", 1, "taken"), ("a", -1, "taken")]


async def test_a_partition_that_never_rests_does_not_hold_up_the_timers_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = kafka()
    put(broker, definition_with_bell("PT0.05S"))
    busy = next(name for name in "abcdefgh" if home(name) != home("quiet"))
    commit = MemoryProducer.commit

    async def commit_and_give_more(producer: MemoryProducer) -> None:
        await commit(producer)
        send(broker, envelope(busy, "Add", {"number": 1}, id=f"number {len(broker.committed(NAMES.events))}"))
        await asyncio.sleep(0.002)

    async with working(broker):
        send(broker, start("quiet", version="2.0"))
        send(broker, start(busy))
        await until(lambda: len(steps(broker)) >= 2)
        monkeypatch.setattr(MemoryProducer, "commit", commit_and_give_more)
        send(broker, envelope(busy, "Add", {"number": 1}))
        try:
            await until(lambda: ("quiet", -1, "taken") in steps(broker))
        finally:
            monkeypatch.undo()


def definition_with_bell(duration: str) -> Stored:
    """Version 2.0, whose bell rings sooner."""
    from tests.unit.worker.kit import PROTOCOL

    return definition(PROTOCOL.replace('"1.0"', '"2.0"').replace("PT10S", duration))


async def test_several_partitions_write_to_the_inbox_of_one_in_the_same_transaction() -> None:
    broker = kafka()
    put(broker, definition(CHILD))
    put(broker, definition(PARENT))
    parents = [f"p{number}" for number in range(8)]
    for parent in parents:
        send(broker, begin(parent, [1, 2, 3, 4, 5]))

    async with working(broker):
        await until(lambda: len(steps(broker)) >= len(parents) * 6)

    assert {home(parent) for parent in parents} == set(ALL)
    started = [instance for instance, _offset, verdict in steps(broker) if verdict == "taken"]
    assert sorted(started) == sorted(
        [*parents, *(f"{parent}:1:child:{number}" for parent in parents for number in range(5))]
    )


async def test_a_question_to_the_directory_is_answered_without_any_further_input() -> None:
    broker = kafka()
    put(broker, definition(PARENT.replace("protocol: Part", "protocol: Whole").replace("size: $each", "")))
    put(broker, judge("j2"))
    send(broker, begin("p", []))
    send(broker, say("p", "Ask", {"count": 1}))

    async with working(broker):
        await until(lambda: len(steps(broker)) == 3)

    assert steps(broker)[-1] == ("p", -1, "taken")


async def test_a_start_whose_protocol_has_just_been_published_is_not_refused() -> None:
    broker = kafka()
    async with working(broker):
        await until(lambda: all(owners(broker, partition) for partition in ALL))
        put(broker, definition_with_bell("PT1H"))
        send(broker, start("a", version="2.0"))
        await until(lambda: len(steps(broker)) == 1)

    assert steps(broker) == [("a", 0, "taken")]


async def test_a_question_that_an_agent_who_has_just_come_can_answer_finds_it() -> None:
    broker = kafka()
    put(broker, definition(PARENT.replace("protocol: Part", "protocol: Whole").replace("size: $each", "")))
    send(broker, begin("p", []))
    async with working(broker):
        await until(lambda: len(steps(broker)) == 1)
        put(broker, judge("j2"))
        send(broker, say("p", "Ask", {"count": 1}))
        await until(lambda: len(steps(broker)) == 3)

    answer = decode(broker.committed(NAMES.events)[-1].value or b"", StepRecord)
    assert orjson.loads(answer.facts) == {"found": ["j2"]}


async def test_a_partition_with_instances_and_no_position_is_halted_and_the_others_go_on() -> None:
    broker = kafka()
    halted = (home("a") + 1) % PARTITIONS
    broker.append(NAMES.state, halted, Outgoing(b"instance", b"state"))
    send(broker, start("a"))

    async with working(broker) as intake:
        await until(lambda: len(steps(broker)) == 1)
        assert halted in intake.paused


async def test_a_partition_whose_inputs_were_deleted_before_they_were_taken_is_halted() -> None:
    broker = kafka()
    partition = home("a")
    broker.append(NAMES.state, partition, Outgoing(b"\0position", encode(Position(position=3, at=0))))
    broker.logs[NAMES.inbox, partition].append(
        Stored(NAMES.inbox, partition, 10, now(), b"a", encode(start("a")))
    )

    async with working(broker) as intake:
        await until(lambda: bool(owners(broker, partition)))
        await asyncio.sleep(0.1)
        assert partition in intake.paused
    assert steps(broker) == []


async def test_a_worker_with_a_wrong_clock_does_not_run() -> None:
    broker = kafka()
    broker.clock = lambda: now() - 60_000

    worker = Worker(WorkerSettings.load(namespace="ns"), kafka=broker)
    running = asyncio.create_task(worker.run())
    await until(lambda: bool(broker.intakes) and broker.intakes[-1].listener is not None)
    await broker.assign(broker.intakes[-1], ALL)

    with pytest.raises(ClockSkewed, match="ahead of the broker's"):
        await running


async def test_missing_topics_are_named_with_what_to_do() -> None:
    broker = MemoryKafka(clock=now, partitions={})

    with pytest.raises(TopicsUnfit, match="strabo topics apply"):
        async with working(broker):
            pass


async def test_topics_of_unequal_width_are_refused() -> None:
    broker = kafka()
    broker.partitions = {**broker.partitions, NAMES.events: 7}

    with pytest.raises(WorkerError, match=r"ns\.events has 7 partitions and ns\.inbox has 4"):
        async with working(broker):
            pass


async def test_group_offsets_follow_for_lag_tools() -> None:
    broker = kafka()
    send(broker, start("a"))
    async with working(broker) as intake:
        await until(lambda: intake.confirmed.get(home("a")) == 1)


async def test_a_partition_whose_position_went_back_is_halted_and_the_others_go_on() -> None:
    broker = kafka()
    halted = (home("a") + 1) % PARTITIONS
    for position in (7, 6):
        broker.append(NAMES.state, halted, Outgoing(b"\0position", encode(Position(position=position, at=0))))
    send(broker, start("a"))

    async with working(broker) as intake:
        await until(lambda: len(steps(broker)) == 1)
        assert halted in intake.paused


async def test_large_messages_are_left_in_the_log_until_the_ones_before_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(term, "QUEUE_FULL_BYTES", 1_000)
    broker = kafka()
    most = 0
    receive = Runner.receive

    def watched(runner: Runner, records: Sequence[Incoming]) -> None:
        nonlocal most
        receive(runner, records)
        most = max(most, runner.queued_bytes)

    monkeypatch.setattr(Runner, "receive", watched)
    async with working(broker) as intake:
        send(broker, start("a"))
        await until(lambda: len(steps(broker)) == 1)
        for number in range(20):
            send(broker, envelope("a", "Add", {"number": 1, "text": "x" * 900}, id=f"number {number}"))
            await asyncio.sleep(0)
        await until(lambda: len(steps(broker)) == 21)
        await until(lambda: home("a") not in intake.paused)

    assert most > 1_000
    assert [offset for _instance, offset, _verdict in steps(broker)] == list(range(21))
