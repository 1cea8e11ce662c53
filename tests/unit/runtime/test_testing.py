"""Whole protocols run in memory, with real agents and a clock that skips."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

import strabo_runtime
from strabo_agents import Agent, AgentsError, Conversation, InstanceFailed, Message, NoAnswer, Rejected
from strabo_agents.errors import UnknownRole
from strabo_agents.json_types import JsonObject
from strabo_runtime.demo.messages import (
    AssignmentAcknowledgement,
    BidSubmission,
    CallForBids,
    TaskAnnouncement,
    TaskAssignment,
)
from strabo_runtime.language import DefinitionError
from strabo_runtime.testing import Simulation

PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"
AUCTION = PROTOCOLS / "task_auction.yaml"
REVIEW = PROTOCOLS / "code_review.yaml"


def solver(price: float) -> Agent:
    agent = Agent(capabilities=["solve"])

    @agent.role("DistributedTaskAuction", "Solver").on
    async def bid(call: CallForBids, conversation: Conversation) -> BidSubmission:
        return BidSubmission(
            task_id=call.task_id,
            solver_id=conversation.agent_id,
            proposal={},
            cost=price * float(call.spec["size"]),
            time_estimate=timedelta(hours=1),
        )

    return agent


def client() -> Agent:
    agent = Agent()

    @agent.role("DistributedTaskAuction", "Client").on
    async def acknowledge(
        assignment: TaskAssignment, conversation: Conversation
    ) -> AssignmentAcknowledgement:
        return AssignmentAcknowledgement(task_id=assignment.task_id)

    return agent


def task(budget: float = 100.0) -> TaskAnnouncement:
    return TaskAnnouncement(
        task_id="t1",
        spec={"size": 8},
        budget=budget,
        deadline=datetime(2030, 2, 1, tzinfo=UTC),
        bidding_duration=timedelta(minutes=5),
    )


async def test_the_cheapest_bid_wins_when_the_bidding_has_ended() -> None:
    async with Simulation(AUCTION) as simulation:
        simulation.add(solver(10), "s1")
        simulation.add(solver(11), "s2")
        simulation.add(client(), "c1")
        auction = await simulation.start(task(), as_agent="c1")
        assert auction.state == "BiddingOpen"
        assert auction.roles["Solver"] == ("s1", "s2")

        await simulation.advance("PT5M")

        assert (auction.state, auction.status) == ("Completed", "success")
        assert await auction.result() == {"winner": "s1", "cost": 80.0}
        assert simulation.now == datetime(2030, 1, 1, 0, 5, tzinfo=UTC)


async def test_the_clock_skips_to_the_result() -> None:
    async with Simulation(AUCTION) as simulation:
        simulation.add(solver(10), "s1")
        auction = await simulation.start(task(), as_agent="c1")

        assert (await auction.result())["winner"] == "s1"
        assert simulation.now == datetime(2030, 1, 1, 1, 5, tzinfo=UTC)


async def test_what_reached_an_agent_is_kept() -> None:
    async with Simulation(AUCTION) as simulation:
        simulation.add(solver(10), "s1")
        await simulation.start(task(), as_agent="c1")
        await simulation.advance(timedelta(minutes=5))

        assert [each.type for each in simulation.received("s1")] == ["CallForBids", "BidWinNotification"]
        [assignment] = simulation.received("c1")
        assert assignment.payload == {"task_id": "t1", "winner_solver_id": "s1", "final_cost": 80.0}
        assert simulation.received("nobody") == ()


async def test_a_refusal_reaches_the_handler_of_the_agent_that_sent() -> None:
    agent, heard = solver(100), list[Rejected]()

    @agent.role("DistributedTaskAuction", "Solver").on
    async def refused(rejected: Rejected, conversation: Conversation) -> BidSubmission:
        heard.append(rejected)
        return BidSubmission(
            task_id="t1",
            solver_id=conversation.agent_id,
            proposal={},
            cost=1.0,
            time_estimate=timedelta(hours=1),
        )

    async with Simulation(AUCTION) as simulation:
        simulation.add(agent, "s1")
        auction = await simulation.start(task(), as_agent="c1")
        assert (await auction.result())["cost"] == 1.0

    assert [(each.by, each.constraints) for each in heard] == [("constraint", ("bid_within_budget",))]
    assert [each.text for each in simulation.refusals] == [heard[0].text]


async def test_a_failed_instance_raises_where_and_why() -> None:
    silent = Agent(capabilities=["solve"])
    silent.role("DistributedTaskAuction", "Solver")
    async with Simulation(AUCTION) as simulation:
        simulation.add(silent, "s1")
        auction = await simulation.start(task(), as_agent="c1")

        with pytest.raises(InstanceFailed, match="failed in state Cancelled"):
            await auction.result()


async def test_a_start_that_finds_too_few_agents_is_refused() -> None:
    async with Simulation(AUCTION) as simulation:
        with pytest.raises(Rejected, match="Solver"):
            await simulation.start(task(), as_agent="c1")


async def test_agents_without_the_capabilities_are_not_found() -> None:
    agent = Agent()
    agent.role("MultiAgentCodeReview", "reviewer")
    async with Simulation(REVIEW) as simulation:
        for name in ("r1", "r2", "r3"):
            simulation.add(agent, name)

        with pytest.raises(Rejected, match="reviewer"):
            await simulation.start(("InitiateReview", {"pr_url": "u", "diff_content": "d"}), as_agent="ci")


def reviewer() -> Agent:
    agent = Agent(capabilities=["code_review"])

    @agent.role("MultiAgentCodeReview", "reviewer").on("InitiateReview")
    async def review(request: JsonObject, conversation: Conversation) -> Message | None:
        severity = {"r1": "low", "r2": "high"}.get(conversation.agent_id)
        if severity is None:
            return None
        finding = {"file": "a.py", "line": 1, "category": "bug", "severity": severity, "comment": "look"}
        return Message("SubmitReview", {"findings": [finding], "overall_status": "comment"})

    return agent


async def test_a_person_decides_and_a_person_is_reached() -> None:
    async with Simulation(REVIEW) as simulation:
        for name in ("r1", "r2", "r3"):
            simulation.add(reviewer(), name)
        review = await simulation.start(
            ("InitiateReview", {"pr_url": "u", "diff_content": "d"}), as_agent="ci"
        )
        assert review.state == "arbitration_pending"
        [request] = simulation.received("human:arbitrator")
        assert request.type == "RequestArbitration"

        await review.send(
            ("MakeArbitration", {"decision": "approve"}), as_agent="human:arbitrator", user="ann"
        )

        assert await review.result() == {"outcome": "approve"}


async def test_a_message_that_is_refused_raises_the_reason() -> None:
    async with Simulation(REVIEW) as simulation:
        for name in ("r1", "r3", "r4"):
            simulation.add(reviewer(), name)
        review = await simulation.start(
            ("InitiateReview", {"pr_url": "u", "diff_content": "d"}), as_agent="ci"
        )

        with pytest.raises(Rejected, match="review_in_progress") as caught:
            await review.send(("MakeArbitration", {"decision": "approve"}), as_agent="human:arbitrator")
        assert caught.value.by == "unexpected"


async def test_a_silent_agent_is_reminded_and_then_skipped() -> None:
    agent, reminders = Agent(capabilities=["code_review"]), list[str | None]()

    @agent.role("MultiAgentCodeReview", "reviewer").on("InitiateReview")
    async def review(request: JsonObject, conversation: Conversation) -> Message | None:
        if conversation.agent_id == "r3":
            reminders.append(conversation.message.reminder_of)
            return None
        return Message("SubmitReview", {"findings": [], "overall_status": "approve"})

    async with Simulation(REVIEW) as simulation:
        for name in ("r1", "r2", "r3"):
            simulation.add(agent, name)
        review_instance = await simulation.start(
            ("InitiateReview", {"pr_url": "u", "diff_content": "d"}), as_agent="ci"
        )
        assert await review_instance.result() == {"outcome": "approve"}
        assert review_instance.roles["reviewer"] == ("r1", "r2")

    assert len(reminders) == 3
    assert reminders[0] is None
    assert None not in reminders[1:]


async def test_waiting_in_a_handler_gets_the_answer() -> None:
    agent, answers = Agent(capabilities=["solve"]), list[str]()

    @agent.role("DistributedTaskAuction", "Solver").on
    async def bid(call: CallForBids, conversation: Conversation) -> None:
        bid = {"task_id": "t1", "solver_id": "s1", "proposal": {}, "cost": 500.0, "time_estimate": "PT1H"}
        try:
            await conversation.send(("BidSubmission", bid), wait=True)
        except Rejected as rejected:
            answers.append(rejected.by)
        answers.append(
            (await conversation.send(("BidSubmission", {**bid, "cost": 5.0}), wait=True)).instance_id
        )

    async with Simulation(AUCTION) as simulation:
        simulation.add(agent, "s1")
        auction = await simulation.start(task(), as_agent="c1", id="a1")
        assert (await auction.result())["cost"] == 5.0

    assert answers == ["constraint", "a1"]


async def test_a_handler_that_fails_is_dead_lettered_and_the_protocol_goes_on() -> None:
    agent = Agent(capabilities=["solve"])

    @agent.role("DistributedTaskAuction", "Solver").on
    async def bid(call: CallForBids, conversation: Conversation) -> None:
        raise ConnectionError("the model is away")

    async with Simulation(AUCTION) as simulation:
        simulation.add(agent, "s1")
        simulation.add(solver(10), "s2")
        auction = await simulation.start(task(), as_agent="c1")
        assert (await auction.result())["winner"] == "s2"

    assert [each.by for each in simulation.dead_letters] == ["s1"]


async def test_handlers_of_several_agents_run_at_once() -> None:
    agent, meeting = Agent(capabilities=["solve"]), asyncio.Barrier(2)

    @agent.role("DistributedTaskAuction", "Solver").on
    async def bid(call: CallForBids, conversation: Conversation) -> None:
        await meeting.wait()

    async with Simulation(AUCTION) as simulation:
        simulation.add(agent, "s1")
        simulation.add(agent, "s2")
        async with asyncio.timeout(5):
            await simulation.start(task(), as_agent="c1")


async def test_two_runs_are_the_same() -> None:
    async def run() -> list[object]:
        async with Simulation(AUCTION) as simulation:
            simulation.add(solver(10), "s1")
            simulation.add(solver(10), "s2")
            auction = await simulation.start(task(), as_agent="c1")
            await auction.result()
            return [(step.input, step.outputs) for step in simulation.host.steps]

    assert await run() == await run()


async def test_an_instance_that_nothing_will_end_says_what_it_waits_for() -> None:
    source = AUCTION.read_text().replace("    timeout: {after: PT1H, event: AssignmentAcknowledged}\n", "")
    path = Path("waiting.yaml")
    from strabo_runtime.language import load

    machine = load(source, filename=str(path)).machine
    assert machine is not None
    async with Simulation(machine) as simulation:
        simulation.add(solver(10), "s1")
        auction = await simulation.start(task(), as_agent="c1")

        with pytest.raises(NoAnswer, match="waits in state Awarded and no timer is set"):
            await auction.result()


def test_a_role_that_the_protocol_does_not_have_is_refused() -> None:
    agent = Agent("s1")
    agent.role("DistributedTaskAuction", "Slover")

    with pytest.raises(UnknownRole, match=r"did you mean Solver\?"):
        Simulation(AUCTION).add(agent)


def test_a_second_agent_of_one_id_is_refused() -> None:
    simulation = Simulation(AUCTION)
    simulation.add(solver(1), "s1")

    with pytest.raises(AgentsError, match="already"):
        simulation.add(solver(2), "s1")


def test_a_broken_protocol_is_refused_with_its_diagnostics(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("protocol: Broken\n")

    with pytest.raises(DefinitionError, match=r"broken\.yaml:1"):
        Simulation(path)


async def test_a_simulation_outside_of_its_block_says_how_to_use_it() -> None:
    class Ping(BaseModel):
        pass

    with pytest.raises(AgentsError, match="async with Simulation"):
        await Simulation(AUCTION).settle()
