"""The negotiation: a buyer and a seller that each move by a fixed step a round, up to a limit.

What they offer is a function of the round, which every offer carries; so they need no memory.
"""

from __future__ import annotations

from pydantic import BaseModel

from strabo_agents import Agent, Conversation, Rejected

PROTOCOL = "Negotiation"


class Offer(BaseModel):
    item: str
    round: int
    price: float


class Accept(BaseModel):
    price: float


class Withdraw(BaseModel):
    reason: str | None = None


def party(role_name: str, *, first: float, step: float, limit: float) -> Agent:
    """A buyer (`step` above 0) or a seller (below 0) that offers `first`, then `step` more in each round of its own."""
    agent = Agent()
    role = agent.role(PROTOCOL, role_name)
    worse = max if step < 0 else min

    def price_in(number: int) -> float:
        return worse(first + step * ((number - 1) // 2), limit)

    @role.on
    async def answer(offer: Offer, conversation: Conversation) -> Accept | Offer:
        mine = price_in(offer.round + 1)
        if worse(offer.price, mine) == offer.price:
            return Accept(price=offer.price)
        return Offer(item=offer.item, round=offer.round + 1, price=mine)

    @role.on
    async def refused(rejected: Rejected, conversation: Conversation) -> Withdraw | None:
        if "rounds_are_bounded" not in rejected.constraints:
            return None
        return Withdraw(reason="too far apart")

    return agent


buyer = party("Buyer", first=100.0, step=20.0, limit=170.0)
seller = party("Seller", first=200.0, step=-20.0, limit=140.0)
