"""The iterated contract net: an initiator that presses for a lower price, and contractors with a price and a floor.

Both are pure functions of the messages that they get: what an agent has to know, the protocol's messages carry.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import AwareDatetime, BaseModel

from strabo_agents import Agent, Conversation, Message

PROTOCOL = "IteratedContractNet"
TIME_TO_REPLY = timedelta(minutes=5)
PRESSURE = 0.9
"""What the next round's ceiling is of the cheapest bid."""


class Cfp(BaseModel):
    task: dict[str, Any]
    reply_by: AwareDatetime


class Propose(BaseModel):
    price: float


class Bid(BaseModel):
    participant: str
    proposal: Propose


class Refuse(BaseModel):
    reason: str


class RoundClosed(BaseModel):
    round: int
    last: bool
    task: dict[str, Any]
    bids: list[Bid]


class AcceptProposal(BaseModel):
    task: dict[str, Any]


class Inform(BaseModel):
    result: dict[str, Any]


initiator = Agent()


@initiator.role(PROTOCOL, "Initiator").on
async def decide(closed: RoundClosed, conversation: Conversation) -> list[Message]:
    """Keep the cheaper half and call again with a ceiling; in the last round, or with one left, accept."""
    ranked = sorted(closed.bids, key=lambda bid: bid.proposal.price)
    kept = ranked[: 1 if closed.last else (len(ranked) + 1) // 2]
    rejected = tuple(bid.participant for bid in ranked[len(kept) :])
    answers = [Message("RejectProposal", {"reason": "others are cheaper"}, to=rejected)] if rejected else []
    if len(kept) == 1:
        return [*answers, Message("AcceptProposal", {"task": closed.task}, to=(kept[0].participant,))]
    revised = {**closed.task, "ceiling": PRESSURE * kept[0].proposal.price}
    reply_by = conversation.message.sent_at + TIME_TO_REPLY
    return [*answers, Message.of(Cfp(task=revised, reply_by=reply_by))]


def contractor_at(price: float, floor: float) -> Agent:
    """A contractor that asks `price`, goes down to `floor` when it must, and refuses what is below."""
    agent = Agent(capabilities=["contract"])
    role = agent.role(PROTOCOL, "Participant")

    @role.on
    async def propose(call: Cfp, conversation: Conversation) -> Propose | Refuse:
        ceiling = float(call.task.get("ceiling", price))
        if ceiling < floor:
            return Refuse(reason=f"not below {floor}")
        return Propose(price=min(price, ceiling))

    @role.on
    async def perform(accepted: AcceptProposal, conversation: Conversation) -> Inform:
        return Inform(result={"done": accepted.task})

    return agent


contractor = contractor_at(100.0, 60.0)
cheap_contractor = contractor_at(90.0, 75.0)
