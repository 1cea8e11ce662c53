"""The example agents of the fan-out play it to its end, in the parent and in its children."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.fan_out import requester, worker
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow


def pieces(*numbers: object) -> tuple[str, dict[str, object]]:
    return "FanOutRequest", {"pieces": [{"n": number} for number in numbers]}


async def test_all_pieces_are_joined() -> None:
    async with simulation_of("fan_out") as simulation:
        simulation.add(worker, "w1")
        simulation.add(worker, "w2")
        simulation.add(requester, "r")
        work = await simulation.start(pieces(2, 3, 4), as_agent="r")
        result = await work.result()
        assert result["results"] == [{"square": 4}, {"square": 9}, {"square": 16}]
        assert [each.type for each in simulation.received("r")] == ["FanOutResult"]


async def test_the_first_is_enough_and_the_others_are_stopped() -> None:
    async with simulation_of("fan_out") as simulation:
        simulation.add(worker, "w1")
        work = await simulation.start(pieces(2, 3), as_agent="r", inputs={"join": "first"})
        assert (await work.result())["results"] == [{"square": 4}]


async def test_two_of_three_are_enough() -> None:
    async with simulation_of("fan_out") as simulation:
        simulation.add(worker, "w1")
        work = await simulation.start(pieces(2, "two", 3), as_agent="r", inputs={"join": "k_of_n", "k": 2})
        assert (await work.result())["results"] == [{"square": 4}, {"square": 9}]


async def test_one_piece_that_fails_is_too_many_for_all() -> None:
    async with simulation_of("fan_out") as simulation:
        simulation.add(worker, "w1")
        work = await simulation.start(pieces(2, "two"), as_agent="r")
        with pytest.raises(InstanceFailed):
            await work.result()


async def test_a_silent_worker_is_replaced_by_one_who_answers() -> None:
    async with simulation_of("fan_out") as simulation:
        simulation.add(silent("PieceOfWork", "Worker", capabilities=("work",)), "w0")
        work = await simulation.start(pieces(5), as_agent="r")
        simulation.add(worker, "w1")
        assert (await work.result())["results"] == [{"square": 25}]
