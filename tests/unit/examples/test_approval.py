"""The example agent of the approval plays it to its end, with people."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed, Rejected
from strabo_runtime.examples.approval import requester
from tests.unit.examples.support import simulation_of

pytestmark = pytest.mark.slow

VAN = ("RequestApproval", {"subject": "a new van", "amount": 40000.0})
LAPTOP = ("RequestApproval", {"subject": "a laptop", "amount": 1500.0})
YES = ("Decision", {"approved": True})


async def test_two_people_approve_a_large_amount() -> None:
    async with simulation_of("approval") as simulation:
        simulation.add(requester, "bot")
        approval = await simulation.start(VAN, as_agent="bot")
        await approval.send(YES, as_agent="human:Approver", user="ann")
        with pytest.raises(Rejected, match="two people"):
            await approval.send(YES, as_agent="human:Manager", user="ann")
        await approval.send(YES, as_agent="human:Manager", user="bob")
        assert await approval.result() == {"approved": True, "decided_by": "Manager"}


async def test_silence_takes_it_to_the_manager_who_refuses() -> None:
    async with simulation_of("approval") as simulation:
        simulation.add(requester, "bot")
        approval = await simulation.start(LAPTOP, as_agent="bot")
        await simulation.advance("PT24H")
        assert len(simulation.received("human:Approver")) == 3  # the task and two reminders
        await approval.send(
            ("Decision", {"approved": False, "comment": "next year"}), as_agent="human:Manager", user="bob"
        )
        [outcome] = simulation.received("bot")
        assert outcome.payload["verdict"] == {"approved": False, "comment": "next year"}
        assert await approval.result() == {"approved": False, "decided_by": "Manager"}


async def test_when_nobody_answers_it_fails() -> None:
    async with simulation_of("approval") as simulation:
        simulation.add(requester, "bot")
        approval = await simulation.start(LAPTOP, as_agent="bot")
        with pytest.raises(InstanceFailed, match="unanswered"):
            await approval.result()
