"""Offsets looked up: the first, the next, and the first at or after a time."""

from __future__ import annotations

import time

import pytest

from tests.contracts.wire import EARLIEST, LATEST, READ_COMMITTED, Code, Log, Wire, batch

# Younger than the retention time of a topic.
START = (time.time_ns() // 1_000_000) - 3_600_000


@pytest.fixture
def log(wire: Wire, topic: str) -> Log:
    """A partition with a record every 10 ms, three to a batch, at offsets 0 to 5."""
    log = Log(wire, topic)
    for first in (0, 3):
        times = [START + 10 * (first + index) for index in range(3)]
        log.produce(batch([b"x"] * 3, timestamps=times))
    return log


def test_an_empty_log_begins_and_ends_at_0(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    assert log.offset(EARLIEST) == (Code.NONE, 0)
    assert log.offset(LATEST) == (Code.NONE, 0)
    assert log.offset(LATEST, READ_COMMITTED) == (Code.NONE, 0)


def test_a_log_ends_after_its_last_record(log: Log) -> None:
    assert log.offset(EARLIEST) == (Code.NONE, 0)
    assert log.offset(LATEST) == (Code.NONE, 6)


@pytest.mark.parametrize(
    ("after_ms", "offset"), [(-1000, 0), (0, 0), (1, 1), (10, 1), (15, 2), (21, 3), (50, 5), (51, -1)]
)
def test_the_first_record_at_or_after_a_time_is_found(log: Log, after_ms: int, offset: int) -> None:
    assert log.offset(START + after_ms) == (Code.NONE, offset)


def test_a_time_in_an_empty_log_finds_nothing(wire: Wire, topic: str) -> None:
    assert Log(wire, topic).offset(START) == (Code.NONE, -1)


def test_times_out_of_order_give_the_first_offset_that_is_late_enough(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    for timestamp in (START + 100, START + 50, START + 200):
        log.produce(batch([b"x"], timestamps=[timestamp]))
    assert log.offset(START + 60) == (Code.NONE, 0)
    assert log.offset(START + 150) == (Code.NONE, 2)


def test_an_unknown_partition_is_refused(wire: Wire, topic: str, unique: str) -> None:
    assert Log(wire, topic, 4).offset(LATEST)[0] == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert Log(wire, unique + "-none").offset(LATEST)[0] == Code.UNKNOWN_TOPIC_OR_PARTITION
