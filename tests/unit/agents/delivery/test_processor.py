"""A record is finished exactly once, whatever the store, the lease or the process do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from pydantic import BaseModel

from strabo_agents import Accepted, Agent, Conversation
from strabo_agents.delivery.attempt import Surroundings
from strabo_agents.delivery.breaker import Breaker
from strabo_agents.delivery.crash_points import CRASH_POINTS, CrashPoint, pass_by
from strabo_agents.delivery.keeper import LeaseKeeper
from strabo_agents.delivery.processor import Processor, RetryPolicy
from strabo_agents.delivery.routing import Routes
from strabo_agents.envelopes import Post
from strabo_agents.errors import StoreUnavailable
from strabo_agents.messages import Incoming, Outgoing
from strabo_agents.stores import Claim, Handled, MemoryStore
from strabo_avro import headers
from strabo_avro.codec import decode, encode
from strabo_avro.errors import UnknownSchema
from strabo_avro.records import DeadLetter, Envelope
from strabo_topics.names import Names

POST = Post(Names("ns"), 4)
TOPIC = POST.names.role("Auction", "Solver")


class Call(BaseModel):
    size: int


class Bid(BaseModel):
    cost: float


class Log:
    """A transport that keeps what is produced."""

    def __init__(self) -> None:
        self.records: list[Outgoing] = []

    async def produce(self, records: Sequence[Outgoing]) -> None:
        self.records += records

    async def ask(self, record: Outgoing, *, message_id: str, sender: str) -> Accepted:
        raise NotImplementedError


class Killed(BaseException):
    """The process dies here."""


def agent_counting(runs: list[int]) -> Agent:
    agent = Agent("s1")

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        runs.append(call.size)
        await asyncio.sleep(0)
        return Bid(cost=float(len(runs)))

    return agent


def make(
    agent: Agent,
    store: MemoryStore,
    log: Log,
    *,
    checkpoint: Callable[[CrashPoint], None] = pass_by,
    lease: float = 30.0,
) -> Processor:
    async def no_sleep(_seconds: float) -> None:
        await asyncio.sleep(0)

    return Processor(
        Surroundings("s1", POST, log, store, lambda: 0),
        Routes(POST.names, "s1", agent.roles),
        retry=RetryPolicy(),
        breaker=Breaker(failures=5, pause=1.0),
        keeper=LeaseKeeper(store, lease),
        sleep=no_sleep,
        checkpoint=checkpoint,
    )


def call(message_id: str = "m1", to: tuple[str, ...] = ("s1",)) -> Incoming:
    envelope = Envelope(
        id=message_id,
        kind="delivery",
        type="Call",
        protocol="Auction",
        instance_id="i1",
        sender="c1",
        to=to,
        sent_at=0,
        payload=b'{"size": 3}',
    )
    return Incoming(TOPIC, 2, 7, b"i1", encode(envelope), tuple(headers.build(message_id, "Call")))


@pytest.mark.parametrize("point", [each for each in CRASH_POINTS if each != "committed"])
async def test_a_death_at_any_point_leaves_one_effect_in_the_same_bytes(point: CrashPoint) -> None:
    runs, store, log = list[int](), MemoryStore(), Log()
    agent = agent_counting(runs)

    def die(reached: CrashPoint) -> None:
        if reached == point:
            raise Killed

    with pytest.raises(Killed):
        await make(agent, store, log, checkpoint=die).process(call())
    await make(agent, store, log).process(call())

    stored = point in ("stored", "produced", "marked")
    assert len(runs) == (2 if point == "handled" else 1)
    assert len({record.value for record in log.records}) == 1
    assert len(log.records) == (2 if point in ("produced", "marked") else 1)
    assert (
        stored == (decode(log.records[0].value or b"", Envelope).payload == b'{"cost":1.0}')
        or point == "claimed"
    )


async def test_what_was_finished_and_not_sent_is_sent_at_the_next_start() -> None:
    runs, store, log = list[int](), MemoryStore(), Log()
    agent = agent_counting(runs)

    def die(reached: CrashPoint) -> None:
        if reached == "stored":
            raise Killed

    with pytest.raises(Killed):
        await make(agent, store, log, checkpoint=die).process(call())
    processor = make(agent, store, log)

    assert await processor.send_unsent() == 1
    assert await processor.send_unsent() == 0
    assert len(log.records) == 1


async def test_the_same_record_twice_at_once_runs_its_handler_once() -> None:
    runs, log = list[int](), Log()
    processor = make(agent_counting(runs), MemoryStore(), log)

    await asyncio.gather(processor.process(call()), processor.process(call()))

    assert (runs, len({record.value for record in log.records})) == ([3], 1)


async def test_a_store_that_does_not_answer_pauses_the_agent_until_it_does() -> None:
    class Flaky(MemoryStore):
        failures = 3

        async def claim(self, message_id: str, digest: bytes) -> Claim:
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable("disk full")
            return await super().claim(message_id, digest)

    runs, log = list[int](), Log()
    processor = make(agent_counting(runs), Flaky(), log)

    await processor.process(call())

    assert (runs, len(log.records), processor.store_answers) == ([3], 1, True)


async def test_a_store_that_fails_at_the_end_is_asked_again_and_the_handler_is_not() -> None:
    class Flaky(MemoryStore):
        failures = 2

        async def mark_sent(self, message_id: str) -> None:
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable("disk full")
            await super().mark_sent(message_id)

    runs, log, store = list[int](), Log(), Flaky()

    await make(agent_counting(runs), store, log).process(call())

    handled = await store.handled("m1")
    assert isinstance(handled, Handled)
    assert (runs, handled.sent) == ([3], True)


async def test_a_lost_lease_ends_the_handler_and_drops_its_result() -> None:
    class Taken(MemoryStore):
        stolen = False

        async def renew(self, lease: object) -> bool:
            if self.stolen:
                return True
            self.stolen = True
            await self.release(lease)  # type: ignore[arg-type]
            return False

    agent, cancelled, runs = Agent("s1"), list[bool](), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(message: Call, conversation: Conversation) -> Bid:
        runs.append(1)
        try:
            if len(runs) == 1:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return Bid(cost=float(len(runs)))

    log = Log()
    await make(agent, Taken(), log, lease=0.03).process(call())

    assert (cancelled, len(runs)) == ([True], 2)
    assert [decode(each.value or b"", Envelope).payload for each in log.records] == [b'{"cost":2.0}']


async def test_a_record_for_others_is_left_alone() -> None:
    runs, log = list[int](), Log()

    await make(agent_counting(runs), MemoryStore(), log).process(call(to=("s2",)))

    assert (runs, log.records) == ([], [])


class NoException(BaseException):
    """What a library may raise that nobody catches."""


@pytest.mark.parametrize(
    "raised",
    [
        RuntimeError("half a pair: \ud800"),
        RuntimeError("long: " + "x" * 5_000_000),
        NoException("odd"),
        SystemExit(3),
        KeyboardInterrupt(),
    ],
    ids=["surrogate", "long", "no exception", "exit", "interrupt"],
)
async def test_whatever_a_handler_raises_ends_as_a_dead_letter(raised: BaseException) -> None:
    agent = Agent("s1")

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        raise raised

    store, log = MemoryStore(), Log()
    await make(agent, store, log).process(call())
    (letter,) = [record for record in log.records if record.topic == POST.names.deadletter]
    assert letter.value is not None
    assert len(letter.value) < 100_000
    assert decode(letter.value, DeadLetter).error_type in (type(raised).__name__, "RuntimeError")


async def test_bytes_that_are_no_record_are_dead_lettered() -> None:
    log = Log()

    await make(agent_counting([]), MemoryStore(), log).process(Incoming(TOPIC, 2, 7, b"i1", b"nonsense"))

    [record] = log.records
    letter = decode(record.value or b"", DeadLetter)
    assert (record.topic, record.partition) == ("ns.deadletter", 2)
    assert (letter.topic, letter.offset, letter.value, letter.error_type) == (
        TOPIC,
        7,
        b"nonsense",
        "Undecodable",
    )


async def test_a_record_of_a_newer_version_stops_the_agent() -> None:
    value = b"\xc3\x01" + b"12345678" + b"rest"

    with pytest.raises(UnknownSchema):
        await make(agent_counting([]), MemoryStore(), Log()).process(Incoming(TOPIC, 2, 7, b"i1", value))


async def test_a_cancelled_handler_leaves_its_message_to_the_next_run() -> None:
    runs, store, log = list[int](), MemoryStore(), Log()
    agent = Agent("s1")

    @agent.role("Auction", "Solver").on
    async def bid(message: Call, conversation: Conversation) -> Bid:
        runs.append(1)
        if len(runs) == 1:
            await asyncio.Event().wait()
        return Bid(cost=1.0)

    task = asyncio.create_task(make(agent, store, log).process(call()))
    while not runs:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await make(agent, store, log).process(call())

    assert (len(runs), len(log.records)) == (2, 1)


async def test_a_handler_cancelled_by_what_it_awaits_is_tried_again() -> None:
    runs, log = list[int](), Log()
    agent = Agent("s1")

    @agent.role("Auction", "Solver").on
    async def bid(message: Call, conversation: Conversation) -> Bid:
        runs.append(1)
        if len(runs) == 1:
            raise asyncio.CancelledError
        return Bid(cost=1.0)

    await make(agent, MemoryStore(), log).process(call())

    assert (len(runs), len(log.records)) == (2, 1)
