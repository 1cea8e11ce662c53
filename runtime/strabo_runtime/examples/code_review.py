"""The code review: reviewers that look for a few words in a change, and an initiator that logs what came of it."""

from __future__ import annotations

from typing import Literal

import structlog
from pydantic import BaseModel

from strabo_agents import Agent, Conversation

PROTOCOL = "MultiAgentCodeReview"
SUSPICIOUS = {"eval(": "security", "except:": "bug", "print(": "style"}

log = structlog.get_logger(__name__)


class Finding(BaseModel):
    file: str
    line: int
    category: str
    severity: Literal["low", "medium", "high"]
    comment: str


class InitiateReview(BaseModel):
    pr_url: str
    diff_content: str
    guidelines: str | None = None


class SubmitReview(BaseModel):
    findings: list[Finding]
    overall_status: Literal["approve", "request_changes", "comment"]


class ReviewCompleted(BaseModel):
    outcome: str
    findings: list[Finding]
    arbitrated: bool


initiator = Agent()


@initiator.role(PROTOCOL, "initiator").on
async def completed(review: ReviewCompleted, conversation: Conversation) -> None:
    """Log the outcome."""
    log.info("review completed", outcome=review.outcome, findings=len(review.findings))


def reviewer_finding(severity: Literal["low", "high"]) -> Agent:
    """A reviewer to whom everything that it finds is this severe."""
    agent = Agent(capabilities=["code_review"])

    @agent.role(PROTOCOL, "reviewer").on
    async def review(change: InitiateReview, conversation: Conversation) -> SubmitReview:
        findings = [
            Finding(
                file=change.pr_url,
                line=number,
                category=category,
                severity=severity,
                comment=f"{word} is there",
            )
            for number, line in enumerate(change.diff_content.splitlines(), 1)
            for word, category in SUSPICIOUS.items()
            if word in line
        ]
        severe = findings and severity == "high"
        return SubmitReview(findings=findings, overall_status="request_changes" if severe else "approve")

    return agent


reviewer = reviewer_finding("low")
strict_reviewer = reviewer_finding("high")
