"""The harness shows what an agent does with a message, by the delivery that a running agent uses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import BaseModel

from strabo_agents import Agent, Conversation, Message, NoAnswer, Permanent, Rejected
from strabo_agents.delivery.processor import RetryPolicy
from strabo_agents.errors import AuthorError
from strabo_agents.json_types import JsonObject
from strabo_agents.testing import AgentHarness, Sent


class Call(BaseModel):
    size: int


class Bid(BaseModel):
    cost: float
    time_estimate: timedelta = timedelta(hours=1)


class Progress(BaseModel):
    done: float


def make_agent() -> Agent:
    """Its handler bids ten a unit."""
    agent = Agent()
    solver = agent.role("Auction", "Solver")

    @solver.on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        return Bid(cost=10.0 * call.size)

    return agent


async def test_what_a_handler_returns_is_sent_as_an_answer() -> None:
    async with AgentHarness(make_agent(), agent_id="s1") as harness:
        [bid] = await harness.deliver(Call(size=8), id="m1", instance_id="i1")

    assert bid.read(Bid) == Bid(cost=80.0)
    assert bid == Sent(
        "Bid", {"cost": 80.0, "time_estimate": "PT1H"}, (), "s1/Solver:m1:0", "i1", "m1", False
    )


async def test_a_redelivery_sends_the_same_and_does_not_run_the_handler_again() -> None:
    agent, runs = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        runs.append(call.size)
        return Bid(cost=float(len(runs)))

    async with AgentHarness(agent) as harness:
        first = await harness.deliver(Call(size=8), id="m1")
        again = await harness.deliver(Call(size=8), id="m1")

    assert (first, runs) == (again, [8])


async def test_several_messages_are_sent_in_order() -> None:
    agent = Agent()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> list[Bid]:
        await conversation.send(Progress(done=0.5), to="c1")
        await conversation.send(("Note", {"text": "soon"}))
        return [Bid(cost=1.0), Bid(cost=2.0)]

    async with AgentHarness(agent) as harness:
        sent = await harness.deliver(Call(size=1))

    assert [(each.type, each.to) for each in sent] == [
        ("Progress", ("c1",)),
        ("Note", ()),
        ("Bid", ()),
        ("Bid", ()),
    ]
    assert len({each.id for each in sent}) == 4


async def test_a_dict_handler_gets_the_payload_and_returns_a_message() -> None:
    agent = Agent()

    @agent.role("Auction", "Solver").on("Call")
    async def bid(call: JsonObject, conversation: Conversation) -> Message:
        return Message("Bid", {"cost": call["size"], "time_estimate": timedelta(minutes=1)}, to=("c1",))

    async with AgentHarness(agent) as harness:
        [sent] = await harness.deliver(("Call", {"size": 3}))

    assert (sent.type, sent.payload, sent.to) == ("Bid", {"cost": 3, "time_estimate": "PT1M"}, ("c1",))


async def test_a_conversation_knows_where_it_is() -> None:
    agent, seen = Agent(), list[Conversation]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        seen.append(conversation)

    deadline = datetime(2030, 1, 2, tzinfo=UTC)
    async with AgentHarness(agent, agent_id="s1") as harness:
        await harness.deliver(Call(size=1), instance_id="i1", sender="c1", deadline=deadline)

    [conversation] = seen
    assert (conversation.instance_id, conversation.agent_id, conversation.role) == ("i1", "s1", "Solver")
    assert (conversation.protocol, conversation.deadline, conversation.message.sender) == (
        "Auction",
        deadline,
        "c1",
    )
    assert len(conversation.trace_id) == 32


async def test_a_failing_handler_is_tried_again_and_sends_once() -> None:
    agent, attempts = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        attempts.append(1)
        await conversation.send(Progress(done=0.0))
        if len(attempts) < 3:
            raise ConnectionError("the model is away")
        return Bid(cost=1.0)

    async with AgentHarness(agent) as harness:
        sent = await harness.deliver(Call(size=1))

    assert (len(attempts), [each.type for each in sent], harness.dead_letters) == (3, ["Progress", "Bid"], [])


async def test_a_handler_that_keeps_failing_is_dead_lettered_with_its_traceback() -> None:
    agent, attempts = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        attempts.append(1)
        raise ConnectionError("the model is away")

    async with AgentHarness(agent, agent_id="s1", retry=RetryPolicy(attempts=4)) as harness:
        sent = await harness.deliver(Call(size=1), instance_id="i1")

    [letter] = harness.dead_letters
    assert (sent, len(attempts)) == ([], 4)
    assert (letter.instance_id, letter.by, letter.error_type) == ("i1", "s1", "ConnectionError")
    assert "in bid" in letter.reason
    assert "the model is away" in letter.reason


@pytest.mark.parametrize("error", [Permanent("a call needs a size"), AuthorError("a fault of the code")])
async def test_what_no_attempt_can_help_is_dead_lettered_at_once(error: Exception) -> None:
    agent, attempts = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        attempts.append(1)
        raise error

    async with AgentHarness(agent) as harness:
        await harness.deliver(Call(size=1))

    assert (len(attempts), len(harness.dead_letters)) == (1, 1)


async def test_a_payload_that_does_not_fit_the_model_is_dead_lettered() -> None:
    async with AgentHarness(make_agent()) as harness:
        await harness.deliver(("Call", {"size": "large"}))

    assert "/size" in harness.dead_letters[0].reason


async def test_a_dead_lettered_message_is_not_handled_again() -> None:
    agent, attempts = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        attempts.append(1)
        raise Permanent("no")

    async with AgentHarness(agent) as harness:
        await harness.deliver(Call(size=1), id="m1")
        await harness.deliver(Call(size=1), id="m1")

    assert len(attempts) == 1


async def test_a_handler_that_returns_nonsense_is_dead_lettered() -> None:
    agent = Agent()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> int:  # type: ignore[type-var]
        return 3

    async with AgentHarness(agent) as harness:
        await harness.deliver(Call(size=1))

    assert "return a pydantic model named as the message type" in harness.dead_letters[0].reason


async def test_a_message_that_is_too_large_is_dead_lettered() -> None:
    agent = Agent()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Message:
        return Message("Bid", {"text": "x" * 1_100_000})

    async with AgentHarness(agent) as harness:
        await harness.deliver(Call(size=1))

    assert harness.dead_letters[0].error_type == "PayloadError"


async def test_waiting_gives_the_acceptance_and_what_was_sent_before_goes_first() -> None:
    agent, answers = Agent(), list[str]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        await conversation.send(Progress(done=0.1))
        answers.append((await conversation.send(Bid(cost=1.0), wait=True)).message_id)
        await conversation.send(Progress(done=1.0))

    async with AgentHarness(agent) as harness:
        sent = await harness.deliver(Call(size=1))

    assert [(each.type, each.waited) for each in sent] == [
        ("Progress", False),
        ("Bid", True),
        ("Progress", False),
    ]
    assert answers == [sent[1].id]


async def test_waiting_raises_the_refusal() -> None:
    agent, texts = Agent(), list[str]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        try:
            await conversation.send(Bid(cost=1.0), wait=True)
        except Rejected as rejected:
            texts.append(rejected.text)

    def answer(sent: Sent) -> Rejected | None:
        return Rejected("too late", by="constraint", message_id=sent.id, instance_id=sent.instance_id)

    async with AgentHarness(agent, answer=answer) as harness:
        await harness.deliver(Call(size=1))

    assert texts == ["too late"]


async def test_a_refusal_that_the_handler_does_not_take_is_not_tried_again() -> None:
    agent, attempts = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        attempts.append(1)
        await conversation.send(Bid(cost=1.0), wait=True)

    async with AgentHarness(
        agent, answer=lambda sent: Rejected("no", by="constraint", message_id=sent.id, instance_id="i")
    ) as harness:
        await harness.deliver(Call(size=1))

    assert (len(attempts), harness.dead_letters[0].error_type) == (1, "Rejected")


async def test_a_missing_answer_is_asked_for_again_under_the_same_id() -> None:
    agent, asked = Agent(), list[str]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        await conversation.send(Bid(cost=1.0), wait=True)

    def answer(sent: Sent) -> None:
        asked.append(sent.id)
        if len(asked) == 1:
            raise NoAnswer("nobody there")

    async with AgentHarness(agent, answer=answer) as harness:
        await harness.deliver(Call(size=1))

    assert len(asked) == 2
    assert (len(set(asked)), harness.dead_letters) == (1, [])


async def test_a_refusal_reaches_the_handler_of_the_role_that_sent() -> None:
    agent = make_agent()
    seen: list[tuple[str, str, Sequence[str], str]] = []
    agent.role("Auction", "Client")

    @agent.role("Auction", "Solver").on
    async def refused(rejected: Rejected, conversation: Conversation) -> Bid:
        seen.append((rejected.by, rejected.text, rejected.constraints, conversation.role))
        return Bid(cost=1.0)

    async with AgentHarness(agent) as harness:
        [bid] = await harness.deliver(Call(size=100))
        [lower] = await harness.refuse(bid, text="over budget", constraints=["bid_within_budget"])

    assert seen == [("constraint", "over budget", ("bid_within_budget",), "Solver")]
    assert lower.payload["cost"] == 1.0


async def test_a_refusal_nobody_handles_is_only_noted() -> None:
    async with AgentHarness(make_agent()) as harness:
        [bid] = await harness.deliver(Call(size=100))

        assert await harness.refuse(bid) == []
        assert harness.dead_letters == []


async def test_a_reminder_of_an_answered_message_is_answered_in_the_same_bytes() -> None:
    agent, runs = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        runs.append(1)
        return Bid(cost=float(len(runs)))

    async with AgentHarness(agent) as harness:
        first = await harness.deliver(Call(size=8), id="m1")
        again = await harness.deliver(Call(size=8), id="m2", reminder_of="m1")

    assert (first, len(runs)) == (again, 1)


async def test_a_reminder_of_a_message_that_was_not_answered_reaches_the_handler() -> None:
    agent, reminders = Agent(), list[str | None]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid | None:
        reminders.append(conversation.message.reminder_of)
        return None if len(reminders) == 1 else Bid(cost=1.0)

    async with AgentHarness(agent) as harness:
        assert await harness.deliver(Call(size=8), id="m1") == []
        [bid] = await harness.deliver(Call(size=8), id="m2", reminder_of="m1")

    assert (bid.type, reminders) == ("Bid", [None, "m1"])


async def test_a_conversation_that_has_ended_cannot_send() -> None:
    agent, kept = Agent(), list[Conversation]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> None:
        kept.append(conversation)

    async with AgentHarness(agent) as harness:
        await harness.deliver(Call(size=8))
        with pytest.raises(AuthorError, match="has ended"):
            await kept[0].send(Bid(cost=1.0))


async def test_a_handler_cut_off_by_its_time_limit_is_tried_again() -> None:
    import asyncio

    agent, runs = Agent(), list[int]()

    @agent.role("Auction", "Solver").on
    async def bid(call: Call, conversation: Conversation) -> Bid:
        runs.append(1)
        if len(runs) == 1:
            await asyncio.Event().wait()
        return Bid(cost=1.0)

    async with AgentHarness(agent, retry=RetryPolicy(timeout=0.01)) as harness:
        [sent] = await harness.deliver(Call(size=8))

    assert (sent.type, len(runs)) == ("Bid", 2)


async def test_a_type_that_two_roles_handle_needs_the_role() -> None:
    agent = make_agent()

    @agent.role("Auction", "Judge").on
    async def judge(call: Call, conversation: Conversation) -> None: ...

    async with AgentHarness(agent) as harness:
        with pytest.raises(AuthorError, match=r"found: Auction\.Solver, Auction\.Judge"):
            await harness.deliver(Call(size=8))
        assert await harness.deliver(Call(size=8), role="Judge") == []
        with pytest.raises(AuthorError, match="found: none"):
            await harness.deliver(Bid(cost=1.0))
