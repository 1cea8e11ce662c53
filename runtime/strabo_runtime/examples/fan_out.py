"""The fan-out: workers that square a number, and a requester that logs the joined results."""

from __future__ import annotations

from typing import Any

import structlog
from pydantic import BaseModel

from strabo_agents import Agent, Conversation

log = structlog.get_logger(__name__)


class DoWork(BaseModel):
    task: dict[str, Any]


class WorkDone(BaseModel):
    output: dict[str, Any]


class WorkFailed(BaseModel):
    reason: str


class FanOutResult(BaseModel):
    succeeded: bool
    results: list[dict[str, Any]]
    failures: list[str]


requester = Agent()


@requester.role("FanOut", "Requester").on
async def joined(result: FanOutResult, conversation: Conversation) -> None:
    """Log what came of it."""
    log.info("joined", succeeded=result.succeeded, results=result.results, failures=result.failures)


worker = Agent(capabilities=["work"])


@worker.role("PieceOfWork", "Worker").on
async def square(work: DoWork, conversation: Conversation) -> WorkDone | WorkFailed:
    """Square the number `n`."""
    number = work.task.get("n")
    if not isinstance(number, int | float):
        return WorkFailed(reason=f"{number!r} is no number")
    return WorkDone(output={"square": number * number})
