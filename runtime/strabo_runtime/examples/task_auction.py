"""The task auction: solvers that price a task by its size, and a client that takes whoever wins."""

from __future__ import annotations

from datetime import timedelta

from strabo_agents import Agent, Conversation, Permanent
from strabo_runtime.demo.messages import (
    AssignmentAcknowledgement,
    BidSubmission,
    CallForBids,
    TaskAssignment,
)

PROTOCOL = "DistributedTaskAuction"

client = Agent()


@client.role(PROTOCOL, "Client").on
async def acknowledge(assignment: TaskAssignment, conversation: Conversation) -> AssignmentAcknowledgement:
    """Accept whoever won."""
    return AssignmentAcknowledgement(task_id=assignment.task_id)


def solver_at(price: float) -> Agent:
    """A solver that asks `price` for each unit of a task's size."""
    agent = Agent(capabilities=["solve"])

    @agent.role(PROTOCOL, "Solver").on
    async def bid(call: CallForBids, conversation: Conversation) -> BidSubmission:
        size = call.spec.get("size")
        if not isinstance(size, int | float):
            raise Permanent("a task needs a size")
        return BidSubmission(
            task_id=call.task_id,
            solver_id=conversation.agent_id,
            proposal={"method": "by hand"},
            cost=price * size,
            time_estimate=timedelta(hours=size),
        )

    return agent


solver = solver_at(10.0)
cheap_solver = solver_at(9.0)
