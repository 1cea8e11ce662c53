"""Recorded steps as lines, and played again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.replaying import replay_records
from strabo_runtime.step_view import StepView, view_line
from tests.unit.engine.driver import MINUTE, Driver, shipped
from tests.unit.runtime.test_waiting import TASK

BID = {"task_id": "t", "proposal": {}, "time_estimate": "PT1H"}


@pytest.fixture
def auction() -> Driver:
    """An auction from its start to its end, with one refusal."""
    driver = Driver(shipped("task_auction"))
    driver.start("TaskAnnouncement", TASK, sender="c", bound={"Solver": ("s1", "s2")})
    driver.send("s1", "BidSubmission", {**BID, "solver_id": "s1", "cost": 120.0})
    driver.send("s2", "BidSubmission", {**BID, "solver_id": "s2", "cost": 80.0})
    driver.advance(5 * MINUTE)
    driver.send("c", "AssignmentAcknowledgement", {"task_id": "t"})
    return driver


def recorded(driver: Driver) -> list[StepRecord]:
    machine = driver.machine
    return [
        journal.record(
            step,
            instance_id="i1",
            protocol=machine.name,
            version=machine.version,
            definition_hash=machine.hash,
            partition=0,
        )
        for step in driver.steps
    ]


def test_lines_tell_the_move_the_sender_and_the_effect(auction: Driver) -> None:
    views = [StepView.of(stored) for stored in recorded(auction)]
    assert [view.path for view in views] == [
        ("Idle", "BiddingOpen"),
        ("BiddingOpen",),
        ("BiddingOpen",),
        ("BiddingOpen", "BiddingClosed", "Awarded"),
        ("Awarded", "Completed"),
    ]
    assert [view.verdict for view in views] == ["taken", "rejected", "taken", "taken", "taken"]
    assert "A bid does not exceed the budget. (bid_within_budget)" in views[1].effect
    assert views[3].name == "bidding_timer"
    assert "(time)" in view_line(views[3])
    assert "BidWinNotification to s2" in views[3].effect
    assert [view.ends for view in views] == [False, False, False, False, True]
    assert all("\n" not in view_line(view) for view in views)


def test_a_whole_history_replays_to_the_same_result(auction: Driver) -> None:
    report = replay_records(auction.machine, "i1", recorded(auction))
    assert report.difference is None
    assert (report.steps, report.refusals) == (4, 1)
    assert report.instance is not None
    assert report.instance.state == "Completed"


def test_a_replay_stops_at_the_revision_that_was_asked_for(auction: Driver) -> None:
    report = replay_records(auction.machine, "i1", recorded(auction), at=2)
    assert report.instance is not None
    assert (report.instance.state, report.instance.revision) == ("BiddingOpen", 2)
    assert '"cost": 80.0' in "\n".join(report.lines())


def test_the_first_difference_is_named(auction: Driver) -> None:
    history = recorded(auction)
    history[2] = replace(history[2], changes=b"[]")
    report = replay_records(auction.machine, "i1", history)
    assert report.difference is not None
    assert str(report.difference) == (
        "input 3 (step 2) comes out otherwise: changes[0]: (nothing) recorded, [\"revision\",2] now"
    )
    assert (report.steps, report.refusals) == (1, 1)
