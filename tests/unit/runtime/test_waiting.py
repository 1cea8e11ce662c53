"""What an instance waits for, from whom, since when, and what to try."""

from __future__ import annotations

from dataclasses import replace

from strabo_runtime.engine.instance import Incident
from strabo_runtime.waiting import waiting
from tests.unit.engine.driver import MINUTE, T0, Driver, shipped

REVIEW = {"pr_url": "u", "diff_content": "d"}
FINDINGS = {"findings": [], "overall_status": "approve"}
TASK = {
    "task_id": "t",
    "spec": {},
    "budget": 100.0,
    "deadline": "2031-01-01T00:00:00Z",
    "bidding_duration": "PT5M",
}


def review() -> Driver:
    driver = Driver(shipped("code_review"))
    driver.start("InitiateReview", REVIEW, sender="ci", bound={"reviewer": ("r1", "r2", "r3")})
    return driver


def test_silent_agents_are_named_with_the_time_their_debt_lapses() -> None:
    driver = review()
    driver.send("r2", "SubmitReview", FINDINGS)
    answer = waiting(driver.machine, driver.it, T0 + MINUTE)
    first = answer.awaited[0]
    assert first.what == "SubmitReview"
    assert first.agents == ("r1", "r3")
    assert first.owed
    assert (first.since, first.due) == (T0, T0 + 30 * MINUTE)
    assert answer.deadline == T0 + 60 * MINUTE
    assert answer.likely_cause == "r1, r3 owe SubmitReview"


def test_messages_that_would_move_it_name_who_may_send_them() -> None:
    answer = waiting(review().machine, review().it, T0)
    taken = {item.what: item.agents for item in answer.awaited if not item.owed}
    assert taken["RequestArbitration"] == ("r1", "r2", "r3")
    assert "MakeArbitration" not in taken


def test_a_timer_that_is_overdue_points_at_the_worker() -> None:
    driver = Driver(shipped("task_auction"))
    driver.start("TaskAnnouncement", TASK, sender="c", bound={"Solver": ("s1",)})
    answer = waiting(driver.machine, driver.it, T0 + 10 * MINUTE)
    assert "bidding_timer is due" in answer.likely_cause
    assert "strabo run worker" in answer.advice


def test_what_a_person_owes_can_be_sent_with_the_line_that_is_shown() -> None:
    driver = review()
    driver.send("r1", "RequestArbitration", {"conflict_finding_id": "f", "reason": "r"})
    answer = waiting(driver.machine, driver.it, T0)
    assert answer.likely_cause == "nobody has sent MakeArbitration or SubmitReview yet"
    assert answer.advice == "strabo send i1 MakeArbitration --as human:arbitrator --payload '{...}'"


def test_an_incident_comes_before_all_else() -> None:
    driver = review()
    broken = replace(driver.it, incidents=(Incident("m7", T0, "division by zero"),))
    answer = waiting(driver.machine, broken, T0)
    assert "m7 failed: division by zero" in answer.likely_cause


def test_a_finished_instance_waits_for_nothing() -> None:
    driver = Driver(shipped("task_auction"))
    driver.start("TaskAnnouncement", TASK, sender="c", bound={"Solver": ("s1",)})
    driver.send("c", "TaskCancellation", {"task_id": "t"})
    answer = waiting(driver.machine, driver.it, T0)
    assert answer.awaited == ()
    assert "failure" in answer.likely_cause
