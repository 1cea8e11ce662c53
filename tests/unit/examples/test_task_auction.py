"""The example agents of the task auction play it to its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.demo.messages import TaskAnnouncement
from strabo_runtime.examples.task_auction import cheap_solver, client, solver
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

PROTOCOL = "DistributedTaskAuction"


def task(spec: dict[str, object]) -> TaskAnnouncement:
    return TaskAnnouncement(
        task_id="t1",
        spec=spec,
        budget=100.0,
        deadline=datetime(2030, 2, 1, tzinfo=UTC),
        bidding_duration=timedelta(minutes=5),
    )


async def test_the_cheaper_solver_wins_and_the_client_agrees() -> None:
    async with simulation_of("task_auction") as simulation:
        simulation.add(solver, "s1")
        simulation.add(cheap_solver, "s2")
        simulation.add(client, "c1")
        auction = await simulation.start(task({"size": 8}), as_agent="c1")
        await simulation.advance("PT5M")
        assert auction.state == "Completed"
        assert await auction.result() == {"winner": "s2", "cost": 72.0}


async def test_a_task_beyond_everybodys_price_is_cancelled() -> None:
    async with simulation_of("task_auction") as simulation:
        simulation.add(solver, "s1")
        auction = await simulation.start(task({"size": 11}), as_agent="c1")
        assert [refusal.constraints for refusal in simulation.refusals] == [("bid_within_budget",)]
        with pytest.raises(InstanceFailed):
            await auction.result()


async def test_a_task_without_a_size_is_dead_lettered() -> None:
    async with simulation_of("task_auction") as simulation:
        simulation.add(solver, "s1")
        await simulation.start(task({}), as_agent="c1")
        assert "a task needs a size" in simulation.dead_letters[0].reason


async def test_silent_solvers_leave_it_without_a_winner() -> None:
    async with simulation_of("task_auction") as simulation:
        simulation.add(silent(PROTOCOL, "Solver", capabilities=("solve",)), "s1")
        auction = await simulation.start(task({"size": 8}), as_agent="c1")
        with pytest.raises(InstanceFailed, match="Cancelled"):
            await auction.result()
