"""A producer's repeated batches are stored once, and gaps in its sequence are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.client import Client, Record, write
from tests.contracts.producers import IdempotentProducer, new_producer_id
from tests.contracts.wire import Code, Log, Wire, create_topic


@pytest.fixture
def producer(wire: Wire, topic: str) -> Iterator[IdempotentProducer]:
    yield IdempotentProducer(Log(wire, topic))


def test_every_producer_has_an_id_of_its_own(wire: Wire) -> None:
    assert len({new_producer_id(wire) for _ in range(10)}) == 10


def test_a_repeated_batch_is_stored_once_and_answered_with_its_offset(producer: IdempotentProducer) -> None:
    assert producer.send(0, b"a", b"b") == (Code.NONE, 0)
    assert producer.send(2, b"c") == (Code.NONE, 2)
    assert producer.send(0, b"a", b"b") == (Code.NONE, 0)
    assert producer.send(2, b"c") == (Code.NONE, 2)
    assert producer.log.fetch(0).values == [b"a", b"b", b"c"]


def test_the_last_five_batches_are_known(producer: IdempotentProducer) -> None:
    for sequence in range(8):
        producer.send(sequence, b"x")
    for sequence in range(3, 8):
        assert producer.send(sequence, b"x") == (Code.NONE, sequence)
    assert producer.log.end() == 8


def test_a_repeated_batch_older_than_the_last_five_is_never_stored_again(
    producer: IdempotentProducer,
) -> None:
    for sequence in range(8):
        producer.send(sequence, b"x")
    assert producer.send(0, b"x")[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.log.end() == 8


def test_a_gap_is_refused_and_the_sequence_goes_on(producer: IdempotentProducer) -> None:
    producer.send(0, b"a")
    assert producer.send(2, b"c")[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(1, b"b") == (Code.NONE, 1)
    assert producer.send(2, b"c") == (Code.NONE, 2)


def test_a_producer_that_the_partition_does_not_know_may_begin_anywhere(producer: IdempotentProducer) -> None:
    # Retention may have removed what it wrote before.
    assert producer.send(41, b"x") == (Code.NONE, 0)
    assert producer.send(43, b"x")[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_of_producers_are_independent(producer: IdempotentProducer, wire: Wire, topic: str) -> None:
    other = IdempotentProducer(Log(wire, topic))
    assert producer.send(0, b"a") == (Code.NONE, 0)
    assert other.send(0, b"a") == (Code.NONE, 1)


def test_sequences_of_partitions_are_independent(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, partitions=2)
    producer = IdempotentProducer(Log(wire, unique, 0))
    assert producer.send(0, b"a") == (Code.NONE, 0)
    producer.log = Log(wire, unique, 1)
    assert producer.send(0, b"a") == (Code.NONE, 0)


def test_an_older_epoch_is_refused(producer: IdempotentProducer) -> None:
    assert producer.send(0, b"a", epoch=1) == (Code.NONE, 0)
    assert producer.send(1, b"b", epoch=0)[0] == Code.INVALID_PRODUCER_EPOCH
    assert producer.log.end() == 1


def test_a_new_epoch_begins_at_sequence_0(producer: IdempotentProducer) -> None:
    producer.send(0, b"a")
    assert producer.send(1, b"b", epoch=1)[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(0, b"b", epoch=1) == (Code.NONE, 1)


def test_the_sequence_wraps_after_the_largest_number(producer: IdempotentProducer) -> None:
    largest = 2**31 - 1
    assert producer.send(largest - 1, b"a", b"b") == (Code.NONE, 0)
    assert producer.send(0, b"c") == (Code.NONE, 2)


def test_a_batch_that_repeats_half_of_another_is_refused(producer: IdempotentProducer) -> None:
    producer.send(0, b"a", b"b")
    assert producer.send(0, b"a")[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(1, b"b", b"c")[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.log.end() == 2


def test_idempotent_clients_write_each_record_once(client: Client, topic: str) -> None:
    records = [Record(f"{number}".encode()) for number in range(500)]
    write(client, topic, records, idempotent=True)
    assert [record.value for record in client.read(topic)] == [record.value for record in records]
