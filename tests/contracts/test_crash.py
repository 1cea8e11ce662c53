"""What a broker has acknowledged is there after kill -9 and a restart: one crash, and each thing looked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from aiokafka.protocol.admin import DescribeConfigsRequest

from tests.contracts.client import wait_for
from tests.contracts.clients import CLIENTS
from tests.contracts.group_member import GroupMember, commit_without_membership, committed, settle
from tests.contracts.producers import IdempotentProducer, TransactionalProducer
from tests.contracts.wire import (
    READ_COMMITTED,
    Code,
    ConnectionClosedError,
    Log,
    Wire,
    batch,
    create_topic,
    delete_topic,
    group_description,
    topic_metadata,
)
from tests.support.brokers import BROKERS, start_broker, started
from tests.support.services import BrokerService

pytestmark = pytest.mark.slow

WRITERS = 4
LOADED, PLAIN, DELETED, OPEN, SILENT, DONE = "loaded", "plain", "deleted", "open", "silent", "done"
ACKNOWLEDGED_BEFORE_THE_CRASH = 200


@dataclass
class Crash:
    """What was there before, on a broker that has crashed and runs again."""

    broker: BrokerService
    acknowledged: dict[int, bytes] = field(default_factory=dict)
    members: dict[str, tuple[str, int]] = field(default_factory=dict)
    producer_id: int = -1
    epoch: int = -1


class Writer(threading.Thread):
    """Writes to one topic, a record a request, until the broker is gone; keeps what was acknowledged."""

    def __init__(self, bootstrap: str, number: int) -> None:
        super().__init__(daemon=True)
        self._address, self._number = bootstrap, number
        self.acknowledged: dict[int, bytes] = {}

    def run(self) -> None:
        with Wire(self._address) as wire:
            log = Log(wire, LOADED)
            for count in range(1_000_000):
                value = f"{self._number}/{count}".encode()
                try:
                    code, offset = log.produce(batch([value]))
                except (ConnectionClosedError, OSError):
                    return
                assert code == Code.NONE
                self.acknowledged[offset] = value


def prepare(wire: Wire, crash: Crash) -> None:
    """Everything that must survive, and two transactions that are never ended."""
    for topic in (LOADED, PLAIN, DELETED, OPEN, SILENT, DONE):
        config = {"retention.ms": "123456789"} if topic == PLAIN else {}
        assert create_topic(wire, topic, config=config) == Code.NONE
    assert delete_topic(wire, DELETED) == Code.NONE
    assert commit_without_membership(wire, "group", Log(wire, PLAIN), 7, "note") == Code.NONE

    for group, instance_id in (("members", None), ("static members", "one")):
        with Wire(crash.broker.bootstrap) as own:
            member = GroupMember(own, group, instance_id=instance_id, session_timeout_ms=60_000)
            settle(member)
            crash.members[group] = (member.member_id, member.generation)

    idempotent = IdempotentProducer(Log(wire, PLAIN))
    crash.producer_id = idempotent.producer_id
    assert idempotent.send(0, b"a") == (Code.NONE, 0)
    assert idempotent.send(1, b"b") == (Code.NONE, 1)

    done = TransactionalProducer(wire, "done")
    assert done.start() == Code.NONE
    crash.epoch = done.epoch
    done.write(Log(wire, DONE), b"committed")
    assert done.add_offsets("done") == Code.NONE
    assert done.commit_offset("done", Log(wire, DONE), 3) == Code.NONE
    done.commit()
    done.write(Log(wire, DONE), b"aborted")
    done.abort()
    wait_for("the transactions are over", lambda: Log(wire, DONE).end(READ_COMMITTED) == 4)

    left_open = TransactionalProducer(wire, "open", timeout_ms=600_000)
    assert left_open.start() == Code.NONE
    left_open.write(Log(wire, OPEN), b"open")
    assert left_open.add_offsets("open") == Code.NONE
    assert left_open.commit_offset("open", Log(wire, OPEN), 9) == Code.NONE
    silent = TransactionalProducer(wire, "silent", timeout_ms=5_000)
    assert silent.start() == Code.NONE
    silent.write(Log(wire, SILENT), b"open")


@pytest.fixture(scope="module", params=BROKERS)
def crash(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crash]:
    """A broker killed with SIGKILL while it was written to, and started again."""
    folder = tmp_path_factory.mktemp("crash")
    with started(lambda: start_broker(request.param, folder)) as broker:
        crash = Crash(broker)
        with Wire(broker.bootstrap) as wire:
            prepare(wire, crash)
        writers = [Writer(broker.bootstrap, number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        wait_for(
            "all writers have written",
            lambda: min(len(writer.acknowledged) for writer in writers) > ACKNOWLEDGED_BEFORE_THE_CRASH,
        )
        broker.kill()
        for writer in writers:
            writer.join(20)
            crash.acknowledged |= writer.acknowledged
        broker.restart()
        yield crash


@pytest.fixture
def wire(crash: Crash) -> Iterator[Wire]:
    with Wire(crash.broker.bootstrap) as connection:
        yield connection


@pytest.mark.parametrize("client_name", CLIENTS)
def test_every_acknowledged_record_is_at_its_offset(crash: Crash, client_name: str) -> None:
    client = CLIENTS[client_name](crash.broker.bootstrap)
    found = {record.offset: record.value for record in client.read(LOADED)}
    client.close()
    lost = {offset: value for offset, value in crash.acknowledged.items() if found.get(offset) != value}
    assert len(crash.acknowledged) > WRITERS * ACKNOWLEDGED_BEFORE_THE_CRASH
    assert lost == {}
    assert len(found) == len(set(found.values())), "a record was doubled"


def test_topics_and_their_configuration_are_kept(wire: Wire) -> None:
    answer = wire.ask(DescribeConfigsRequest([(2, PLAIN, ["retention.ms"])], False))
    assert answer.resources[0][4][0][1] == "123456789"


def test_a_deleted_topic_stays_deleted(wire: Wire) -> None:
    assert DELETED not in topic_metadata(wire, None)


def test_positions_of_groups_are_kept(wire: Wire) -> None:
    assert committed(wire, "group", Log(wire, PLAIN)) == (7, "note")


@pytest.mark.parametrize(("group", "instance_id"), [("members", None), ("static members", "one")])
def test_a_group_goes_on_with_its_members_in_its_generation(
    crash: Crash, wire: Wire, group: str, instance_id: str | None
) -> None:
    member = GroupMember(wire, group, instance_id=instance_id)
    member.member_id, member.generation = crash.members[group]
    assert group_description(wire, group)[2] == "Stable"
    assert member.heartbeat() == Code.NONE
    assert member.sync() == (Code.NONE, member.member_id.encode())
    assert member.commit(Log(wire, PLAIN), 5) == Code.NONE


def test_a_batch_repeated_after_the_crash_is_stored_once(crash: Crash, wire: Wire) -> None:
    log = Log(wire, PLAIN)

    def repeat(sequence: int, value: bytes) -> tuple[int, int]:
        return log.produce(batch([value], producer_id=crash.producer_id, epoch=0, sequence=sequence))

    assert repeat(1, b"b") == (Code.NONE, 1)
    # Apache Kafka knows the last batch alone after a crash, and must not store the older one again either.
    assert repeat(0, b"a") in {(Code.NONE, 0), (Code.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)}
    assert repeat(3, b"d")[0] == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.fetch(0).values == [b"a", b"b"]


def test_producer_ids_are_not_given_again(crash: Crash, wire: Wire) -> None:
    assert IdempotentProducer(Log(wire, PLAIN)).producer_id > crash.producer_id


@pytest.mark.parametrize("client_name", CLIENTS)
def test_ended_transactions_stay_as_they_ended(crash: Crash, client_name: str) -> None:
    client = CLIENTS[client_name](crash.broker.bootstrap)
    assert [record.value for record in client.read(DONE)] == [b"committed"]
    assert len(client.read(DONE, isolation="read_uncommitted")) == 2
    client.close()


def test_positions_committed_in_a_transaction_are_kept(wire: Wire) -> None:
    assert committed(wire, "done", Log(wire, DONE))[0] == 3


def test_a_transactional_id_goes_on_with_the_next_epoch(crash: Crash, wire: Wire) -> None:
    producer = TransactionalProducer(wire, "done")
    assert producer.start() == Code.NONE
    assert producer.epoch > crash.epoch


def test_an_open_transaction_stays_open_until_its_id_is_taken_over(wire: Wire) -> None:
    log = Log(wire, OPEN)
    assert (log.end(READ_COMMITTED), log.end()) == (0, 1)
    successor = TransactionalProducer(wire, "open")
    assert successor.start() == Code.NONE
    assert log.end(READ_COMMITTED) == log.end() == 2
    assert log.fetch(0, isolation=READ_COMMITTED).aborted == [(successor.producer_id, 0)]
    assert committed(wire, "open", log)[0] == -1


def test_the_log_goes_on_after_its_last_record(wire: Wire) -> None:
    log = Log(wire, LOADED)
    end = log.end()
    assert log.produce(batch([b"next"])) == (Code.NONE, end)


def test_an_open_transaction_of_a_silent_producer_is_aborted_in_time(wire: Wire) -> None:
    log = Log(wire, SILENT)
    wait_for("the transaction is aborted", lambda: log.end(READ_COMMITTED) == log.end() == 2)
