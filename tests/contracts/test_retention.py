"""What is too old or too much goes; what a compacted topic keeps is the last value of each key."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.contracts.client import Client, Record, wait_for, write
from tests.contracts.producers import TransactionalProducer
from tests.contracts.wire import (
    EARLIEST,
    READ_COMMITTED,
    Code,
    Log,
    Wire,
    batch,
    batches,
    create_topic,
)

pytestmark = pytest.mark.slow

HOUR_MS = 3_600_000
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "100",
}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def put(log: Log, key: str, value: bytes | None) -> None:
    code, _offset = log.produce(batch([value], key=key.encode()))
    assert code == Code.NONE


def close_segment(log: Log) -> None:
    """Make what was written so far old enough to be compacted: Apache Kafka leaves the newest segment alone."""
    time.sleep(0.15)
    put(log, "closer", b"x")


def kept(log: Log, *, wanted_key: Callable[[bytes], bool] = lambda key: key != b"closer") -> dict[int, bytes]:
    """Value by offset of what a reader finds, tombstones and the closing records left out."""
    found: dict[int, bytes] = {}
    for one in batches(log.fetch(log.offset(EARLIEST)[1]).data):
        if not one.is_control_batch:
            found |= {record.offset: record.value or b"" for record in one if wanted_key(record.key)}
    return found


def test_records_older_than_the_retention_time_go(client: Client, wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.ms": "60000", "segment.ms": "1000"})
    create_topic(wire, f"{unique}-kept", config={"retention.ms": "-1", "segment.ms": "1000"})
    for topic in (unique, f"{unique}-kept"):
        log = Log(wire, topic)
        for _ in range(10):
            log.produce(batch([b"old"], timestamps=[now_ms() - HOUR_MS]))
        log.produce(batch([b"new"]))
    log = Log(wire, unique)
    wait_for("the old ones are gone", lambda: log.offset(EARLIEST) == (Code.NONE, 10))
    assert log.fetch(0).code == log.fetch(9).code == Code.OFFSET_OUT_OF_RANGE
    assert log.fetch(10).log_start == 10
    assert [record.value for record in client.read(unique, start=10)] == [b"new"]
    assert log.produce(batch([b"next"])) == (Code.NONE, 11)
    assert Log(wire, f"{unique}-kept").offset(EARLIEST) == (Code.NONE, 0)


def test_a_log_whose_records_are_all_too_old_is_emptied_and_goes_on(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.ms": "60000"})
    log = Log(wire, unique)
    log.produce(batch([b"old"] * 5, timestamps=[now_ms() - HOUR_MS] * 5))
    wait_for("all are gone", lambda: log.offset(EARLIEST) == (Code.NONE, 5))
    assert log.end() == 5
    assert log.produce(batch([b"next"])) == (Code.NONE, 5)


def test_the_oldest_records_of_a_log_that_is_too_large_go(client: Client, wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.bytes": "1000000", "segment.bytes": "1048576"})
    log = Log(wire, unique)
    for number in range(6):
        log.produce(batch([bytes([number]) * 600_000]))
    wait_for("the oldest is gone", lambda: log.offset(EARLIEST)[1] > 0)
    first = log.offset(EARLIEST)[1]
    left = client.read(unique, start=first)
    assert [record.offset for record in left] == list(range(first, 6))
    assert sum(len(record.value or b"") for record in left) >= 1_000_000


def test_compaction_keeps_the_last_value_of_each_key_at_its_offset(
    client: Client, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique, config=COMPACTED)
    log = Log(wire, unique)
    for number in range(30):
        put(log, f"key {number % 3}", f"{number}".encode())

    def compacted() -> bool:
        close_segment(log)
        return len(kept(log)) == 3

    wait_for("only the last values are left", compacted)
    assert kept(log) == {27: b"27", 28: b"28", 29: b"29"}
    found = [record for record in client.read(unique) if record.key != b"closer"]
    assert [(record.offset, record.value) for record in found] == [(27, b"27"), (28, b"28"), (29, b"29")]
    assert log.offset(EARLIEST) == (Code.NONE, 0)


def test_compaction_keeps_the_last_value_of_a_key_within_one_batch(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config=COMPACTED)
    log = Log(wire, unique)
    keys: list[bytes | None] = [b"a", b"b", b"a", b"b", b"c"]
    log.produce(batch([b"0", b"1", b"2", b"3", b"4"], keys=keys))

    def compacted() -> bool:
        close_segment(log)
        return len(kept(log)) == 3

    wait_for("only the last values are left", compacted)
    assert kept(log) == {2: b"2", 3: b"3", 4: b"4"}


def test_tombstones_take_their_key_away_and_then_go_themselves(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config=COMPACTED)
    log = Log(wire, unique)
    put(log, "kept", b"1")
    put(log, "dead", b"2")
    put(log, "dead", None)

    def compacted() -> bool:
        close_segment(log)
        return kept(log) == {0: b"1"}

    wait_for("nothing is left of the dead key", compacted)


def test_a_tombstone_stays_until_its_time_is_over(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={**COMPACTED, "delete.retention.ms": "600000"})
    log = Log(wire, unique)
    put(log, "dead", b"2")
    put(log, "dead", None)

    def compacted() -> bool:
        close_segment(log)
        return len(kept(log)) == 1

    wait_for("the value is gone", compacted)
    assert kept(log) == {1: b""}


def test_compaction_forgets_aborted_records_and_keeps_what_was_committed_before(
    client: Client, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique, config=COMPACTED)
    log = Log(wire, unique)
    producer = TransactionalProducer(wire, unique)
    assert producer.start() == Code.NONE
    for value, commit in ((b"first", True), (b"second", True), (b"aborted", False)):
        producer.write(log, value, key=b"key")
        assert producer.end(commit=commit) == Code.NONE

    def compacted() -> bool:
        close_segment(log)
        return set(kept(log).values()) == {b"second"}

    wait_for("the committed value alone is left", compacted)
    found = [record.value for record in client.read(unique) if record.key == b"key"]
    assert found == [b"second"]


def test_compaction_leaves_an_open_transaction_and_what_it_may_replace(
    client: Client, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique, config=COMPACTED)
    create_topic(wire, f"{unique}-other", config=COMPACTED)
    log, other = Log(wire, unique), Log(wire, f"{unique}-other")
    for one in (log, other):
        put(one, "key", b"old")
        put(one, "key", b"committed")
    producer = TransactionalProducer(wire, unique)
    assert producer.start() == Code.NONE
    producer.write(log, b"open", key=b"key")

    def compacted() -> bool:
        close_segment(log)
        close_segment(other)
        return len(kept(other)) == 1

    wait_for("the other topic is compacted", compacted)
    producer.abort()
    wait_for("the transaction is over", lambda: log.end(READ_COMMITTED) == log.end())
    found = [record.value for record in client.read(unique) if record.key == b"key"]
    assert found[-1] == b"committed"


def test_a_topic_that_compacts_and_deletes_does_both(wire: Wire, unique: str) -> None:
    config = {**COMPACTED, "cleanup.policy": "compact,delete", "retention.ms": "60000"}
    create_topic(wire, unique, config=config)
    log = Log(wire, unique)
    log.produce(batch([b"old"], key=b"lonely", timestamps=[now_ms() - HOUR_MS]))
    put(log, "key", b"0")
    # Only then more: Apache Kafka would compact the old record into one segment with younger ones, and keep it.
    wait_for("the old key is gone", lambda: log.offset(EARLIEST) == (Code.NONE, 1))
    for number in range(1, 4):
        put(log, "key", f"{number}".encode())

    def compacted() -> bool:
        close_segment(log)
        return kept(log) == {4: b"3"}

    wait_for("the last value alone is left", compacted)


def test_what_a_client_writes_to_a_compacted_topic_can_be_read_while_it_is_compacted(
    client: Client, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique, config=COMPACTED)
    for round_number in range(5):
        records = [Record(f"{round_number}".encode(), f"key {key}".encode()) for key in range(20)]
        write(client, unique, records)
        latest = {record.key: record.value for record in client.read(unique)}
        assert latest == {record.key: record.value for record in records}
        time.sleep(0.2)
