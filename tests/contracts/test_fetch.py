"""Reading: from any offset, up to the size asked for, waiting for what is not there yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiokafka.protocol.fetch import FetchRequest

from tests.contracts.client import Client, Record, RefusedError, write
from tests.contracts.wire import Code, Log, Wire, batch, batches, create_topic, delete_topic, fetched, values


@pytest.fixture
def log(wire: Wire, topic: str) -> Log:
    """An empty partition."""
    return Log(wire, topic)


def test_the_end_of_a_log_is_answered_with_nothing(log: Log) -> None:
    log.produce(batch([b"a", b"b"]))
    found = log.fetch(2)
    assert (found.code, found.data, found.high_watermark, found.log_start) == (Code.NONE, b"", 2, 0)


@pytest.mark.parametrize("offset", [3, 1_000_000, -1])
def test_an_offset_outside_the_log_is_refused(log: Log, offset: int) -> None:
    log.produce(batch([b"a", b"b"]))
    assert log.fetch(offset).code == Code.OFFSET_OUT_OF_RANGE


def test_a_client_is_told_of_an_offset_outside_the_log(client: Client, topic: str) -> None:
    write(client, topic, [Record(b"a")])
    assert client.read(topic, start=1) == []
    if client.name == "confluent":  # aiokafka looks for the end first and does not ask
        with pytest.raises(RefusedError):
            client.read(topic, start=5)


def test_an_unknown_topic_is_refused(wire: Wire, unique: str) -> None:
    assert Log(wire, unique).fetch(0).code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_partition_is_refused(wire: Wire, topic: str) -> None:
    assert Log(wire, topic, 5).fetch(0).code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_fetch_from_within_a_batch_gives_the_whole_batch(log: Log) -> None:
    log.produce(batch([b"a"]))
    log.produce(batch([b"b", b"c", b"d"]))
    found = batches(log.fetch(2).data)
    assert [one.base_offset for one in found] == [1]


def test_a_client_begins_exactly_where_it_is_told(client: Client, topic: str) -> None:
    write(client, topic, [Record(f"{number}".encode()) for number in range(10)])
    assert [record.offset for record in client.read(topic, start=7)] == [7, 8, 9]


def test_a_waiting_fetch_returns_when_data_comes(connect: Callable[[], Wire], log: Log) -> None:
    reader = Log(connect(), log.topic)
    reader.wire.begin(reader.fetch_request(0, wait_ms=60_000, min_bytes=1))
    assert not reader.wire.has_answer(within_s=0.1)
    log.produce(batch([b"here"]))
    assert fetched(reader.wire.answer()).values == [b"here"]


def test_a_waiting_fetch_returns_empty_when_its_time_is_over(log: Log) -> None:
    found = log.fetch(0, wait_ms=50, min_bytes=1)
    assert (found.code, found.data) == (Code.NONE, b"")


def test_a_waiting_fetch_waits_for_as_many_bytes_as_it_asks_for(
    connect: Callable[[], Wire], log: Log
) -> None:
    reader = Log(connect(), log.topic)
    reader.wire.begin(reader.fetch_request(0, wait_ms=60_000, min_bytes=2_000))
    log.produce(batch([b"little"]))
    assert not reader.wire.has_answer(within_s=0.1)
    log.produce(batch([b"x" * 3_000]))
    assert len(fetched(reader.wire.answer()).values) == 2


def test_a_waiting_fetch_does_not_hold_up_other_connections(connect: Callable[[], Wire], log: Log) -> None:
    for _ in range(5):
        waiting = Log(connect(), log.topic)
        waiting.wire.begin(waiting.fetch_request(0, wait_ms=60_000, min_bytes=1))
    assert log.end() == 0


def test_a_fetch_that_waits_for_an_error_returns_at_once(log: Log) -> None:
    assert log.fetch(99, wait_ms=60_000, min_bytes=1).code == Code.OFFSET_OUT_OF_RANGE


def test_a_partition_gives_at_most_the_bytes_asked_for(log: Log) -> None:
    for _ in range(10):
        log.produce(batch([b"x" * 1_000]))
    assert len(log.fetch(0, partition_max_bytes=3_500).data) <= 3_500
    assert len(log.fetch(0, partition_max_bytes=3_500).values) == 3
    assert len(log.fetch(0, max_bytes=3_500).values) == 3


def test_the_first_batch_is_given_even_if_it_is_too_large(log: Log) -> None:
    log.produce(batch([b"x" * 5_000]))
    log.produce(batch([b"y"]))
    assert log.fetch(0, partition_max_bytes=100).values == [b"x" * 5_000]
    assert log.fetch(0, max_bytes=100).values == [b"x" * 5_000]


def test_several_partitions_are_read_at_once(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, partitions=3)
    for number in range(3):
        Log(wire, unique, number).produce(batch([f"{number}".encode()]))
    wanted = [(number, 0, 1 << 20) for number in (2, 0, 1)]
    answer = wire.ask(FetchRequest(1_000, 1, 1 << 20, 0, [(unique, wanted)]))
    found = {part[0]: values(part[-1]) for part in answer.topics[0][1]}
    assert found == {0: [b"0"], 1: [b"1"], 2: [b"2"]}


def test_a_failing_partition_does_not_hinder_another(wire: Wire, topic: str) -> None:
    Log(wire, topic).produce(batch([b"a"]))
    answer = wire.ask(FetchRequest(60_000, 1, 1 << 20, 0, [(topic, [(0, 0, 1 << 20), (8, 0, 1 << 20)])]))
    codes = {part[0]: part[1] for part in answer.topics[0][1]}
    assert codes == {0: Code.NONE, 8: Code.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_waiting_fetch_ends_when_its_topic_is_deleted(connect: Callable[[], Wire], log: Log) -> None:
    reader = Log(connect(), log.topic)
    reader.wire.begin(reader.fetch_request(0, wait_ms=1_000, min_bytes=1))
    delete_topic(log.wire, log.topic)
    assert fetched(reader.wire.answer()).values == []


def test_a_long_log_is_read_whole_in_order(client: Client, topic: str) -> None:
    records = [Record(f"{number}".encode() * 50) for number in range(3_000)]
    write(client, topic, records)
    found = client.read(topic)
    assert [record.value for record in found] == [record.value for record in records]
    assert [record.offset for record in found] == list(range(3_000))
