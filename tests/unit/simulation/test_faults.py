"""Faults in a simulation: each is injected, and none of them loses or doubles an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from strabo_agents import Agent, Conversation, Message
from strabo_agents.json_types import JsonObject
from strabo_runtime.testing import Faults, SimulatedInstance, Simulation
from tests.unit.simulation.ledger import Clerks, expected_entries, ledger

LEDGER = ledger()
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a run."""

    entries: list[list[tuple[int, str]]]
    injected: dict[str, int]
    story: tuple[str, ...]
    clerks: Clerks
    dead_letters: int


async def played(faults: Faults | None, *, instances: int = 3) -> Played:
    clerks = Clerks()
    async with Simulation(LEDGER, faults=faults) as simulation:
        for name in ("k1", "k2", "k3"):
            simulation.add(clerks.agent, name)
        begun = [await simulation.start(("Open", {"rounds": ROUNDS}), as_agent="o") for _ in range(instances)]
        results = [await instance.result() for instance in begun]
        return Played(
            [entries_of(result) for result in results],
            {str(kind): count for kind, count in simulation.injected.items()},
            simulation.story,
            clerks,
            len(simulation.dead_letters),
        )


def entries_of(result: JsonObject) -> list[tuple[int, str]]:
    entries: Any = result["entries"]
    return sorted((entry["round"], entry["clerk"]) for entry in entries)


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        ("lost", Faults(seed=1, lost=0.4)),
        ("doubled", Faults(seed=1, doubled=0.4)),
        ("delayed", Faults(seed=1, delayed=0.5, delay="PT10M")),
        ("reordered", Faults(seed=1, reordered=0.5)),
        ("silent", Faults(seed=1, silent=0.3)),
        ("crashing", Faults(seed=1, crashing=0.4)),
        ("restarts", Faults(seed=1, restarts=0.4)),
    ],
)
async def test_a_fault_is_injected_and_every_effect_is_there_once(kind: str, faults: Faults) -> None:
    run = await played(faults)
    assert run.injected[kind] > 3
    assert run.entries == [expected_entries(ROUNDS)] * 3
    assert run.dead_letters == 0


@pytest.mark.parametrize("seed", range(8))
async def test_all_faults_together_lose_and_double_nothing(seed: int) -> None:
    run = await played(
        Faults(
            seed=seed,
            lost=0.15,
            doubled=0.15,
            delayed=0.2,
            reordered=0.2,
            silent=0.02,
            crashing=0.15,
            restarts=0.15,
        )
    )
    assert run.entries == [expected_entries(ROUNDS)] * 3


async def test_the_same_seed_gives_the_same_story_byte_for_byte() -> None:
    faults = Faults(seed=5, lost=0.2, doubled=0.2, delayed=0.3, reordered=0.3, crashing=0.2, restarts=0.2)
    one, other = await played(faults), await played(faults)
    assert "\n".join(one.story).encode() == "\n".join(other.story).encode()
    assert one.injected == other.injected


async def test_another_seed_gives_another_story() -> None:
    assert (await played(Faults(seed=1, delayed=0.5))).story != (
        await played(Faults(seed=2, delayed=0.5))
    ).story


async def test_without_faults_nothing_is_injected() -> None:
    assert (await played(None)).injected == {}


async def test_what_is_lost_is_sent_again_in_simulated_time() -> None:
    clerks = Clerks()
    async with Simulation(LEDGER, faults=Faults(seed=0, lost=1.0, resend="PT7S")) as simulation:
        simulation.add(clerks.agent, "k1")
        begun = simulation.now
        instance = await simulation.start(("Open", {"rounds": 5}), as_agent="o", roles={"Clerk": ["k1"]})
        await instance.result()
        assert (simulation.now - begun).total_seconds() % 7 == 0
        assert simulation.now > begun


async def test_a_doubled_message_is_handled_once() -> None:
    run = await played(Faults(seed=3, doubled=1.0))
    assert set(run.clerks.runs.values()) == {1}


