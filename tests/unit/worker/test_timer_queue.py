"""The order in which instances need attention."""

from __future__ import annotations

from strabo_runtime.worker.timer_queue import TimerQueue


def test_the_earliest_comes_first() -> None:
    queue = TimerQueue()
    queue.set("late", 20)
    queue.set("early", 10)

    assert queue.first() == (10, "early")


def test_an_instance_has_one_entry_the_one_set_last() -> None:
    queue = TimerQueue()
    queue.set("a", 10)
    queue.set("a", 30)
    queue.set("b", 20)

    assert queue.first() == (20, "b")


def test_an_entry_that_was_taken_out_does_not_come_up() -> None:
    queue = TimerQueue()
    queue.set("a", 10)
    queue.set("a", None)

    assert queue.first() is None


def test_setting_the_same_time_again_changes_nothing() -> None:
    queue = TimerQueue()
    queue.set("a", 10)
    queue.set("a", None)
    queue.set("a", 10)

    assert queue.first() == (10, "a")


def test_superseded_entries_do_not_pile_up() -> None:
    queue = TimerQueue()
    for number in range(50_000):
        queue.set("again", 1_000_000 + number)
        queue.set(f"ended {number}", 1_000_000)
        queue.set(f"ended {number}", None)

    assert len(queue._heap) < 5_000
    assert queue.first() == (1_049_999, "again")
