"""Records written through either client are kept as they were, or refused for the right reason."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.contracts.client import Client, Record, RefusedError, write
from tests.contracts.wire import Code, Log, Wire, batch, batches, create_topic

HOUR_MS = 3_600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_records_are_kept_in_order_with_every_level_of_acknowledgement(
    client: Client, topic: str, acks: str
) -> None:
    records = [Record(f"{number}".encode()) for number in range(20)]
    written = write(client, topic, records, acks=acks)
    if acks != "0":
        assert [record.offset for record in written] == list(range(20))
    found: list[Record] = []
    deadline = time.monotonic() + 20
    while len(found) < 20 and time.monotonic() < deadline:
        found = client.read(topic)
    assert [record.value for record in found] == [record.value for record in records]
    assert [record.offset for record in found] == list(range(20))


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_one_client_compresses_the_other_reads(
    client: Client, other_client: Client, topic: str, compression: str
) -> None:
    records = [Record(b"value" * 100 + bytes([number]), b"key") for number in range(50)]
    write(client, topic, records, compression=compression)
    assert [record.value for record in other_client.read(topic)] == [record.value for record in records]


def test_keys_values_and_headers_are_kept_as_they_are(
    client: Client, other_client: Client, topic: str
) -> None:
    records = [
        Record(b"value", b"key"),
        Record(None, b"tombstone"),
        Record(b"no key", None),
        Record(b"", b""),
        Record(bytes(range(256)), bytes(range(256))),
        Record(
            b"v", b"k", (("a", b"1"), ("b", b""), ("a", b"2"), ("null", None), ("ключ", bytes(range(256))))
        ),
    ]
    write(client, topic, records)
    found = other_client.read(topic)
    assert [(one.value, one.key, one.headers) for one in found] == [
        (one.value, one.key, one.headers) for one in records
    ]


def test_the_partition_asked_for_is_written(client: Client, wire: Wire, unique: str) -> None:
    create_topic(wire, unique, partitions=3)
    write(client, unique, [Record(f"{number}".encode(), partition=number) for number in range(3)])
    for number in range(3):
        assert [record.value for record in client.read(unique, partition=number)] == [f"{number}".encode()]


def test_the_time_of_creation_is_kept(client: Client, topic: str) -> None:
    long_ago = now_ms() - 24 * HOUR_MS
    write(client, topic, [Record(b"a", timestamp=long_ago), Record(b"b", timestamp=long_ago + 5)])
    found = client.read(topic)
    assert [(one.timestamp, one.timestamp_type) for one in found] == [(long_ago, 0), (long_ago + 5, 0)]


def test_log_append_time_replaces_the_time_of_creation(client: Client, wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"message.timestamp.type": "LogAppendTime"})
    before = now_ms()
    written = write(
        client, unique, [Record(b"a", timestamp=before - HOUR_MS), Record(b"b", timestamp=before + 5)]
    )
    found = client.read(unique)
    assert [one.timestamp_type for one in found] == [1, 1]
    assert all(before <= (one.timestamp or 0) <= now_ms() for one in found)
    assert [one.timestamp for one in found] == [one.timestamp for one in written]


def test_log_append_time_never_runs_backwards(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"message.timestamp.type": "LogAppendTime"})
    log = Log(wire, unique)
    for _ in range(20):
        log.produce(batch([b"x"]))
    times = [found.max_timestamp for found in batches(log.fetch(0).data)]
    assert times == sorted(times)
    assert len(times) == 20


def test_a_time_far_in_the_future_is_refused(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    assert log.produce(batch([b"x"], timestamps=[now_ms() + 2 * HOUR_MS]))[0] == Code.INVALID_TIMESTAMP
    assert log.end() == 0


def test_a_batch_as_large_as_allowed_is_taken_and_a_larger_one_refused(wire: Wire, unique: str) -> None:
    fitting = batch([b"x" * 1_000])
    create_topic(wire, unique, config={"max.message.bytes": str(len(fitting))})
    log = Log(wire, unique)
    assert log.produce(fitting) == (Code.NONE, 0)
    assert log.produce(batch([b"x" * 1_001]))[0] == Code.MESSAGE_TOO_LARGE
    assert log.end() == 1


def test_a_batch_over_the_default_limit_is_refused(client: Client, topic: str) -> None:
    with pytest.raises(RefusedError) as refused:
        write(client, topic, [Record(b"x" * 1_100_000)])
    assert refused.value.code == Code.MESSAGE_TOO_LARGE


def test_a_topic_may_take_larger_batches(client: Client, wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"max.message.bytes": str(4 << 20)})
    write(client, unique, [Record(b"x" * 3_000_000)])
    assert [len(record.value or b"") for record in client.read(unique)] == [3_000_000]


def test_an_unknown_topic_is_refused(wire: Wire, unique: str) -> None:
    assert Log(wire, unique).produce(batch([b"x"]))[0] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_partition_is_refused(wire: Wire, topic: str) -> None:
    assert Log(wire, topic, 7).produce(batch([b"x"]))[0] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_damaged_batch_is_refused(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    damaged = bytearray(batch([b"value"]))
    damaged[-1] ^= 1
    assert log.produce(bytes(damaged))[0] == Code.CORRUPT_MESSAGE
    assert log.end() == 0


@pytest.mark.parametrize("size", [0, 5, 60, 70])
def test_a_batch_cut_short_is_refused(wire: Wire, topic: str, size: int) -> None:
    log = Log(wire, topic)
    assert log.produce(batch([b"value"])[:size])[0] != Code.NONE
    assert log.end() == 0


def test_acknowledgement_by_some_number_of_replicas_is_refused(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    assert log.produce(batch([b"x"]), acks=2)[0] == Code.INVALID_REQUIRED_ACKS
    assert log.end() == 0


def test_a_compacted_topic_refuses_records_without_a_key(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"cleanup.policy": "compact"})
    log = Log(wire, unique)
    assert log.produce(batch([b"x"], key=None))[0] == Code.INVALID_RECORD
    assert log.produce(batch([b"x"], key=b"key")) == (Code.NONE, 0)


def test_partitions_of_one_request_fail_and_succeed_alone(wire: Wire, topic: str, unique: str) -> None:
    request = Log(wire, topic).produce_request(batch([b"x"]))
    request._topics = [(topic, [(0, batch([b"x"])), (9, batch([b"x"]))])]
    answer = wire.ask(request)
    assert {part[0]: part[1] for part in answer.topics[0][1]} == {0: 0, 9: Code.UNKNOWN_TOPIC_OR_PARTITION}


def test_without_acknowledgement_nothing_is_answered(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    wire.send_frame(unanswered(log, batch([b"x"])))
    assert log.end() == 1


def unanswered(log: Log, records: bytes) -> bytes:
    """A produce request with acks 0, as the bytes of its frame."""
    prepared = log.produce_request(records, acks=0).prepare(log.wire.versions)
    return bytes(prepared.build_request_header(1, "contract").encode() + prepared.encode())


def test_many_connections_write_one_partition_with_no_gap(
    connect: Callable[[], Wire], wire: Wire, topic: str
) -> None:
    logs = [Log(connect(), topic) for _ in range(5)]
    for number in range(20):
        for log in logs:
            log.wire.begin(log.produce_request(batch([f"{number}".encode()])))
    offsets = sorted(log.wire.answer().topics[0][1][0][2] for _ in range(20) for log in logs)
    assert offsets == list(range(100))
    assert len(Log(wire, topic).fetch(0).values) == 100
