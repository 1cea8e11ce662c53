"""The example agents of the code review with arbitration play it to its end."""

from __future__ import annotations

import pytest

from strabo_runtime.examples.code_review_with_arbitration import (
    InitiateReview,
    initiator,
    reviewer,
    strict_reviewer,
)
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

LONG = InitiateReview(pr_url="https://example.org/pr/8", diff_content="+\n" * 50)


async def test_a_person_settles_a_disagreement_in_the_child() -> None:
    async with simulation_of("code_review_with_arbitration") as simulation:
        simulation.add(reviewer, "r1")
        simulation.add(reviewer, "r2")
        simulation.add(strict_reviewer, "r3")
        simulation.add(initiator, "ci")
        review = await simulation.start(LONG, as_agent="ci")
        assert review.state == "arbitrating"
        [request] = simulation.received("human:arbitrator")
        assert request.instance_id != review.instance_id
        await simulation.send(
            request.instance_id,
            ("ArbitrationDecision", {"decision": "approve", "reason": "it is generated"}),
            as_agent="human:arbitrator",
            user="ann",
        )
        assert await review.result() == {"outcome": "approve", "reason": "it is generated"}


async def test_without_a_decision_changes_are_requested() -> None:
    async with simulation_of("code_review_with_arbitration") as simulation:
        for agent, name in ((reviewer, "r1"), (reviewer, "r2"), (strict_reviewer, "r3")):
            simulation.add(agent, name)
        review = await simulation.start(LONG, as_agent="ci")
        result = await review.result()
        assert result["outcome"] == "request_changes"
        assert "expired" in str(result["reason"])


async def test_a_silent_reviewer_is_replaced_by_one_who_answers() -> None:
    async with simulation_of("code_review_with_arbitration") as simulation:
        simulation.add(silent("CodeReviewWithArbitration", "reviewer", capabilities=("code_review",)), "r0")
        for name in ("r1", "r2", "r3"):
            simulation.add(reviewer, name)
        review = await simulation.start(LONG, as_agent="ci", roles={"reviewer": ["r0", "r1", "r2"]})
        assert await review.result() == {"outcome": "approve", "reason": None}
        assert [each.type for each in simulation.received("r3")] == ["InitiateReview", "ReviewCompleted"]
