"""Transactions, request by request: who may write, who is fenced, and what an end means."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka
import pytest

from tests.contracts.client import Client, Record, RefusedError, wait_for
from tests.contracts.group_member import committed
from tests.contracts.producers import TransactionalProducer
from tests.contracts.wire import READ_COMMITTED, Code, Log, Wire, batch, batches
from tests.support.services import BrokerService


@pytest.fixture
def log(wire: Wire, topic: str) -> Log:
    """An empty partition."""
    return Log(wire, topic)


@pytest.fixture
def start(connect: Callable[[], Wire], unique: str) -> Callable[..., TransactionalProducer]:
    """Start a producer of one transactional id, anew each time."""

    def begin(timeout_ms: int = 30_000) -> TransactionalProducer:
        producer = TransactionalProducer(connect(), unique, timeout_ms)
        assert producer.start() == Code.NONE
        return producer

    return begin


Start = Callable[..., TransactionalProducer]


def committed_values(log: Log) -> list[bytes | None]:
    """The values that read_committed sees, for a log whose aborted transactions are told by the fetch."""
    found = log.fetch(0, isolation=READ_COMMITTED)
    aborted = {producer for producer, _first in found.aborted}
    return [
        record.value
        for one in batches(found.data)
        if not one.is_control_batch and one.producer_id not in aborted
        for record in one
    ]


def test_each_start_of_an_id_has_the_next_epoch(start: Start) -> None:
    first, second, third = start(), start(), start()
    assert first.producer_id == second.producer_id == third.producer_id
    assert [first.epoch, second.epoch, third.epoch] == [0, 1, 2]


def test_a_start_ends_the_open_transaction_of_the_one_before(start: Start, log: Log) -> None:
    start().write(log, b"lost")
    assert log.end(READ_COMMITTED) == 0
    start()
    assert log.end(READ_COMMITTED) == 2
    assert committed_values(log) == []


def test_a_fenced_producer_can_neither_write_nor_end(start: Start, log: Log) -> None:
    zombie = start()
    zombie.write(log, b"lost")
    start()
    fenced = {Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED}
    assert zombie.send(log, b"late")[0] in fenced | {Code.INVALID_TXN_STATE}
    assert zombie.add(log) in fenced
    assert zombie.end(commit=True) in fenced
    assert zombie.end(commit=False) in fenced
    assert zombie.add_offsets("group") in fenced
    assert committed_values(log) == []


def test_a_fenced_producer_does_not_disturb_its_successor(start: Start, log: Log) -> None:
    zombie = start()
    zombie.write(log, b"lost")
    successor = start()
    successor.write(log, b"kept")
    zombie.send(log, b"late")
    zombie.end(commit=False)
    successor.commit()
    wait_for("the transaction is over", lambda: log.end(READ_COMMITTED) == log.end())
    found = log.fetch(0, isolation=READ_COMMITTED)
    epochs = [one.producer_epoch for one in batches(found.data) if not one.is_control_batch]
    assert epochs == [zombie.epoch, successor.epoch]
    assert zombie.epoch < successor.epoch
    assert found.aborted == [(zombie.producer_id, 0)]


def test_writing_to_a_partition_that_was_not_added_is_refused(start: Start, log: Log) -> None:
    assert start().send(log, b"x")[0] == Code.INVALID_TXN_STATE
    assert log.end() == 0


def test_an_unknown_topic_cannot_be_added(start: Start, wire: Wire, unique: str) -> None:
    assert start().add(Log(wire, unique + "-none")) == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_a_transaction_that_was_never_begun_cannot_be_committed(start: Start) -> None:
    assert start().end(commit=True) == Code.INVALID_TXN_STATE


def test_a_repeated_end_is_answered_alike_and_another_end_is_refused(start: Start, log: Log) -> None:
    producer = start()
    producer.write(log, b"x")
    producer.commit()
    assert producer.end(commit=True) == Code.NONE
    assert producer.end(commit=False) == Code.INVALID_TXN_STATE
    wait_for("one marker", lambda: log.end(READ_COMMITTED) == 2)


def test_another_producer_id_is_refused(start: Start, log: Log) -> None:
    producer = start()
    producer.producer_id += 1_000_000
    assert producer.add(log) == Code.INVALID_PRODUCER_ID_MAPPING
    assert producer.end(commit=True) == Code.INVALID_PRODUCER_ID_MAPPING


def test_an_unknown_transactional_id_is_refused(wire: Wire, unique: str, start: Start, log: Log) -> None:
    producer = start()
    producer.transactional_id = unique + "-none"
    assert producer.add(log) == Code.INVALID_PRODUCER_ID_MAPPING


def test_a_time_out_over_the_brokers_limit_is_refused(wire: Wire, unique: str) -> None:
    assert TransactionalProducer(wire, unique, 900_001).start() == Code.INVALID_TRANSACTION_TIMEOUT
    assert TransactionalProducer(wire, unique, 900_000).start() == Code.NONE


def test_a_plain_batch_may_not_carry_a_transactional_id(start: Start, log: Log) -> None:
    producer = start()
    producer.add(log)
    records = batch([b"x"], producer_id=producer.producer_id, epoch=producer.epoch, sequence=0)
    log.produce(records, transactional_id=producer.transactional_id)
    producer.abort()
    wait_for("the transaction is over", lambda: log.end(READ_COMMITTED) == log.end())


def test_a_silent_producers_transaction_is_aborted_when_its_time_is_over(start: Start, log: Log) -> None:
    producer = start(timeout_ms=600)
    producer.write(log, b"lost")
    log.produce(batch([b"after"]))
    assert log.end(READ_COMMITTED) == 0
    wait_for("the transaction is aborted", lambda: log.end(READ_COMMITTED) == 3)
    assert committed_values(log) == [b"after"]
    assert producer.end(commit=True) in {Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED}


def test_offsets_take_effect_with_the_commit(start: Start, wire: Wire, unique: str, log: Log) -> None:
    producer = start()
    assert producer.add_offsets(unique) == Code.NONE
    assert producer.commit_offset(unique, log, 7) == Code.NONE
    assert committed(wire, unique, log)[0] == -1
    producer.commit()
    wait_for("the position is set", lambda: committed(wire, unique, log)[0] == 7)


def test_offsets_of_an_aborted_transaction_are_dropped(
    start: Start, wire: Wire, unique: str, log: Log
) -> None:
    producer = start()
    for offset, commit in ((7, True), (9, False)):
        assert producer.add_offsets(unique) == Code.NONE
        assert producer.commit_offset(unique, log, offset) == Code.NONE
        assert producer.end(commit=commit) == Code.NONE
    # A later transaction begins when the earlier one is over.
    assert producer.add(log) == Code.NONE
    assert committed(wire, unique, log)[0] == 7


def test_a_fenced_producer_cannot_commit_offsets(start: Start, wire: Wire, unique: str, log: Log) -> None:
    zombie = start()
    assert zombie.add_offsets(unique) == Code.NONE
    assert zombie.commit_offset(unique, log, 7) == Code.NONE
    successor = start()
    assert zombie.end(commit=True) in {Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED}
    assert successor.add(log) == Code.NONE
    assert committed(wire, unique, log)[0] == -1


def test_a_client_commits_records_and_offsets_together(
    client: Client, other_client: Client, unique: str, log: Log
) -> None:
    producer = client.transactions(unique)
    place = (log.topic, 0)
    for number, commit in enumerate([True, False, True]):
        producer.begin()
        producer.write(log.topic, [Record(f"{number}".encode())])
        producer.commit_offsets(unique, {place: number + 1})
        if commit:
            producer.commit()
        else:
            producer.abort()
    producer.close()
    wait_for("the position is set", lambda: other_client.committed(unique, [place]) == {place: 3})
    wait_for("the transaction is over", lambda: log.end(READ_COMMITTED) == log.end())
    assert [record.value for record in other_client.read(log.topic)] == [b"0", b"2"]


def test_a_client_is_fenced_by_another_with_its_id(
    client: Client, other_client: Client, unique: str, log: Log
) -> None:
    zombie = client.transactions(unique)
    zombie.begin()
    zombie.write(log.topic, [Record(b"lost")])
    successor = other_client.transactions(unique)
    with pytest.raises(RefusedError) as refused:
        zombie.commit()
    assert refused.value.code in {Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED, -144}
    successor.begin()
    successor.write(log.topic, [Record(b"kept")])
    successor.commit()
    successor.close()
    wait_for("the transaction is over", lambda: log.end(READ_COMMITTED) == log.end())
    assert [record.value for record in client.read(log.topic)] == [b"kept"]


def test_a_member_that_lost_its_place_cannot_commit_offsets_in_a_transaction(
    broker: BrokerService, unique: str, log: Log
) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": unique}
    consumer = confluent_kafka.Consumer({**settings, "session.timeout.ms": 6_000})
    consumer.subscribe([log.topic])
    wait_for("it has the partition", lambda: (consumer.poll(0.05), consumer.assignment() != [])[1])
    metadata = consumer.consumer_group_metadata()
    consumer.close()
    successor = confluent_kafka.Consumer(settings)
    successor.subscribe([log.topic])
    wait_for("the other one has it", lambda: (successor.poll(0.05), successor.assignment() != [])[1])
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": unique})
    producer.init_transactions(20)
    producer.begin_transaction()
    place = confluent_kafka.TopicPartition(log.topic, 0, 5)
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        producer.send_offsets_to_transaction([place], metadata, 20)
    lost = {Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION}
    assert refused.value.args[0].code() in lost
    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction(20)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([place], successor.consumer_group_metadata(), 20)
    producer.commit_transaction(20)
    successor.close()
    wait_for("the position is set", lambda: committed(log.wire, unique, log)[0] == 5)
