"""The example agents of the iterated contract net play it to its end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.iterated_contract_net import (
    Cfp,
    cheap_contractor,
    contractor,
    contractor_at,
    initiator,
)
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

CALL = Cfp(task={"paint": "house"}, reply_by=datetime(2030, 1, 1, 0, 5, tzinfo=UTC))


async def test_rounds_press_the_price_until_one_is_left() -> None:
    async with simulation_of("iterated_contract_net") as simulation:
        simulation.add(contractor, "p1")
        simulation.add(cheap_contractor, "p2")
        simulation.add(contractor_at(95.0, 50.0), "p3")
        simulation.add(initiator, "i")
        contract = await simulation.start(CALL, as_agent="i")
        result = await contract.result()
        assert result["accepted"] == ["p2"]
        rounds = [each for each in simulation.received("i") if each.type == "RoundClosed"]
        assert [each.payload["round"] for each in rounds] == [1, 2]
        assert "RejectProposal" in [each.type for each in simulation.received("p1")]


async def test_contractors_below_whose_floor_the_price_falls_refuse() -> None:
    async with simulation_of("iterated_contract_net") as simulation:
        for name in ("p1", "p2", "p3"):
            simulation.add(contractor_at(100.0, 95.0), name)
        simulation.add(initiator, "i")
        contract = await simulation.start(CALL, as_agent="i")
        with pytest.raises(InstanceFailed, match="unawarded"):
            await contract.result()


async def test_the_silent_are_left_out() -> None:
    async with simulation_of("iterated_contract_net") as simulation:
        simulation.add(contractor, "p1")
        simulation.add(silent("IteratedContractNet", "Participant", capabilities=("contract",)), "p2")
        simulation.add(initiator, "i")
        contract = await simulation.start(CALL, as_agent="i")
        assert contract.state == "proposing"
        assert (await contract.result())["accepted"] == ["p1"]
