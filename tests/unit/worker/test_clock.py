"""What a worker knows of the broker's time."""

from __future__ import annotations

import pytest

from strabo_runtime.worker.clock import SAMPLES, Clock
from strabo_runtime.worker.errors import ClockSkewed


class Times(Clock):
    """This machine's two clocks, as they are set."""

    def __init__(self) -> None:
        super().__init__(tolerance=5_000)
        self.wall = 1_000_000
        self.steady = 50

    def now(self) -> int:
        return self.wall

    def ticks(self) -> int:
        return self.steady

    def pass_by(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.steady += milliseconds


def test_before_the_first_stamp_nothing_is_known() -> None:
    assert Times().broker_at_least() is None


def test_the_estimate_never_runs_ahead_of_the_stamp_by_the_time_since_its_arrival() -> None:
    clock = Times()
    clock.pass_by(40)

    clock.observe(sent=1_000_000, stamped=1_000_010)
    clock.pass_by(5)

    assert clock.broker_at_least() == 1_000_015


def test_the_best_of_the_latest_stamps_is_kept() -> None:
    clock = Times()
    clock.observe(1_000_000, 999_990)
    clock.observe(1_000_000, 1_000_000)
    clock.observe(1_000_000, 999_995)

    assert clock.broker_at_least() == 1_000_000


def test_old_stamps_are_forgotten() -> None:
    clock = Times()
    clock.observe(1_000_000, 1_000_000)
    for _ in range(SAMPLES):
        clock.observe(1_000_000, 999_990)

    assert clock.broker_at_least() == 999_990


def test_setting_this_machines_clock_does_not_move_the_estimate() -> None:
    clock = Times()
    clock.observe(1_000_000, 1_000_000)

    clock.wall += 3_600_000

    assert clock.broker_at_least() == 1_000_000


def test_a_topic_without_broker_time_tells_nothing() -> None:
    clock = Times()

    clock.observe(1_000_000, -1)

    assert clock.broker_at_least() is None


@pytest.mark.parametrize(("stamped", "way"), [(994_999, "ahead of"), (1_005_001, "behind")])
def test_a_clock_that_is_too_far_off_is_refused(stamped: int, way: str) -> None:
    with pytest.raises(ClockSkewed, match=f"5.0 s {way} the broker's"):
        Times().observe(1_000_000, stamped)


def test_a_slow_answer_is_no_difference_between_clocks() -> None:
    clock = Times()
    clock.pass_by(20_000)

    clock.observe(sent=1_000_000, stamped=1_000_001)

    assert clock.broker_at_least() == 1_000_001


def test_a_broker_whose_clock_was_set_back_is_believed_after_a_while() -> None:
    clock = Times()
    clock.observe(clock.wall, clock.wall)

    clock.pass_by(60_000)
    clock.observe(clock.wall, clock.wall - 3_000)
    before = clock.broker_at_least()
    clock.pass_by(70_000)

    assert (before, clock.broker_at_least()) == (1_060_000, clock.wall - 3_000)


def test_the_newest_stamp_is_kept_however_old() -> None:
    clock = Times()
    clock.observe(clock.wall, clock.wall)

    clock.pass_by(10_000_000)

    assert clock.broker_at_least() == clock.wall
