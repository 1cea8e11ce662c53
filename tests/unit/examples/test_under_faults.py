"""Lost, doubled, late and overtaking messages, crashing agents and a restarting worker change no outcome."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from strabo_agents.json_types import JsonObject
from strabo_runtime.examples import (
    fan_out,
    iterated_contract_net,
    negotiation,
    quorum_vote,
    task_delegation,
    travel_booking,
    ucp_checkout,
)
from strabo_runtime.testing import Faults
from tests.unit.examples.support import simulation_of

pytestmark = pytest.mark.slow

SEEDS = range(2)


def faults(seed: int) -> Faults:
    return Faults(
        seed=seed,
        lost=0.2,
        doubled=0.2,
        delayed=0.2,
        reordered=0.2,
        crashing=0.1,
        restarts=0.2,
        delay="PT10S",
    )


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_trip_is_booked(seed: int) -> None:
    async with simulation_of("travel_booking", faults=faults(seed)) as simulation:
        simulation.add(travel_booking.airline, "air")
        simulation.add(travel_booking.hotel, "inn")
        simulation.add(travel_booking.car_rental, "cars")
        payload: JsonObject = {"trip": "lisbon", "flight": {}, "hotel": {}, "car": {}}
        trip = await simulation.start(("BookTrip", payload), as_agent="t")
        assert (await trip.result())["car"] == "car lisbon"
        assert len(simulation.received("t")) >= 1


@pytest.mark.parametrize("seed", SEEDS)
async def test_all_pieces_are_joined(seed: int) -> None:
    async with simulation_of("fan_out", faults=faults(seed)) as simulation:
        simulation.add(fan_out.worker, "w1")
        simulation.add(fan_out.worker, "w2")
        work = await simulation.start(
            ("FanOutRequest", {"pieces": [{"n": n} for n in range(5)]}), as_agent="r"
        )
        assert (await work.result())["results"] == [{"square": n * n} for n in range(5)]


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_price_is_agreed(seed: int) -> None:
    async with simulation_of("negotiation", faults=faults(seed)) as simulation:
        simulation.add(negotiation.buyer, "b")
        simulation.add(negotiation.seller, "s")
        deal = await simulation.start(negotiation.Offer(item="bicycle", round=1, price=100.0), as_agent="b")
        assert await deal.result() == {"item": "bicycle", "price": 160.0, "rounds": 6}


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_contract_is_awarded(seed: int) -> None:
    call = iterated_contract_net.Cfp(task={}, reply_by=datetime(2030, 1, 1, 0, 5, tzinfo=UTC))
    async with simulation_of("iterated_contract_net", faults=faults(seed)) as simulation:
        simulation.add(iterated_contract_net.contractor, "p1")
        simulation.add(iterated_contract_net.cheap_contractor, "p2")
        simulation.add(iterated_contract_net.initiator, "i")
        contract = await simulation.start(call, as_agent="i")
        assert (await contract.result())["accepted"] == ["p2"]


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_vote_counts_once(seed: int) -> None:
    async with simulation_of("quorum_vote", faults=faults(seed)) as simulation:
        for name in ("v1", "v2", "v3"):
            simulation.add(quorum_vote.voter, name)
        vote = await simulation.start(("PutMotion", {"motion": "adopt the budget"}), as_agent="chair")
        assert await vote.result() == {"carried": True, "votes": 3}


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_task_is_done(seed: int) -> None:
    async with simulation_of("task_delegation", faults=faults(seed)) as simulation:
        for name in ("w1", "w2", "w3"):
            simulation.add(task_delegation.worker, name)
        simulation.add(task_delegation.tools, "tools")
        request: JsonObject = {"task_id": "t1", "instructions": "count these words"}
        task = await simulation.start(
            ("task_request", request), as_agent="boss", inputs={"patience": "PT10M", "tool_time": "PT10M"}
        )
        assert (await task.result())["output"] == {"words": 3}


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_order_is_placed(seed: int) -> None:
    async with simulation_of("ucp_checkout", faults=faults(seed)) as simulation:
        simulation.add(ucp_checkout.business, "shop")
        simulation.add(ucp_checkout.platform, "shopper")
        wanted: JsonObject = {"line_items": [{"item": {"id": "shirt"}, "quantity": 2}]}
        session = await simulation.start(("create_checkout", wanted), as_agent="shopper", id="one")
        assert (await session.result())["id"] == "chk-one"
