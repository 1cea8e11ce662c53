"""The broker as a whole: starting and refusing to, restarting, failing, and long polls."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from pathlib import Path

import pytest

from strabo_broker import Broker, BrokerSettings, errors
from strabo_broker.codes import ErrorCode
from strabo_broker.store import Store
from strabo_broker.wire import admin, cluster, offsets, records, transactions
from tests.unit.strabo_broker.building import batch
from tests.unit.strabo_broker.wire_client import WireClient


async def create_topic(client: WireClient, name: str, partitions: int = 1, **configs: str) -> None:
    wanted = tuple(admin.TopicConfig(key.replace("_", "."), value) for key, value in configs.items())
    answer = await client.ask(
        admin.CreateTopicsRequest((admin.CreatableTopic(name, partitions, 1, configs=wanted),), 1_000)
    )
    assert answer.topics[0].error_code == ErrorCode.NONE


def produce(topic: str, *produced: bytes, acks: int = -1) -> records.ProduceRequest:
    partitions = tuple(records.ProducePartition(index, each) for index, each in enumerate(produced))
    return records.ProduceRequest(None, acks, 1_000, (records.ProduceTopic(topic, partitions),))


def fetch(topic: str, offset: int, *, wait_ms: int = 10_000, isolation: int = 0) -> records.FetchRequest:
    partition = records.FetchPartition(0, fetch_offset=offset, maximum_bytes=1 << 20)
    return records.FetchRequest(
        maximum_wait_ms=wait_ms,
        minimum_bytes=1,
        isolation_level=isolation,
        topics=(records.FetchTopic(topic, (partition,)),),
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
async def test_it_refuses_to_listen_beyond_this_machine(host: str) -> None:
    with pytest.raises(errors.NotLoopback, match="will not listen"):
        await Broker(BrokerSettings(host=host)).start()


async def test_it_listens_beyond_this_machine_when_told_to_and_names_the_machine_to_its_clients() -> None:
    broker = Broker(BrokerSettings(host="0.0.0.0", allow_remote=True))
    await broker.start()
    try:
        assert broker.bootstrap.rpartition(":")[0] == socket.gethostname()
    finally:
        await broker.stop()


async def test_a_port_in_use_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(errors.PortInUse) as error:
        await Broker(BrokerSettings(port=taken.getsockname()[1])).start()
    assert "\n" not in str(error.value)


async def test_an_unknown_host_is_told_in_one_line() -> None:
    with pytest.raises(errors.AddressUnavailable, match=r"no-such-host\.invalid"):
        await Broker(BrokerSettings(host="no-such-host.invalid", allow_remote=True)).start()


async def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.DataDirUnwritable, match="cannot be used"):
        await Broker(BrokerSettings(data_dir=tmp_path / "file")).start()


async def test_a_data_folder_has_one_broker_at_a_time(tmp_path: Path) -> None:
    broker = Broker(BrokerSettings(data_dir=tmp_path))
    await broker.start()
    with pytest.raises(errors.DataDirLocked, match="another broker"):
        await Broker(BrokerSettings(data_dir=tmp_path)).start()
    await broker.stop()
    again = Broker(BrokerSettings(data_dir=tmp_path))
    await again.start()
    await again.stop()


async def test_a_broker_that_did_not_start_leaves_port_and_folder_free(tmp_path: Path) -> None:
    (tmp_path / "broker.sqlite").write_bytes(b"something else that is no database, at some length" * 50)
    with pytest.raises(errors.DataDirUnreadable):
        await Broker(BrokerSettings(data_dir=tmp_path)).start()
    (tmp_path / "broker.sqlite").unlink()
    broker = Broker(BrokerSettings(data_dir=tmp_path))
    await broker.start()
    await broker.stop()


async def test_a_damaged_log_is_told_in_one_line(tmp_path: Path) -> None:
    broker = Broker(BrokerSettings(data_dir=tmp_path))
    await broker.start()
    client = await WireClient.connect(broker.bootstrap)
    await create_topic(client, "t", 50)
    await client.close()
    await broker.stop()
    log = bytearray((tmp_path / "broker.sqlite").read_bytes())
    log[4096:] = bytes(len(log) - 4096)
    (tmp_path / "broker.sqlite").write_bytes(log)
    with pytest.raises(errors.DataDirUnreadable, match="damaged") as error:
        await Broker(BrokerSettings(data_dir=tmp_path)).start()
    assert "\n" not in str(error.value)


async def test_a_temporary_folder_is_removed(own_broker: Broker) -> None:
    assert own_broker._data_dir is not None
    folder = own_broker._data_dir.path
    assert folder.exists()
    await own_broker.stop()
    assert not folder.exists()


async def test_stopping_twice_or_before_the_start_is_harmless() -> None:
    broker = Broker(BrokerSettings())
    await broker.stop()
    await broker.start()
    await broker.stop()
    await broker.stop()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = BrokerSettings(data_dir=tmp_path)
    broker = Broker(settings)
    await broker.start()
    client = await WireClient.connect(broker.bootstrap)
    await create_topic(client, "t", 2, cleanup_policy="compact")
    await client.ask(produce("t", batch((b"k", b"v"), producer_id=9, epoch=0, sequence=0)))
    position = offsets.OffsetCommitTopic("t", (offsets.OffsetCommitPartition(0, 1, metadata="note"),))
    await client.ask(offsets.OffsetCommitRequest("g", topics=(position,)))
    first = await client.ask(transactions.InitProducerIdRequest("x", 1_000))
    cluster_id = (await client.ask(cluster.MetadataRequest(()))).cluster_id
    await client.close()
    await broker.stop()

    broker = Broker(settings)
    await broker.start()
    client = await WireClient.connect(broker.bootstrap)
    metadata = await client.ask(cluster.MetadataRequest(None))
    assert metadata.cluster_id == cluster_id
    assert [(each.name, len(each.partitions)) for each in metadata.topics] == [("t", 2)]
    repeated = await client.ask(produce("t", batch((b"k", b"v"), producer_id=9, epoch=0, sequence=0)))
    assert repeated.topics[0].partitions[0].base_offset == 0
    found = await client.ask(offsets.OffsetFetchRequest("g", (offsets.OffsetFetchTopic("t", (0,)),)))
    assert (found.topics[0].partitions[0].offset, found.topics[0].partitions[0].metadata) == (1, "note")
    second = await client.ask(transactions.InitProducerIdRequest("x", 1_000))
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, first.producer_epoch + 1)
    await client.close()
    await broker.stop()


async def test_asking_for_a_topic_does_not_make_it(client: WireClient) -> None:
    asked = cluster.MetadataRequest(
        (cluster.MetadataRequestTopic("nowhere"),), allow_auto_topic_creation=True
    )
    assert (await client.ask(asked)).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await client.ask(cluster.MetadataRequest(None))).topics == ()


async def test_a_waiting_fetch_is_answered_by_the_next_record(own_broker: Broker, client: WireClient) -> None:
    await create_topic(client, "t")
    reader = await WireClient.connect(own_broker.bootstrap)
    waiting = asyncio.create_task(reader.ask(fetch("t", 0)))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    sent = batch((b"k", b"v"))
    await client.ask(produce("t", sent))
    (found,) = (await waiting).topics[0].partitions
    assert found.records[16:] == sent[16:]
    await reader.close()


async def test_a_reader_of_committed_records_waits_for_the_commit(
    own_broker: Broker, client: WireClient
) -> None:
    await create_topic(client, "t")
    reader = await WireClient.connect(own_broker.bootstrap)
    waiting = asyncio.create_task(reader.ask(fetch("t", 0, isolation=1)))
    given = await client.ask(transactions.InitProducerIdRequest("x", 10_000))
    who = ("x", given.producer_id, given.producer_epoch)
    topic = transactions.AddPartitionsToTxnTopic("t", (0,))
    await client.ask(transactions.AddPartitionsToTxnRequest(*who, (topic,)))
    await client.ask(produce("t", batch(producer_id=who[1], epoch=who[2], sequence=0, transactional=True)))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await client.ask(transactions.EndTxnRequest(*who, committed=True))
    assert (await waiting).topics[0].partitions[0].last_stable_offset == 2
    await reader.close()


async def test_a_waiting_fetch_learns_that_its_topic_is_gone(own_broker: Broker, client: WireClient) -> None:
    await create_topic(client, "t")
    reader = await WireClient.connect(own_broker.bootstrap)
    waiting = asyncio.create_task(reader.ask(fetch("t", 0)))
    await asyncio.sleep(0.05)
    await client.ask(admin.DeleteTopicsRequest(("t",), 1_000))
    assert (await waiting).topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await reader.close()


async def test_a_transaction_past_its_time_is_aborted_without_anyone_asking(client: WireClient) -> None:
    await create_topic(client, "t")
    given = await client.ask(transactions.InitProducerIdRequest("x", 50))
    topic = transactions.AddPartitionsToTxnTopic("t", (0,))
    who = ("x", given.producer_id, given.producer_epoch)
    await client.ask(transactions.AddPartitionsToTxnRequest(*who, (topic,)))
    sent = batch(producer_id=who[1], epoch=who[2], sequence=0, transactional=True)
    await client.ask(produce("t", sent))
    # The reader waits for the marker, which nobody but the broker writes.
    answer = await client.ask(fetch("t", 1, isolation=1))
    assert answer.topics[0].partitions[0].last_stable_offset == 2
    assert (
        await client.ask(transactions.EndTxnRequest(*who, committed=True))
    ).error_code == ErrorCode.PRODUCER_FENCED


async def test_a_fault_in_one_look_for_what_is_due_does_not_end_those_that_follow(
    own_broker: Broker, client: WireClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_once() -> None:
        monkeypatch.undo()
        raise KeyError("a fault")

    monkeypatch.setattr(own_broker._groups, "tick", fail_once)
    await create_topic(client, "t")
    given = await client.ask(transactions.InitProducerIdRequest("x", 50))
    who = ("x", given.producer_id, given.producer_epoch)
    topic = transactions.AddPartitionsToTxnTopic("t", (0,))
    await client.ask(transactions.AddPartitionsToTxnRequest(*who, (topic,)))
    sent = batch(producer_id=who[1], epoch=who[2], sequence=0, transactional=True)
    await client.ask(produce("t", sent))

    answer = await client.ask(fetch("t", 1, isolation=1))

    assert answer.topics[0].partitions[0].last_stable_offset == 2


async def test_an_unacknowledged_produce_that_fails_ends_the_connection(client: WireClient) -> None:
    from tests.unit.strabo_broker.wire_client import frame_of

    client.send(frame_of(produce("nowhere", batch(), acks=0)))
    assert await client.is_closed()


async def test_a_log_that_cannot_be_written_ends_every_connection_and_is_told(
    own_broker: Broker, client: WireClient
) -> None:
    class Refusing:
        def save(self, _: Store) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    await create_topic(client, "t")
    other = await WireClient.connect(own_broker.bootstrap)
    own_broker.store.changed(Refusing())
    from tests.unit.strabo_broker.wire_client import frame_of

    client.send(frame_of(produce("t", batch())))
    assert await client.is_closed()
    assert await other.is_closed()
    with pytest.raises(errors.StorageFailed, match="disk is full"):
        await own_broker.wait_failed()