async def test_a_handler_runs_again_when_its_agent_died_before_it_was_done() -> None:
    run = await played(Faults(seed=1, crashing=0.5))
    assert max(run.clerks.runs.values()) > 1


async def test_what_two_parties_say_to_each_other_stays_in_order() -> None:
    agent, seen = Agent(), list[int]()

    @agent.role("Ledger", "Clerk").on("Ask")
    async def enter(ask: JsonObject, conversation: Conversation) -> Message:
        number = ask["round"]
        assert isinstance(number, int)
        seen.append(number)
        return Message("Entry", {"round": number, "clerk": conversation.agent_id})

    async with Simulation(LEDGER, faults=Faults(seed=2, reordered=1.0, delayed=0.5)) as simulation:
        simulation.add(agent, "k1")
        await (await simulation.start(("Open", {"rounds": 6}), as_agent="o")).result()
    assert seen == [1, 2, 3, 4, 5, 6]


async def entered_in_order(faults: Faults) -> list[str]:
    """Whose entries came first, when one clerk has messages of five instances to answer."""
    clerks = Clerks()
    async with Simulation(LEDGER, faults=faults) as simulation:
        simulation.add(clerks.agent, "k1")
        simulation.silence("k1")
        for _ in range(5):
            await simulation.start(("Open", {"rounds": 1}), as_agent="o")
        await simulation.wake("k1")
        return [line.split(":")[0] for line in simulation.story if "k1 sends Entry" in line]


async def test_messages_of_different_instances_stay_in_order_unless_reordered() -> None:
    assert await entered_in_order(Faults(seed=4)) == [f"instance-{number}" for number in range(1, 6)]


async def test_reordered_messages_are_overtaken_by_those_of_other_instances() -> None:
    mixed = await entered_in_order(Faults(seed=4, reordered=0.6))
    assert mixed != sorted(mixed)
    assert sorted(mixed) == [f"instance-{number}" for number in range(1, 6)]


async def test_a_silent_agent_takes_everything_later() -> None:
    clerks = Clerks()
    async with Simulation(LEDGER) as simulation:
        for name in ("k1", "k2"):
            simulation.add(clerks.agent, name)
        simulation.silence("k2", "PT1H")
        instance = await simulation.start(("Open", {"rounds": 1}), as_agent="o")
        assert owing(instance) == {"k2"}
        await simulation.advance("PT1H")
        assert instance.status == "success"


async def test_an_agent_that_stays_silent_is_skipped_as_the_protocol_says() -> None:
    clerks = Clerks()
    async with Simulation(LEDGER) as simulation:
        for name in ("k1", "k2"):
            simulation.add(clerks.agent, name)
        simulation.silence("k2")
        instance = await simulation.start(("Open", {"rounds": 1}), as_agent="o")
        await instance.result()
        assert instance.roles["Clerk"] == ("k1",)


async def test_a_woken_agent_takes_what_waited_for_it() -> None:
    clerks = Clerks()
    async with Simulation(LEDGER) as simulation:
        simulation.add(clerks.agent, "k1")
        simulation.silence("k1")
        instance = await simulation.start(("Open", {"rounds": 1}), as_agent="o")
        assert owing(instance) == {"k1"}
        await simulation.wake("k1")
        assert instance.status == "success"


async def test_every_fault_stands_in_the_story() -> None:
    run = await played(Faults(seed=1, crashing=0.4))
    told = [line for line in run.story if "fault: crashing: k" in line]
    assert len(told) == run.injected["crashing"]


@pytest.mark.parametrize("values", [{"lost": 1.5}, {"doubled": -0.1}, {"resend": "-PT1S"}])
def test_a_likelihood_or_a_duration_that_cannot_be_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        Faults(**values)


def owing(instance: SimulatedInstance) -> set[str]:
    return {debt.agent for debt in instance._now.pending}
