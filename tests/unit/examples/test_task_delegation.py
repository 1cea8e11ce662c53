"""The example agents of the task delegation play it to its end."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.task_delegation import requester, tools, worker
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

PROTOCOL = "SmartAgentProtocol"
REQUEST = {
    "task_id": "t1",
    "instructions": "count these words",
    "response_format": {
        "type": "object",
        "required": ["words"],
        "properties": {"words": {"type": "integer"}},
    },
}


async def test_the_worker_uses_the_tool_and_answers_in_the_format() -> None:
    async with simulation_of("task_delegation") as simulation:
        for agent, name in ((worker, "w1"), (tools, "tools"), (requester, "boss")):
            simulation.add(agent, name)
        task = await simulation.start(("task_request", REQUEST), as_agent="boss")
        assert await task.result() == {"output": {"words": 3}, "workers": 1, "tool_calls": 1}
        assert [each.type for each in simulation.received("boss")] == ["progress", "task_response"]


async def test_a_silent_worker_is_replaced_by_one_who_answers() -> None:
    async with simulation_of("task_delegation") as simulation:
        simulation.add(silent(PROTOCOL, "worker", capabilities=("task",)), "w0")
        simulation.add(worker, "w1")
        simulation.add(tools, "tools")
        task = await simulation.start(("task_request", REQUEST), as_agent="boss", roles={"worker": "w0"})
        assert (await task.result())["workers"] == 2


async def test_a_worker_that_cannot_meet_the_format_gives_up() -> None:
    wants_text = {**REQUEST, "response_format": {"type": "string"}}
    async with simulation_of("task_delegation") as simulation:
        simulation.add(worker, "w1")
        simulation.add(tools, "tools")
        task = await simulation.start(("task_request", wants_text), as_agent="boss")
        assert [refusal.constraints for refusal in simulation.refusals] == [("output_fits",)]
        with pytest.raises(InstanceFailed, match="abandoned"):
            await task.result()
        assert simulation.received("boss")[-1].type == "task_abandoned"


async def test_a_tool_that_stays_silent_makes_the_worker_give_up() -> None:
    async with simulation_of("task_delegation") as simulation:
        simulation.add(worker, "w1")
        simulation.add(silent(PROTOCOL, "tool_provider", capabilities=("tools",)), "tools")
        task = await simulation.start(("task_request", REQUEST), as_agent="boss")
        with pytest.raises(InstanceFailed):
            await task.result()
        failures = [each.payload for each in simulation.received("boss") if each.type == "task_failure"]
        assert failures == [{"reason": "the tool did not answer"}]
