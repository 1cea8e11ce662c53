"""The approval: an agent that asks people and acts on their answer. The people answer in the console."""

from __future__ import annotations

import structlog
from pydantic import BaseModel

from strabo_agents import Agent, Conversation

log = structlog.get_logger(__name__)


class Verdict(BaseModel):
    approved: bool
    comment: str | None = None


class Outcome(BaseModel):
    verdict: Verdict
    decided_by: str


requester = Agent()


@requester.role("Approval", "Requester").on
async def act(outcome: Outcome, conversation: Conversation) -> None:
    """Log it; a real agent would now place its order, or not."""
    log.info("decided", approved=outcome.verdict.approved, decided_by=outcome.decided_by)
