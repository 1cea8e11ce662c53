"""The example agents of the UCP checkout play it to its end."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.ucp_checkout import business, platform
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow


def wanted(item: str, quantity: int) -> tuple[str, dict[str, object]]:
    return "create_checkout", {"line_items": [{"item": {"id": item}, "quantity": quantity}]}


async def test_the_platform_fills_in_what_is_missing_and_completes() -> None:
    async with simulation_of("ucp_checkout") as simulation:
        simulation.add(business, "shop")
        simulation.add(platform, "shopper")
        session = await simulation.start(wanted("shirt", 2), as_agent="shopper", id="one")
        result = await session.result()
        assert result["order"] == {
            "id": "order-chk-one",
            "permalink_url": "https://shop.example.com/orders/order-chk-one",
        }
        statuses = [each.payload["status"] for each in simulation.received("shopper")]
        assert statuses == ["incomplete", "ready_for_complete", "completed"]


async def test_a_dear_order_is_handed_to_the_buyer_who_declines() -> None:
    async with simulation_of("ucp_checkout") as simulation:
        simulation.add(business, "shop")
        simulation.add(platform, "shopper")
        session = await simulation.start(wanted("coat", 2), as_agent="shopper", id="two")
        assert session.state == "requires_escalation"
        [handoff] = simulation.received("human:Buyer")
        assert handoff.payload == {"continue_url": "https://shop.example.com/checkout-sessions/two"}
        await session.send(("decline", {}), as_agent="human:Buyer", user="jane")
        with pytest.raises(InstanceFailed, match="canceled"):
            await session.result()


async def test_a_buyer_who_does_not_come_lets_the_session_expire() -> None:
    async with simulation_of("ucp_checkout") as simulation:
        simulation.add(business, "shop")
        simulation.add(platform, "shopper")
        session = await simulation.start(wanted("coat", 2), as_agent="shopper")
        await simulation.advance("PT6H")
        assert session.state == "canceled"
        assert simulation.received("shopper")[-1].payload == {"reason": "expired"}


async def test_a_shop_that_does_not_answer_ends_it() -> None:
    async with simulation_of("ucp_checkout") as simulation:
        simulation.add(silent("UcpCheckout", "Business"), "shop")
        session = await simulation.start(wanted("shirt", 1), as_agent="shopper")
        with pytest.raises(InstanceFailed):
            await session.result()
