"""An agent process that kills itself with SIGKILL at a crash point.

`python -m tests.support.crashing_agent POINT NUMBER`: it dies when it reaches POINT for the NUMBER-th time
(0: never). Each run of its handler gives another cost, so that two runs of one handler that both took effect
would show.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys

from pydantic import BaseModel

from strabo_agents import Agent, Conversation
from strabo_agents.delivery.crash_points import CrashPoint
from strabo_agents.runner import Runner
from tests.support.agent_namespace import PROTOCOL


class Call(BaseModel):
    size: int


class Bid(BaseModel):
    cost: int


agent = Agent("s1")


@agent.role(PROTOCOL, "Solver").on
async def bid(call: Call, conversation: Conversation) -> Bid:
    """Bid something else at each run."""
    return Bid(cost=secrets.randbelow(10**9))


async def main(point: str, number: int) -> None:
    """Run the agent until the crash point, or SIGTERM."""
    left = number

    def die_at(reached: CrashPoint) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    runner = Runner(agent, checkpoint=die_at)
    with runner.stopped_by_signals():
        await runner.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
