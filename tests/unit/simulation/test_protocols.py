"""Simulations of several protocols: children, inputs, people, who may be found, cancelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_agents import Agent, AgentsError, Conversation, InstanceFailed, Message, Rejected
from strabo_agents.json_types import JsonObject
from strabo_runtime.testing import Faults, Simulation
from tests.unit.simulator.test_children import CHILD, PARENT


@pytest.fixture
def parent_file(tmp_path: Path) -> Path:
    path = tmp_path / "parent.yaml"
    path.write_text(PARENT)
    (tmp_path / "part.yaml").write_text(CHILD)
    return path


def maker(count: int = 7, *, half: bool = False) -> Agent:
    agent = Agent()
    worker = agent.role("Parent", "Worker")
    assert worker.name == "Worker"

    @agent.role("Part", "Maker").on("Make")
    async def make(job: JsonObject, conversation: Conversation) -> list[Message]:
        news = [Message("Half", {})] if half else []
        return [*news, Message("Made", {"count": count})]

    return agent


async def test_children_are_played_by_real_agents(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        simulation.add(maker(), "w1")
        parent = await simulation.start(("Go", {"size": 2}), as_agent="b")
        assert await parent.result() == {"got": 7}
        [child] = parent.children("part")
        assert (child.status, child.variables["size"]) == ("success", 2)


@pytest.mark.parametrize("seed", range(6))
async def test_a_child_is_started_once_and_ends_once_under_faults(parent_file: Path, seed: int) -> None:
    faults = Faults(seed=seed, lost=0.3, doubled=0.5, delayed=0.5, reordered=0.5, crashing=0.3, restarts=0.3)
    async with Simulation(parent_file, faults=faults) as simulation:
        simulation.add(maker(half=True), "w1")
        parents = [await simulation.start(("Go", {"size": 2}), as_agent="b") for _ in range(3)]
        assert [await parent.result() for parent in parents] == [{"got": 7}] * 3
        assert [parent.variables["heard"] for parent in parents] == [1, 1, 1]
        assert len(simulation.host.instances) == 6


async def test_a_child_that_nobody_plays_fails_and_tells(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        agent = Agent()
        agent.role("Parent", "Worker")
        simulation.add(agent, "w1")
        parent = await simulation.start(("Go", {"size": 2}), as_agent="b")
        with pytest.raises(InstanceFailed):
            await parent.result()
        assert parent.variables["why"] == "too slow"


async def test_a_parent_may_cancel_its_child(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        agent = Agent()
        agent.role("Parent", "Worker")
        simulation.add(agent, "w1")
        parent = await simulation.start(("Go", {"size": 2}), as_agent="b")
        await parent.send(("Stop", {}), as_agent="b")
        assert (parent.state, parent.variables["why"]) == ("undone", "cancelled")


async def test_an_operator_may_cancel(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        simulation.add(maker(), "w1")
        simulation.silence("w1")
        parent = await simulation.start(("Go", {"size": 2}), as_agent="b")
        await parent.cancel("enough")
        assert (parent.status, parent.error) == ("failure", "cancelled")
        assert [child.status for child in parent.children("part")] == ["failure"]


async def test_any_protocol_may_be_started_without_a_message_and_with_inputs(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        simulation.add(maker(count=3), "w1")
        part = await simulation.start(as_agent="b", protocol="Part", inputs={"size": 5})
        assert await part.result() == {"made": 3}
        [job] = simulation.received("w1")
        assert job.payload == {"size": 5}


async def test_a_start_without_a_required_input_is_refused(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        simulation.add(maker(), "w1")
        with pytest.raises(Rejected, match="size") as refused:
            await simulation.start(as_agent="b", protocol="Part@1")
        assert refused.value.by == "schema"


async def test_a_protocol_that_is_not_there_is_named_with_those_that_are(parent_file: Path) -> None:
    async with Simulation(parent_file) as simulation:
        with pytest.raises(AgentsError, match=r"no protocol Prat.*Parent@1, Part@1"):
            await simulation.start(as_agent="b", protocol="Prat")


def test_a_simulation_needs_a_protocol() -> None:
    with pytest.raises(AgentsError, match="needs a protocol"):
        Simulation()


REPLACING = """
protocol: Replacing
version: "1"
participants:
  - {name: Boss}
  - {name: Desk, played_by: engine}
  - {name: Worker, count: 1, capabilities: [work]}
  - {name: Judge, played_by: human}
message_types:
  Go: {from: Boss, to: Desk, payload: {}}
  Job: {from: Desk, to: Worker, payload: {}}
  Done: {from: Worker, to: Desk, payload: {}}
  Look: {from: Desk, to: Judge, payload: {}}
  Fine: {from: Judge, to: Desk, payload: {}}
variables: {by: {type: "string?"}, judged_by: {type: "string?"}}
states:
  - idle
  - name: working
    on_entry: [{send: {message: Job, payload: {}}}]
    expects: [{message: Done, from: Worker, within: PT10M, on_timeout: replace}]
  - name: judging
    on_entry: [{send: {message: Look, payload: {}}}]
  - {name: over, final: success}
transitions:
  - {from: idle, to: working, trigger: {message: Go}}
  - from: working
    to: judging
    trigger: {message: Done}
    actions: [{set_variable: {name: by, value: $message.from}}]
  - from: judging
    to: over
    trigger: {message: Fine}
    actions: [{set_variable: {name: judged_by, value: $message.user}}]
result: {by: $by, judged_by: $judged_by}
"""


async def test_a_silent_agent_is_replaced_by_one_of_the_same_capabilities(tmp_path: Path) -> None:
    path = tmp_path / "replacing.yaml"
    path.write_text(REPLACING)
    able, unable = Agent(capabilities=["work"]), Agent()

    @able.role("Replacing", "Worker").on("Job")
    async def work(job: JsonObject, conversation: Conversation) -> Message:
        return Message("Done", {})

    unable.role("Replacing", "Worker")
    async with Simulation(path) as simulation:
        simulation.add(able, "w1")
        simulation.add(unable, "w2")
        simulation.add(able, "w3")
        simulation.silence("w1")
        instance = await simulation.start(("Go", {}), as_agent="b")
        await simulation.advance("PT10M")
        assert instance.roles["Worker"] == ("w3",)
        await instance.send(("Fine", {}), as_agent="human:Judge", user="ann")
        assert await instance.result() == {"by": "w3", "judged_by": "ann"}
