"""Agents and clients over a broker; the test plays the worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete
from pydantic import BaseModel

from strabo_agents import Agent, Client, Conversation, InstanceFailed, NoAnswer, Rejected, runner
from strabo_agents.errors import StoreInUse, UnknownRole
from strabo_agents.messages import Outgoing
from strabo_agents.runner import TOPICS_LOOKED_AT_MS, Runner
from strabo_agents.settings import AgentSettings
from strabo_agents.stores import Lease, SqliteStore
from strabo_topics import admin, clients
from strabo_topics.agents import read_agents
from strabo_topics.definitions import plan_namespace
from strabo_topics.errors import BrokerUnreachable
from strabo_topics.names import partition_for
from strabo_topics.settings import KafkaSettings
from tests.support.agent_namespace import PROTOCOL, AgentNamespace, agent_namespace
from tests.support.services import BrokerService, free_port


class Call(BaseModel):
    size: int


class Bid(BaseModel):
    cost: float


@pytest.fixture
async def namespace(broker: BrokerService) -> AsyncIterator[AgentNamespace]:
    async with agent_namespace(broker.bootstrap) as made:
        yield made


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_DATA_DIR", str(tmp_path))


def make_solver(agent_id: str = "s1") -> Agent:
    agent = Agent(agent_id, capabilities=["solve"])

    @agent.role(PROTOCOL, "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        return Bid(cost=10.0 * call.size)

    return agent


@asynccontextmanager
async def running(agent: Agent, namespace: AgentNamespace, **settings: object) -> AsyncIterator[Runner]:
    run = Runner(agent, kafka=namespace.settings, settings=AgentSettings.load(**settings))
    task = asyncio.create_task(run.run())
    try:
        await run.ready_or_failed(task)
        yield run
    finally:
        run.stop()
        await task


async def test_an_agent_answers_what_is_addressed_to_it(namespace: AgentNamespace) -> None:
    await namespace.deliver("Call", {"size": 1}, to=["s2"], id="m0")
    await namespace.deliver("Call", {"size": 8}, to=["s1", "s2"], id="m1")

    async with running(make_solver(), namespace):
        [bid] = await namespace.sent(1)

    assert (bid.kind, bid.type, bid.payload, bid.sender) == ("message", "Bid", b'{"cost":80.0}', "s1")
    assert (bid.sender_role, bid.in_reply_to, bid.instance_id, bid.protocol) == (
        "Solver",
        "m1",
        "i1",
        PROTOCOL,
    )


async def test_it_commits_a_position_everywhere_before_it_announces_itself(namespace: AgentNamespace) -> None:
    async with running(make_solver(), namespace):
        announced = (await read_agents(namespace.settings))["s1"]
        for topic in (namespace.settings.names.role(PROTOCOL, "Solver"), namespace.settings.names.replies):
            assert await namespace.committed("s1", topic) == [0, 0, 0, 0]

    assert [(each.protocol, each.role) for each in announced.plays] == [(PROTOCOL, "Solver")]
    assert (announced.capabilities, announced.healthy) == (("solve",), True)
    assert b'"Call"' in announced.schemas
    assert b'"Bid"' in announced.schemas


async def test_it_leaves_the_directory_when_it_stops(namespace: AgentNamespace) -> None:
    async with running(make_solver(), namespace):
        assert "s1" in await read_agents(namespace.settings)

    assert await read_agents(namespace.settings) == {}


async def test_it_goes_on_where_it_stopped(namespace: AgentNamespace) -> None:
    for number in range(3):
        await namespace.deliver("Call", {"size": number}, to=["s1"], id=f"m{number}")
    async with running(make_solver(), namespace):
        await namespace.sent(3)

    await namespace.deliver("Call", {"size": 3}, to=["s1"], id="m3")
    async with running(make_solver(), namespace):
        await namespace.sent(1)

    assert len(await namespace.everything_sent()) == 4


async def test_instances_do_not_wait_for_each_other_and_each_keeps_its_order(
    namespace: AgentNamespace,
) -> None:
    agent, gate = Agent("s1"), asyncio.Event()

    @agent.role(PROTOCOL, "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        if conversation.message.message_id == "slow":
            await gate.wait()
        return Bid(cost=float(call.size))

    await namespace.deliver("Call", {"size": 1}, to=["s1"], id="slow", instance_id="i1")
    await namespace.deliver("Call", {"size": 2}, to=["s1"], id="after", instance_id="i1")
    await namespace.deliver("Call", {"size": 3}, to=["s1"], id="other", instance_id="i2")
    async with running(agent, namespace):
        [other] = await namespace.sent(1)
        gate.set()
        rest = await namespace.sent(2)

    assert [each.in_reply_to for each in (other, *rest)] == ["other", "slow", "after"]


async def test_a_stop_lets_a_running_handler_end(namespace: AgentNamespace) -> None:
    agent, begun = Agent("s1"), asyncio.Event()

    @agent.role(PROTOCOL, "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        begun.set()
        await asyncio.sleep(0.3)
        return Bid(cost=1.0)

    await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m1")
    async with running(agent, namespace):
        await begun.wait()

    assert [each.in_reply_to for each in await namespace.everything_sent()] == ["m1"]


async def test_a_failing_message_is_dead_lettered_and_the_next_is_handled(namespace: AgentNamespace) -> None:
    await namespace.deliver("Call", {"size": "large"}, to=["s1"], id="bad")
    await namespace.deliver("Call", {"size": 1}, to=["s1"], id="good")

    async with running(make_solver(), namespace):
        [bid] = await namespace.sent(1)

    [letter] = await namespace.dead_letters()
    assert (bid.in_reply_to, letter.by, letter.instance_id) == ("good", "s1", "i1")
    assert "/size" in letter.reason


async def test_an_open_breaker_is_announced(namespace: AgentNamespace) -> None:
    agent = Agent("s1")

    @agent.role(PROTOCOL, "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        raise ConnectionError("the model is away")

    await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m1")
    async with running(
        agent, namespace, agent_breaker_failures=1, agent_breaker_pause="1h", agent_drain="10ms"
    ):
        async with asyncio.timeout(20):
            while (await read_agents(namespace.settings))["s1"].healthy:
                await asyncio.sleep(0.05)


async def test_waiting_gives_the_workers_answer(namespace: AgentNamespace) -> None:
    agent, heard, ended = Agent("s1"), list[str](), asyncio.Event()
    solver = agent.role(PROTOCOL, "Solver")

    @solver.on
    async def bid(call: Call, conversation: Conversation) -> None:
        accepted = await conversation.send(Bid(cost=1.0), wait=True)
        heard.append(accepted.message_id)
        try:
            await conversation.send(Bid(cost=2.0), wait=True)
        except Rejected as rejected:
            heard.append(rejected.text)
        ended.set()

    @solver.on
    async def refused(rejected: Rejected, conversation: Conversation) -> None:
        heard.append("not here: the sender waited")

    await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m1")
    async with running(agent, namespace):
        [first] = await namespace.sent(1)
        assert first.wants_reply
        await namespace.answer(first, "Accepted", {})
        [second] = await namespace.sent(1)
        await namespace.answer(second, "Rejected", {"by": "constraint", "text": "twice"})
        async with asyncio.timeout(20):
            await ended.wait()

    assert heard == [first.id, "twice"]


async def test_a_refusal_reaches_its_handler(namespace: AgentNamespace) -> None:
    agent, heard = make_solver(), asyncio.Queue[Rejected]()

    @agent.role(PROTOCOL, "Solver").on
    async def refused(rejected: Rejected, conversation: Conversation) -> None:
        heard.put_nowait(rejected)

    await namespace.deliver("Call", {"size": 100}, to=["s1"], id="m1")
    async with running(agent, namespace):
        [bid] = await namespace.sent(1)
        facts = {
            "by": "constraint",
            "text": "over budget",
            "constraints": ["budget"],
            "descriptions": ["Too much."],
        }
        await namespace.answer(bid, "Rejected", facts)
        async with asyncio.timeout(20):
            rejected = await heard.get()

    assert (rejected.by, rejected.text, rejected.message_id) == ("constraint", "over budget", bid.id)
    assert (rejected.constraints, rejected.descriptions) == (("budget",), ("Too much.",))


async def test_a_role_that_is_not_published_is_one_clear_line(namespace: AgentNamespace) -> None:
    agent = Agent("s1")
    agent.role(PROTOCOL, "Solvr")

    with pytest.raises(UnknownRole, match=r"no role Solvr .*did you mean Solver\?"):
        await agent.run(kafka=namespace.settings)


async def test_a_start_gives_a_handle_and_the_result(namespace: AgentNamespace) -> None:
    async with Client("c1", kafka=namespace.settings) as client:
        starting = asyncio.create_task(
            client.start(Call(size=3), protocol=f"{PROTOCOL}@1.0", roles={"Solver": "s1"}, id="i7")
        )
        [start] = await namespace.sent(1)
        assert not starting.done()
        await namespace.answer(start, "Accepted", {})
        handle = await starting
        waiting = asyncio.create_task(handle.result(timeout=20))
        await namespace.answer(
            start, "Outcome", {"status": "success", "state": "Done", "result": {"winner": "s1"}}
        )

        assert await waiting == {"winner": "s1"}
        assert await handle.result() == {"winner": "s1"}

    assert (start.kind, start.type, start.protocol, start.version) == ("start", "Call", PROTOCOL, "1.0")
    assert (start.instance_id, start.sender, start.start) == (
        "i7",
        "c1",
        b'{"roles":{"Solver":["s1"]},"or_send":false}',
    )


async def test_the_same_start_has_the_same_id_and_another_has_another(namespace: AgentNamespace) -> None:
    async with Client("c1", kafka=namespace.settings) as client:
        ids = []
        for size in (3, 3, 4):
            starting = asyncio.create_task(client.start(Call(size=size), protocol=PROTOCOL, id="i7"))
            [start] = await namespace.sent(1)
            await namespace.answer(start, "Accepted", {})
            await starting
            ids.append(start.id)

    assert ids[0] == ids[1] != ids[2]


async def test_a_refused_start_raises_the_reason(namespace: AgentNamespace) -> None:
    async with Client("c1", kafka=namespace.settings) as client:
        starting = asyncio.create_task(client.start(("Call", {"size": 3}), protocol=PROTOCOL))
        [start] = await namespace.sent(1)
        await namespace.answer(start, "Rejected", {"by": "quorum", "text": "Solver needs 1, found none"})

        with pytest.raises(Rejected, match="found none"):
            await starting


async def test_an_instance_that_fails_raises_where_and_why(namespace: AgentNamespace) -> None:
    async with Client("c1", kafka=namespace.settings) as client:
        starting = asyncio.create_task(client.start(Call(size=3), protocol=PROTOCOL, id="i7"))
        [start] = await namespace.sent(1)
        await namespace.answer(start, "Accepted", {})
        handle = await starting
        await namespace.answer(
            start, "Outcome", {"status": "failure", "state": "Cancelled", "error": "no bids"}
        )

        with pytest.raises(InstanceFailed, match="i7 failed in state Cancelled: no bids"):
            await handle.result(timeout=20)
        with pytest.raises(InstanceFailed, match="no bids"):
            await client.instance("i7").result(timeout=20)


async def test_nobody_answering_is_one_clear_line(namespace: AgentNamespace) -> None:
    settings = AgentSettings.load(agent_answer_timeout="300ms")
    async with Client("c1", kafka=namespace.settings, settings=settings) as client:
        with pytest.raises(NoAnswer, match="is a worker running"):
            await client.start(Call(size=3), protocol=PROTOCOL)


async def test_a_person_sends_for_a_human_role(namespace: AgentNamespace) -> None:
    async with Client("cli", kafka=namespace.settings) as client:
        sending = asyncio.create_task(
            client.send("i7", "Decide", {"ok": True}, as_agent="human:arbitrator", user="ann", wait=True)
        )
        [message] = await namespace.sent(1)
        await namespace.answer(message, "Accepted", {})
        await sending

    assert (message.sender, message.user, message.instance_id) == ("human:arbitrator", "ann", "i7")


async def test_a_handle_sends_to_its_instance(namespace: AgentNamespace) -> None:
    async with Client("c1", kafka=namespace.settings) as client:
        await client.instance("i7").send(Bid(cost=1.0), to="s1")
        [message] = await namespace.sent(1)

    assert (message.instance_id, message.type, message.to) == ("i7", "Bid", ("s1",))


async def test_an_agent_outlives_a_restart_of_the_broker(fresh_broker: BrokerService) -> None:
    async with agent_namespace(fresh_broker.bootstrap) as namespace, running(make_solver(), namespace):
        await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m1")
        await namespace.sent(1)
        fresh_broker.kill()
        await asyncio.sleep(0.5)
        await asyncio.to_thread(fresh_broker.restart)
        await namespace.deliver("Call", {"size": 2}, to=["s1"], id="m2")
        [bid] = await namespace.sent(1, timeout=60)

    assert bid.in_reply_to == "m2"


async def test_an_agent_finds_its_topics_again_when_they_were_gone_for_a_while(
    namespace: AgentNamespace,
) -> None:
    settings = namespace.settings
    topic = settings.names.role(PROTOCOL, "Solver")
    async with running(make_solver(), namespace):
        async with admin.admin_client(settings) as client:
            await client.delete_topics([topic])
            await asyncio.sleep(TOPICS_LOOKED_AT_MS / 1000 * 1.5)
        await admin.apply(settings, await plan_namespace(settings))
        await namespace.deliver("Call", {"size": 8}, to=["s1"], id="m1")
        [bid] = await namespace.sent(1, timeout=90)

    assert bid.payload == b'{"cost":80.0}'


async def test_a_second_replica_is_refused_while_the_first_runs(namespace: AgentNamespace) -> None:
    async with running(make_solver(), namespace):
        with pytest.raises(StoreInUse, match="another process runs this agent"):
            await make_solver().run(kafka=namespace.settings)


async def test_replicas_with_stores_of_their_own_share_the_work(namespace: AgentNamespace) -> None:
    async with running(make_solver(), namespace, agent_store="memory"):
        async with running(make_solver(), namespace, agent_store="memory"):
            for number in range(8):
                await namespace.deliver(
                    "Call", {"size": number}, to=["s1"], id=f"m{number}", instance_id=f"i{number}"
                )
            await namespace.sent(8)
        await namespace.deliver("Call", {"size": 9}, to=["s1"], id="m9", instance_id="i9")
        await namespace.sent(1)

    assert len({each.id for each in await namespace.everything_sent()}) == 9


async def test_reading_pauses_when_enough_is_in_hand_and_goes_on(namespace: AgentNamespace) -> None:
    for number in range(30):
        await namespace.deliver(
            "Call", {"size": number}, to=["s1"], id=f"m{number}", instance_id=f"i{number % 7}"
        )

    async with running(make_solver(), namespace, agent_max_pending=2, agent_concurrency=1):
        assert len({each.id for each in await namespace.sent(30)}) == 30


async def test_a_handler_that_takes_long_does_not_cost_the_agent_its_place_in_the_group(
    namespace: AgentNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        runner, "new_consumer", partial(clients.consumer, max_poll_interval_ms=500, heartbeat_interval_ms=100)
    )
    agent, runs, gate = Agent("s1"), list[str](), asyncio.Event()

    @agent.role(PROTOCOL, "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        runs.append(conversation.message.message_id)
        await gate.wait()
        return Bid(cost=1.0)

    await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m1")
    async with running(agent, namespace, agent_max_pending=1):
        await asyncio.sleep(2)
        gate.set()
        await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m2")
        await namespace.sent(2)

    assert runs == ["m1", "m2"]


@pytest.mark.kafka
async def test_messages_that_were_deleted_unread_are_reported(kafka: BrokerService) -> None:
    async with agent_namespace(kafka.bootstrap) as namespace:
        async with running(make_solver(), namespace):
            await namespace.deliver("Call", {"size": 1}, to=["s1"], id="m0")
            await namespace.sent(1)
        for number in range(1, 4):
            await namespace.deliver("Call", {"size": number}, to=["s1"], id=f"m{number}")
        topic = namespace.settings.names.role(PROTOCOL, "Solver")
        partition = TopicPartition(topic, partition_for("i1", 4))
        async with clients.admin_client(namespace.settings) as client:
            await client.delete_records({partition: RecordsToDelete(before_offset=3)})

        async with running(make_solver(), namespace):
            [bid] = await namespace.sent(1)

        [letter] = await namespace.dead_letters()
        assert bid.in_reply_to == "m3"
        assert (letter.topic, letter.offset, letter.value, letter.error_type) == (topic, 1, None, "Gap")
        assert "from 1 up to 3 were deleted" in letter.reason


async def test_no_broker_is_one_clear_line() -> None:
    kafka = KafkaSettings.load(kafka_bootstrap_servers=f"127.0.0.1:{free_port()}")

    with pytest.raises(BrokerUnreachable, match="strabo dev"):
        async with Client("c1", kafka=kafka):
            pass


async def test_an_agent_that_cannot_send_what_it_still_owes_stops_when_told(
    namespace: AgentNamespace,
) -> None:
    settings = AgentSettings.load()
    store = SqliteStore(settings.sqlite_path(namespace.settings.namespace, "s1"))
    await store.open()
    lease = await store.claim("m1", b"12345678")
    assert isinstance(lease, Lease)
    await store.finish(lease, [Outgoing("nowhere", 0, None, b"lost")])
    await store.close()

    run = Runner(make_solver(), kafka=namespace.settings, settings=settings)
    task = asyncio.create_task(run.run())
    await asyncio.sleep(0.5)
    assert not run.ready.is_set()
    run.stop()

    async with asyncio.timeout(10):
        await task
