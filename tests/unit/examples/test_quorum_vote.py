"""The example agents of the quorum vote play it to its end."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.quorum_vote import chair, sceptic, voter
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

MOTION = ("PutMotion", {"motion": "adopt the budget"})


async def test_a_majority_carries_the_motion() -> None:
    async with simulation_of("quorum_vote") as simulation:
        for agent, name in ((voter, "v1"), (voter, "v2"), (sceptic, "v3"), (chair, "chair")):
            simulation.add(agent, name)
        vote = await simulation.start(MOTION, as_agent="chair")
        assert await vote.result() == {"carried": True, "votes": 3}
        [result] = simulation.received("chair")
        assert result.payload["votes_against"] == 1


async def test_late_joiners_turn_the_vote() -> None:
    async with simulation_of("quorum_vote") as simulation:
        for name in ("v1", "v2"):
            simulation.add(voter, name)
        vote = await simulation.start(MOTION, as_agent="chair")
        for name in ("late", "later", "latest"):
            simulation.add(sceptic, name)
            await vote.send(("Join", {}), as_agent=name)
        assert await vote.result() == {"carried": False, "votes": 5}


async def test_silent_voters_are_made_up_for_by_others_from_the_directory() -> None:
    async with simulation_of("quorum_vote") as simulation:
        simulation.add(voter, "v1")
        simulation.add(silent("QuorumVote", "Voter"), "v2")
        vote = await simulation.start(MOTION, as_agent="chair")
        for name in ("v3", "v4"):
            simulation.add(voter, name)
        assert await vote.result() == {"carried": True, "votes": 3}


async def test_without_enough_voters_there_is_no_quorum() -> None:
    async with simulation_of("quorum_vote") as simulation:
        simulation.add(voter, "v1")
        simulation.add(silent("QuorumVote", "Voter"), "v2")
        vote = await simulation.start(MOTION, as_agent="chair")
        with pytest.raises(InstanceFailed, match="inquorate"):
            await vote.result()
