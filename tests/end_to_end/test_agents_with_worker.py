"""Agents and clients against a real worker: waiting, refusals, repeated starts, people, outcomes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import strabo_runtime
from strabo_agents import Agent, Client, Conversation, InstanceFailed, Message, Rejected
from strabo_agents.json_types import JsonObject
from strabo_runtime.history import find_instance
from strabo_runtime.language import load_file
from strabo_runtime.publishing import publish_all, publish_machine
from strabo_runtime.worker import Worker, WorkerSettings
from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService
from tests.unit.worker.family import CHILD, PARENT
from tests.unit.worker.kit import compiled

AUCTION, REVIEW = "DistributedTaskAuction", "MultiAgentCodeReview"
PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"


@pytest.fixture
async def namespace(
    broker: BrokerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[KafkaSettings]:
    """A namespace with both protocols and a worker."""
    monkeypatch.setenv("STRABO_DATA_DIR", str(tmp_path))
    name = f"agents-{uuid.uuid4().hex[:12]}"
    settings = WorkerSettings.load(namespace=name, kafka_bootstrap_servers=broker.bootstrap, partitions=4)
    for file in ("task_auction.yaml", "code_review.yaml"):
        loaded = load_file(PROTOCOLS / file)
        assert loaded.machine is not None
        await publish_machine(settings, loaded.machine, loaded.source)
    worker = Worker(settings)
    working = asyncio.create_task(worker.run())
    try:
        yield KafkaSettings.load(namespace=name, kafka_bootstrap_servers=broker.bootstrap)
    finally:
        worker.stop()
        await working
        await admin.delete_namespace(settings)


def task(bidding: timedelta = timedelta(hours=1)) -> tuple[str, dict[str, object]]:
    return "TaskAnnouncement", {
        "task_id": "t1",
        "spec": {"size": 8},
        "budget": 100.0,
        "deadline": datetime(2099, 1, 1, tzinfo=UTC),
        "bidding_duration": bidding,
    }


def offer(conversation: Conversation, cost: float) -> Message:
    bid = {"task_id": "t1", "solver_id": conversation.agent_id, "proposal": {}, "cost": cost}
    return Message("BidSubmission", {**bid, "time_estimate": timedelta(hours=1)})


def silent_solver() -> Agent:
    agent = Agent("s1", capabilities=["solve"])
    agent.role(AUCTION, "Solver")
    return agent


async def test_waiting_and_refusals_are_answered_by_the_worker(namespace: KafkaSettings) -> None:
    agent, heard = Agent("s1"), asyncio.Queue[str]()
    solver = agent.role(AUCTION, "Solver")

    @solver.on("CallForBids")
    async def bid(call: JsonObject, conversation: Conversation) -> Message:
        try:
            await conversation.send(offer(conversation, 500.0), wait=True)
        except Rejected as rejected:
            heard.put_nowait(f"waited for: {rejected.constraints}")
        accepted = await conversation.send(offer(conversation, 50.0), wait=True)
        heard.put_nowait(f"accepted by {accepted.instance_id}")
        return offer(conversation, 60.0)

    @solver.on
    async def refused(rejected: Rejected, conversation: Conversation) -> None:
        heard.put_nowait(f"handled: {rejected.constraints} {rejected.descriptions}")

    async with Client("c1", kafka=namespace) as client, agent.running(kafka=namespace):
        auction = await client.start(task(timedelta(seconds=2)), protocol=AUCTION, id="a1")
        async with asyncio.timeout(30):
            texts = [await heard.get() for _ in range(3)]
            await auction.send(("AssignmentAcknowledgement", {"task_id": "t1"}))
        with pytest.raises(Rejected):
            await auction.send(("AssignmentAcknowledgement", {"task_id": "t1"}), wait=True)

    assert texts == [
        "waited for: ('bid_within_budget',)",
        "accepted by a1",
        "handled: ('unique_bid_per_solver',) ('A solver bids once for a task.',)",
    ]


async def test_the_result_reaches_who_started_and_who_asks_later(namespace: KafkaSettings) -> None:
    agent = Agent("s1")

    @agent.role(AUCTION, "Solver").on("CallForBids")
    async def bid(call: JsonObject, conversation: Conversation) -> Message:
        return offer(conversation, 50.0)

    client_agent = Agent("c1")

    @client_agent.role(AUCTION, "Client").on("TaskAssignment")
    async def acknowledge(assignment: JsonObject, conversation: Conversation) -> Message:
        return Message("AssignmentAcknowledgement", {"task_id": "t1"})

    async with (
        Client("c1", kafka=namespace) as client,
        Client("c2", kafka=namespace) as other,
        agent.running(kafka=namespace),
        client_agent.running(kafka=namespace),
    ):
        auction = await client.start(task(timedelta(seconds=1)), protocol=AUCTION, id="a1")
        won = {"winner": "s1", "cost": 50.0}
        assert await auction.result(timeout=30) == won
        again = await client.start(task(timedelta(seconds=1)), protocol=AUCTION, id="a1")
        assert await again.result(timeout=30) == won
        assert await other.instance("a1").result(timeout=30) == won


async def test_the_same_start_is_the_same_instance_and_another_is_a_conflict(
    namespace: KafkaSettings,
) -> None:
    async with Client("c1", kafka=namespace) as client, silent_solver().running(kafka=namespace):
        first = await client.start(task(), protocol=AUCTION, id="a1")
        second = await client.start(task(), protocol=AUCTION, id="a1")
        with pytest.raises(Rejected) as caught:
            await client.start(task(timedelta(hours=2)), protocol=AUCTION, id="a1")
        cancelling = ("TaskCancellation", {"task_id": "t1", "reason": "never mind"})
        sent = await client.start(cancelling, protocol=AUCTION, id="a1", or_send=True)

        assert first.instance_id == second.instance_id
        assert caught.value.by == "conflict"
        for handle in (first, second, sent):
            with pytest.raises(InstanceFailed, match="in state Cancelled"):
                await handle.result(timeout=30)


async def test_a_person_decides(namespace: KafkaSettings) -> None:
    severities = {"r1": "low", "r2": "high"}
    agents = []
    for name, severity in severities.items():
        agent = Agent(name, capabilities=["code_review"])

        @agent.role(REVIEW, "reviewer").on("InitiateReview")
        async def review(
            request: JsonObject, conversation: Conversation, severity: str = severity
        ) -> Message:
            finding = {"file": "a.py", "line": 1, "category": "bug", "severity": severity, "comment": "look"}
            return Message("SubmitReview", {"findings": [finding], "overall_status": "comment"})

        agents.append(agent)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client("ci", kafka=namespace))
        for agent in agents:
            await stack.enter_async_context(agent.running(kafka=namespace))
        pull = ("InitiateReview", {"pr_url": "u", "diff_content": "d"})
        handle = await client.start(pull, protocol=f"{REVIEW}@1.0", roles={"reviewer": ["r1", "r2"]})
        decision = {"decision": "approve"}
        async with asyncio.timeout(30):
            while True:
                try:
                    await client.send(
                        handle.instance_id,
                        "MakeArbitration",
                        decision,
                        as_agent="human:arbitrator",
                        user="ann",
                        wait=True,
                    )
                    break
                except Rejected as rejected:
                    assert rejected.by == "unexpected"
                    await asyncio.sleep(0.1)

        assert await handle.result(timeout=30) == {"outcome": "approve"}


async def test_a_start_that_finds_no_agents_says_which_role_and_what_was_found(
    namespace: KafkaSettings,
) -> None:
    async with Client("c1", kafka=namespace) as client:
        with pytest.raises(Rejected, match="Solver"):
            await client.start(task(), protocol=AUCTION)


async def test_a_message_to_an_instance_that_is_not_there_is_refused(namespace: KafkaSettings) -> None:
    async with Client("c1", kafka=namespace) as client:
        with pytest.raises(Rejected) as caught:
            await client.send("nowhere", "TaskCancellation", {"task_id": "t1"}, wait=True)

    assert caught.value.by == "unknown"


async def test_a_start_of_an_unknown_protocol_is_refused(namespace: KafkaSettings) -> None:
    async with Client("c1", kafka=namespace) as client:
        with pytest.raises(Rejected, match="Nonsense"):
            await client.start(task(), protocol="Nonsense")


# -- children, inputs, deferred messages, cancellation ----------------------------------------------------------------


async def test_a_start_with_inputs_needs_no_message_and_the_inputs_are_checked(
    namespace: KafkaSettings,
) -> None:
    await publish_all(namespace, [(compiled(CHILD), CHILD)])
    async with Client("boss", kafka=namespace) as client:
        part = await client.start(protocol="Part", inputs={"size": 7}, roles={"Judge": "boss"})
        await part.send(("Decide", {"well": True}), wait=True)
        assert await part.result(timeout=30) == {"size": 7}
        with pytest.raises(Rejected, match="the input size is missing"):
            await client.start(protocol="Part", roles={"Judge": "boss"})


async def test_a_deferred_message_is_accepted_once_its_turn_has_come(namespace: KafkaSettings) -> None:
    await publish_all(namespace, [(compiled(CHILD), CHILD), (compiled(PARENT), PARENT)])
    async with Client("boss", kafka=namespace) as client:
        whole = await client.start(("Go", {"sizes": []}), protocol="Whole", roles={"Judge": "boss"})
        waiting = asyncio.create_task(whole.send(("Note", {"number": 5}), wait=True))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await whole.send(("Close", {}))
        assert (await asyncio.wait_for(waiting, 30)).instance_id == whole.instance_id


async def until_cancelled(settings: KafkaSettings, instance_id: str) -> None:
    """Returns once an instance has been cancelled; what a child came to is told to its parent alone."""
    async with asyncio.timeout(30):
        while (state := await find_instance(settings, instance_id)) is None or state.status == "running":
            await asyncio.sleep(0.1)
    assert b"cancelled" in state.data


async def test_a_cancelled_instance_ends_and_cannot_be_cancelled_again(namespace: KafkaSettings) -> None:
    await publish_all(namespace, [(compiled(CHILD), CHILD), (compiled(PARENT), PARENT)])
    async with Client("boss", kafka=namespace) as client, Client("operator", kafka=namespace) as operator:
        whole = await client.start(("Go", {"sizes": [1]}), protocol="Whole", roles={"Judge": "boss"}, id="w")
        await operator.instance("w").cancel("nobody needs it any more")
        with pytest.raises(InstanceFailed, match="cancelled"):
            await whole.result(timeout=30)
        await until_cancelled(namespace, "w:1:child:0")
        with pytest.raises(Rejected, match="ended"):
            await whole.cancel("again")
        with pytest.raises(Rejected, match="no instance nobody is known"):
            await operator.cancel("nobody", "a mistake")
