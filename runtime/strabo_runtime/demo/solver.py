"""A solver of the demonstration: it bids for every task at its own price."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta

from strabo_agents import Agent, Conversation, Rejected
from strabo_runtime.demo.messages import BidSubmission, CallForBids

PRICE = float(os.environ.get("STRABO_DEMO_PRICE", "10"))
"""What one unit of a task's size costs with this solver."""
THINKING_S = float(os.environ.get("STRABO_DEMO_THINKING_S", "0"))
"""How long it looks at a task before it bids, so that a person can follow."""

agent = Agent(capabilities=["solve"])
solver = agent.role("DistributedTaskAuction", "Solver")


@solver.on
async def bid(call: CallForBids, conversation: Conversation) -> BidSubmission:
    """Bid in this agent's name."""
    await asyncio.sleep(THINKING_S)
    return BidSubmission(
        task_id=call.task_id,
        solver_id=conversation.agent_id,
        proposal={"method": "by hand"},
        cost=PRICE * float(call.spec["size"]),
        time_estimate=timedelta(hours=1),
    )


@solver.on
async def refused(rejected: Rejected, conversation: Conversation) -> None:
    """A refused bid needs no answer: the auction goes on without it."""
