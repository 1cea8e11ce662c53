"""The manual's example of a simulation with faults does what it says."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import strabo_runtime
from strabo_agents import Agent, Conversation
from strabo_runtime.demo.messages import BidSubmission, CallForBids, TaskAnnouncement

PAGE = Path(__file__).parents[3] / "docs" / "language" / "scenarios.md"
AUCTION = Path(strabo_runtime.__file__).parent / "protocols" / "task_auction.yaml"


def solver() -> Agent:
    agent = Agent(capabilities=["solve"])

    @agent.role("DistributedTaskAuction", "Solver").on
    async def bid(call: CallForBids, conversation: Conversation) -> BidSubmission:
        return BidSubmission(
            task_id=call.task_id,
            solver_id=conversation.agent_id,
            proposal={},
            cost=10.0,
            time_estimate=timedelta(hours=1),
        )

    return agent


async def test_the_example_passes() -> None:
    [source] = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(source, names)
    example: Callable[..., Awaitable[None]] = names["test_no_fault_costs_a_bid"]
    task = TaskAnnouncement(
        task_id="t1",
        spec={"size": 8},
        budget=100.0,
        deadline=datetime(2030, 2, 1, tzinfo=UTC),
        bidding_duration=timedelta(hours=3),
    )
    await example(AUCTION, solver(), task)
