"""The example agents of the negotiation play it to its end."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.negotiation import Offer, buyer, party, seller
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

OPENING = Offer(item="bicycle", round=1, price=100.0)


async def test_they_meet_in_the_middle() -> None:
    async with simulation_of("negotiation") as simulation:
        simulation.add(buyer, "b")
        simulation.add(seller, "s")
        deal = await simulation.start(OPENING, as_agent="b")
        assert await deal.result() == {"item": "bicycle", "price": 160.0, "rounds": 6}


async def test_parties_too_far_apart_withdraw_when_the_rounds_are_over() -> None:
    async with simulation_of("negotiation") as simulation:
        simulation.add(buyer, "b")
        simulation.add(party("Seller", first=900.0, step=-10.0, limit=500.0), "s")
        deal = await simulation.start(OPENING, as_agent="b")
        with pytest.raises(InstanceFailed, match="withdrawn"):
            await deal.result()
        assert simulation.received("s")[-1].payload == {"reason": "too far apart"}


async def test_a_silent_seller_ends_it() -> None:
    async with simulation_of("negotiation") as simulation:
        simulation.add(buyer, "b")
        simulation.add(silent("Negotiation", "Seller"), "s")
        deal = await simulation.start(OPENING, as_agent="b")
        with pytest.raises(InstanceFailed, match="expired"):
            await deal.result()
