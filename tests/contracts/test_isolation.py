"""What readers see of transactions: committed records alone, or everything, and never a marker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contracts.client import Client, Record, wait_for
from tests.contracts.producers import TransactionalProducer
from tests.contracts.wire import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Code,
    Log,
    Wire,
    batch,
    batches,
    create_topic,
    fetched,
)


@pytest.fixture
def log(wire: Wire, topic: str) -> Log:
    """An empty partition."""
    return Log(wire, topic)


@pytest.fixture
def producers(wire: Wire, unique: str) -> Callable[[], TransactionalProducer]:
    """Transactional producers, each with an id of its own."""
    count = 0

    def start() -> TransactionalProducer:
        nonlocal count
        count += 1
        producer = TransactionalProducer(wire, f"{unique}-{count}")
        assert producer.start() == Code.NONE
        return producer

    return start


def stable_end(log: Log, offset: int) -> None:
    """Wait until readers of committed records may read up to an offset: markers are written after the answer."""
    wait_for(f"the last stable offset is {offset}", lambda: log.end(READ_COMMITTED) == offset)


def committed_values(client: Client, topic: str) -> list[bytes | None]:
    return [record.value for record in client.read(topic, isolation="read_committed")]


def all_values(client: Client, topic: str) -> list[bytes | None]:
    return [record.value for record in client.read(topic, isolation="read_uncommitted")]


def test_committed_records_are_read(client: Client, other_client: Client, unique: str, log: Log) -> None:
    producer = client.transactions(unique)
    producer.begin()
    producer.write(log.topic, [Record(b"a"), Record(b"b")])
    producer.commit()
    producer.close()
    stable_end(log, 3)
    assert committed_values(other_client, log.topic) == [b"a", b"b"]


def test_aborted_records_are_read_by_read_uncommitted_alone(
    client: Client, other_client: Client, unique: str, log: Log
) -> None:
    producer = client.transactions(unique)
    producer.begin()
    producer.write(log.topic, [Record(b"aborted")])
    producer.abort()
    producer.begin()
    producer.write(log.topic, [Record(b"committed")])
    producer.commit()
    producer.close()
    stable_end(log, 4)
    assert committed_values(other_client, log.topic) == [b"committed"]
    assert all_values(other_client, log.topic) == [b"aborted", b"committed"]


def test_an_open_transaction_hides_what_follows_it(
    client: Client, log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    log.produce(batch([b"before"]))
    producer = producers()
    producer.write(log, b"open")
    log.produce(batch([b"after"]))
    assert (log.end(READ_COMMITTED), log.end(READ_UNCOMMITTED)) == (1, 3)
    assert committed_values(client, log.topic) == [b"before"]
    assert all_values(client, log.topic) == [b"before", b"open", b"after"]
    producer.commit()
    stable_end(log, 4)
    assert committed_values(client, log.topic) == [b"before", b"open", b"after"]


def test_interleaved_transactions_are_told_apart(
    client: Client, log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    committing, aborting = producers(), producers()
    for number in range(3):
        committing.write(log, f"committed {number}".encode())
        aborting.write(log, f"aborted {number}".encode())
    log.produce(batch([b"plain"]))
    aborting.abort()
    assert committed_values(client, log.topic) == []
    committing.commit()
    stable_end(log, 9)
    assert committed_values(client, log.topic) == [b"committed 0", b"committed 1", b"committed 2", b"plain"]
    assert len(all_values(client, log.topic)) == 7


def test_markers_leave_gaps_in_the_offsets(
    client: Client, log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    producer = producers()
    for value in (b"0", b"2", b"4"):
        producer.write(log, value)
        producer.commit()
    stable_end(log, 6)
    assert [record.offset for record in client.read(log.topic)] == [0, 2, 4]
    assert [one.is_control_batch for one in batches(log.fetch(0).data)] == [False, True] * 3


def test_a_transaction_over_several_partitions_is_all_or_nothing(
    client: Client, wire: Wire, unique: str, producers: Callable[[], TransactionalProducer]
) -> None:
    create_topic(wire, unique, partitions=3)
    logs = [Log(wire, unique, number) for number in range(3)]
    producer = producers()
    assert producer.add(*logs) == Code.NONE
    for log in logs:
        assert producer.send(log, b"x")[0] == Code.NONE
    assert [log.end(READ_COMMITTED) for log in logs] == [0, 0, 0]
    producer.commit()
    for log in logs:
        stable_end(log, 2)
        found = client.read(unique, partition=log.partition)
        assert [record.value for record in found] == [b"x"]


def test_a_partition_that_was_added_and_not_written_is_left_as_it_is(
    log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    log.produce(batch([b"plain"]))
    producer = producers()
    assert producer.add(log) == Code.NONE
    assert log.end(READ_COMMITTED) == 1
    producer.abort()
    wait_for("a marker alone is written", lambda: log.end(READ_COMMITTED) == log.end() == 2)


def test_a_fetch_names_the_aborted_transactions(
    log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    aborting, committing = producers(), producers()
    committing.write(log, b"0")
    first = aborting.write(log, b"1")
    aborting.abort()
    committing.commit()
    stable_end(log, 4)
    found = log.fetch(0, isolation=READ_COMMITTED)
    assert found.aborted == [(aborting.producer_id, first)]
    assert found.last_stable_offset == 4
    assert log.fetch(0, isolation=READ_UNCOMMITTED).aborted == []
    assert log.fetch(3, isolation=READ_COMMITTED).aborted in ([], [(aborting.producer_id, first)])


def test_a_fetch_gives_nothing_beyond_the_last_stable_offset(
    log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    log.produce(batch([b"0"]))
    producers().write(log, b"1")
    log.produce(batch([b"2"]))
    found = log.fetch(0, isolation=READ_COMMITTED)
    assert found.values == [b"0"]
    assert (found.last_stable_offset, found.high_watermark) == (1, 3)
    beyond = log.fetch(2, isolation=READ_COMMITTED)
    assert (beyond.code, beyond.values) == (Code.NONE, [])


def test_a_waiting_fetch_returns_when_a_transaction_commits(
    connect: Callable[[], Wire], log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    producer = producers()
    producer.write(log, b"x")
    reader = Log(connect(), log.topic)
    reader.wire.begin(reader.fetch_request(0, isolation=READ_COMMITTED, wait_ms=60_000, min_bytes=1))
    assert not reader.wire.has_answer(within_s=0.1)
    producer.commit()
    assert fetched(reader.wire.answer()).values == [b"x"]


def test_an_aborted_transaction_between_others_is_skipped_by_a_long_read(
    client: Client, log: Log, producers: Callable[[], TransactionalProducer]
) -> None:
    producer = producers()
    expected: list[bytes | None] = []
    for number in range(60):
        value = f"{number}".encode()
        producer.write(log, value)
        if number % 3 == 0:
            producer.abort()
        else:
            producer.commit()
            expected.append(value)
    stable_end(log, 120)
    assert committed_values(client, log.topic) == expected
    assert len(all_values(client, log.topic)) == 60
