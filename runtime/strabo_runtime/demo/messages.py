"""The payloads of DistributedTaskAuction 1.0, as `strabo models` writes them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict


class TaskAnnouncement(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str
    spec: dict[str, Any]
    budget: float
    deadline: AwareDatetime
    bidding_duration: timedelta


class CallForBids(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str
    spec: dict[str, Any]
    bid_submission_deadline: AwareDatetime


class BidSubmission(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str
    solver_id: str
    proposal: dict[str, Any]
    cost: float
    time_estimate: timedelta


class BidWinNotification(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str
    award_amount: float


class BidLoseNotification(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str


class TaskAssignment(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str
    winner_solver_id: str
    final_cost: float


class AssignmentAcknowledgement(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str


class TaskCancellation(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    task_id: str
    reason: str | None = None


class AuctionCancelled(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    reason: str
