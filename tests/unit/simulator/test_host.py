"""The in-memory host: many instances under one simulated clock."""

from __future__ import annotations

from strabo_runtime.simulator import Clock, Host
from strabo_runtime.simulator.clock import START
from tests.unit.engine.driver import MINUTE, shipped

AUCTION = shipped("task_auction")


def announced(host: Host, instance_id: str, minutes: int) -> None:
    payload = {
        "task_id": instance_id,
        "spec": {},
        "budget": 10,
        "deadline": "2030-01-02T00:00:00Z",
        "bidding_duration": f"PT{minutes}M",
    }
    assert host.start(instance_id, host.message("c", "TaskAnnouncement", payload)).verdict == "taken"


def test_timers_of_all_instances_fire_in_order_of_time() -> None:
    host = Host(AUCTION, {"Solver": ("s1", "s2")})
    announced(host, "late", 10)
    announced(host, "early", 5)
    fired = host.advance(START + 20 * MINUTE)
    assert [made.before.id for made in fired if made.before is not None] == ["early", "late"]
    assert host.clock.now == START + 20 * MINUTE


def test_the_directory_binds_what_a_start_needs() -> None:
    host = Host(AUCTION, {"Solver": ("s1", "s2")})
    announced(host, "one", 5)
    assert host.instances["one"].roles["Solver"] == ("s1", "s2")


def test_the_clock_never_goes_back() -> None:
    clock = Clock()
    clock.move_to(START + 5)
    clock.move_to(START)
    assert clock.now == START + 5
    assert str(clock) == "2030-01-01T00:00:00.005Z"


def test_every_step_is_told_in_order() -> None:
    told = []
    host = Host(AUCTION, {"Solver": ("s1",)}, on_step=told.append)
    announced(host, "one", 5)
    host.advance(START + 5 * MINUTE)
    assert told == host.steps
    assert host.next_due() is None


def test_what_is_overdue_fires_before_a_message_and_what_is_due_now_after_it() -> None:
    host = Host(AUCTION, {"Solver": ("s1",)})
    announced(host, "one", 5)
    host.clock.move_to(START + 5 * MINUTE)
    bid = {"task_id": "one", "solver_id": "s1", "proposal": {}, "cost": 1, "time_estimate": "PT1H"}
    assert host.send("one", host.message("s1", "BidSubmission", bid)).verdict == "taken"
    host.clock.move_to(START + 5 * MINUTE + 1)
    assert host.send("one", host.message("s1", "BidSubmission", bid)).verdict == "rejected"
    assert host.instances["one"].state == "Awarded"
