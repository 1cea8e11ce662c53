"""What an instance waits for, from whom, since when, and what to try."""

from __future__ import annotations

from dataclasses import replace

from strabo_avro.records import Envelope
from strabo_runtime.engine.instance import Incident
from strabo_runtime.waiting import Waiting, waiting
from tests.unit.engine.driver import MINUTE, T0, Driver, shipped
from tests.unit.worker.family import FamilyBench, begin, say
from tests.unit.worker.kit import NOON

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


# -- children, questions, deferred messages ---------------------------------------------------------------------------


def parent(*said: Envelope) -> Waiting:
    """What a parent of two children waits for after these messages."""
    bench = FamilyBench()
    bench.take(begin("p", [3, 4]), *said)
    held = bench.runner.holdings.find("p")
    assert held is not None
    return waiting(held.machine, held.instance, NOON)


def test_running_children_are_waited_for_by_name_and_id() -> None:
    answer = parent()

    assert [child.id for child in answer.children] == ["p:1:child:0", "p:1:child:1"]
    assert "the end of child part (p:1:child:0)" in [item.what for item in answer.awaited]
    assert answer.likely_cause == "it waits for child part, and 1 more"
    assert answer.advice == "strabo instances show p:1:child:0"


def test_a_child_that_is_being_cancelled_is_said_to_be() -> None:
    answer = parent(say("p", "Stop", {}))

    assert "the end of child part (p:1:child:0), which was asked to cancel" in [
        item.what for item in answer.awaited
    ]


def test_an_open_question_to_the_directory_points_at_the_worker() -> None:
    answer = parent(say("p", "Ask", {"count": 2}))

    assert "2 more for Judge, sought in the agent directory" in [item.what for item in answer.awaited]
    assert answer.likely_cause == "the agent directory has not been asked for Judge yet"
    assert "strabo run worker" in answer.advice


def test_deferred_messages_are_named_in_the_order_in_which_they_came() -> None:
    answer = parent(say("p", "Note", {"number": 1}, id="a"), say("p", "Note", {"number": 2}, id="b"))

    assert answer.deferred == ("Note", "Note")
