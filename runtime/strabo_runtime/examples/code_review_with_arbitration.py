"""The code review with arbitration: reviewers who differ in what they let pass; a person settles their disagreement."""

from __future__ import annotations

import structlog
from pydantic import BaseModel

from strabo_agents import Agent, Conversation

PROTOCOL = "CodeReviewWithArbitration"

log = structlog.get_logger(__name__)


class InitiateReview(BaseModel):
    pr_url: str
    diff_content: str


class SubmitReview(BaseModel):
    status: str
    comment: str


class ReviewCompleted(BaseModel):
    outcome: str
    reason: str | None = None


initiator = Agent()


@initiator.role(PROTOCOL, "initiator").on
async def completed(review: ReviewCompleted, conversation: Conversation) -> None:
    """Log the outcome."""
    log.info("review completed", outcome=review.outcome, reason=review.reason)


def reviewer_of(longest: int) -> Agent:
    """A reviewer who lets pass what has at most `longest` lines."""
    agent = Agent(capabilities=["code_review"])

    @agent.role(PROTOCOL, "reviewer").on
    async def review(change: InitiateReview, conversation: Conversation) -> SubmitReview:
        lines = len(change.diff_content.splitlines())
        if lines > longest:
            return SubmitReview(status="request_changes", comment=f"{lines} lines are too many at once")
        return SubmitReview(status="approve", comment="short enough")

    return agent


reviewer = reviewer_of(400)
strict_reviewer = reviewer_of(40)
