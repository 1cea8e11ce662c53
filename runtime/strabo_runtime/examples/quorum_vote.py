"""The quorum vote: voters with an opinion, and a chair that logs the result."""

from __future__ import annotations

from typing import Literal

import structlog
from pydantic import BaseModel

from strabo_agents import Agent, Conversation

PROTOCOL = "QuorumVote"
Choice = Literal["for", "against", "abstain"]

log = structlog.get_logger(__name__)


class CallForVotes(BaseModel):
    motion: str


class CastVote(BaseModel):
    choice: Choice


class VoteResult(BaseModel):
    motion: str
    carried: bool
    votes_for: int
    votes_against: int
    abstained: int


chair = Agent()


@chair.role(PROTOCOL, "Chair").on
async def announce(result: VoteResult, conversation: Conversation) -> None:
    """Log the result."""
    log.info("voted", motion=result.motion, carried=result.carried)


def voter_of(choice: Choice) -> Agent:
    """A voter that votes `choice`, whatever the motion."""
    agent = Agent()

    @agent.role(PROTOCOL, "Voter").on
    async def vote(call: CallForVotes, conversation: Conversation) -> CastVote:
        return CastVote(choice=choice)

    return agent


voter = voter_of("for")
sceptic = voter_of("against")
