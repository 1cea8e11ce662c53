"""The example agents of the code review play it to its end."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.code_review import InitiateReview, initiator, reviewer, strict_reviewer
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

CHANGE = InitiateReview(pr_url="https://example.org/pr/7", diff_content="+ eval(text)")


async def test_reviewers_who_agree_end_it() -> None:
    async with simulation_of("code_review") as simulation:
        for name in ("r1", "r2", "r3"):
            simulation.add(reviewer, name)
        simulation.add(initiator, "ci")
        review = await simulation.start(CHANGE, as_agent="ci")
        assert await review.result() == {"outcome": "approve"}
        [completed] = simulation.received("ci")
        assert len(completed.payload["findings"]) == 3


async def test_reviewers_who_differ_need_a_person() -> None:
    async with simulation_of("code_review") as simulation:
        simulation.add(reviewer, "r1")
        simulation.add(reviewer, "r2")
        simulation.add(strict_reviewer, "r3")
        review = await simulation.start(CHANGE, as_agent="ci")
        assert review.state == "arbitration_pending"
        await review.send(
            ("MakeArbitration", {"decision": "request_changes"}), as_agent="human:arbitrator", user="ann"
        )
        assert await review.result() == {"outcome": "request_changes"}


async def test_silent_reviewers_fail_it() -> None:
    async with simulation_of("code_review") as simulation:
        simulation.add(reviewer, "r1")
        for name in ("r2", "r3"):
            simulation.add(silent("MultiAgentCodeReview", "reviewer", capabilities=("code_review",)), name)
        review = await simulation.start(CHANGE, as_agent="ci")
        with pytest.raises(InstanceFailed):
            await review.result()
        assert len(simulation.received("r2")) == 3  # the request and two reminders
