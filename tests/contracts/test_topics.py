"""Topics: created, found, refused and deleted as on Apache Kafka."""

from __future__ import annotations

import asyncio
from typing import Any

import confluent_kafka.admin
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest
from aiokafka.protocol.metadata import MetadataRequest

from tests.contracts.client import wait_for
from tests.contracts.wire import Code, Log, Wire, batch, create_topic, delete_topic, topic_metadata
from tests.support.services import BrokerService


def test_a_created_topic_is_found_with_its_partitions(wire: Wire, unique: str) -> None:
    assert create_topic(wire, unique, partitions=3) == Code.NONE
    assert topic_metadata(wire, [unique]) == {unique: (Code.NONE, [0, 1, 2])}
    assert topic_metadata(wire, None)[unique] == (Code.NONE, [0, 1, 2])


def test_every_partition_has_the_node_as_its_leader(wire: Wire, topic: str) -> None:
    answer = wire.ask(MetadataRequest([topic], False)).to_object()
    nodes = [node["node_id"] for node in answer["brokers"]]
    assert [part["leader"] for part in answer["topics"][0]["partitions"]] == nodes
    assert answer["controller_id"] in nodes


def test_asking_for_an_unknown_topic_does_not_create_it(wire: Wire, unique: str) -> None:
    allowing_creation = MetadataRequest([unique], True)
    assert (
        wire.ask(allowing_creation).to_object()["topics"][0]["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert unique not in topic_metadata(wire, None)


def test_a_name_is_taken_once(wire: Wire, topic: str) -> None:
    assert create_topic(wire, topic) == Code.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("name", ["", ".", "..", "two words", "tür", "a/b", "x" * 250])
def test_an_invalid_name_is_refused(wire: Wire, name: str) -> None:
    assert create_topic(wire, name) == Code.INVALID_TOPIC


def test_the_longest_name_is_taken(wire: Wire, unique: str) -> None:
    assert create_topic(wire, unique + "x" * (249 - len(unique))) == Code.NONE


def test_names_that_differ_in_dot_and_underscore_alone_collide(wire: Wire, unique: str) -> None:
    assert create_topic(wire, f"{unique}.a") == Code.NONE
    assert create_topic(wire, f"{unique}_a") == Code.INVALID_TOPIC


@pytest.mark.parametrize("partitions", [0, -2])
def test_an_invalid_number_of_partitions_is_refused(wire: Wire, unique: str, partitions: int) -> None:
    assert create_topic(wire, unique, partitions) == Code.INVALID_PARTITIONS
    assert unique not in topic_metadata(wire, None)


@pytest.mark.parametrize("replication", [0, 2])
def test_replication_that_one_node_cannot_give_is_refused(wire: Wire, unique: str, replication: int) -> None:
    assert create_topic(wire, unique, replication=replication) == Code.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    "config",
    [{"no.such.setting": "1"}, {"retention.ms": "soon"}, {"cleanup.policy": "burn"}, {"retention.ms": "-2"}],
)
def test_an_invalid_configuration_is_refused(wire: Wire, unique: str, config: dict[str, str]) -> None:
    assert create_topic(wire, unique, config=config) == Code.INVALID_CONFIG
    assert unique not in topic_metadata(wire, None)


def test_one_refused_topic_does_not_hinder_the_others(wire: Wire, unique: str) -> None:
    wanted: list[Any] = [(f"{unique}-{index}", count, 1, [], []) for index, count in enumerate([1, 0, 1])]
    answer = wire.ask(CreateTopicsRequest(wanted, 10_000, False))
    codes = {name: code for name, code, *_ in answer.topic_errors}
    assert codes == {f"{unique}-0": 0, f"{unique}-1": Code.INVALID_PARTITIONS, f"{unique}-2": 0}


def test_one_name_twice_in_a_request_is_refused(wire: Wire, unique: str) -> None:
    answer = wire.ask(CreateTopicsRequest([(unique, 1, 1, [], [])] * 2, 10_000, False))
    assert {code for _name, code, *_ in answer.topic_errors} == {Code.INVALID_REQUEST}
    assert unique not in topic_metadata(wire, None)


def test_validating_alone_creates_nothing(wire: Wire, unique: str) -> None:
    answer = wire.ask(CreateTopicsRequest([(unique, 1, 1, [], [])], 10_000, True))
    assert answer.topic_errors[0][1] == Code.NONE
    assert unique not in topic_metadata(wire, None)


def test_validating_alone_finds_what_is_wrong(wire: Wire, topic: str) -> None:
    answer = wire.ask(CreateTopicsRequest([(topic, 1, 1, [], [])], 10_000, True))
    assert answer.topic_errors[0][1] == Code.TOPIC_ALREADY_EXISTS


def test_deleting_an_unknown_topic_is_refused(wire: Wire, unique: str) -> None:
    assert delete_topic(wire, unique) == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_several_topics_are_deleted_at_once(wire: Wire, unique: str) -> None:
    create_topic(wire, f"{unique}-1")
    create_topic(wire, f"{unique}-2")
    answer = wire.ask(DeleteTopicsRequest([f"{unique}-1", f"{unique}-none", f"{unique}-2"], 10_000))
    assert dict(answer.topic_error_codes) == {
        f"{unique}-1": Code.NONE,
        f"{unique}-none": Code.UNKNOWN_TOPIC_OR_PARTITION,
        f"{unique}-2": Code.NONE,
    }


def test_a_deleted_topic_is_gone_and_comes_back_empty(wire: Wire, topic: str) -> None:
    log = Log(wire, topic)
    assert log.produce(batch([b"old"])) == (Code.NONE, 0)
    assert delete_topic(wire, topic) == Code.NONE
    wait_for("the topic is gone", lambda: topic not in topic_metadata(wire, None))
    assert log.produce(batch([b"lost"]))[0] == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert create_topic(wire, topic) == Code.NONE
    assert log.end() == 0
    assert log.produce(batch([b"new"])) == (Code.NONE, 0)
    assert log.fetch(0).values == [b"new"]


def test_aiokafka_creates_lists_and_deletes_a_topic(broker: BrokerService, wire: Wire, unique: str) -> None:
    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(unique, 2, 1)])
            assert unique in await admin.list_topics()
            await admin.delete_topics([unique])
        finally:
            await admin.close()

    asyncio.run(work())
    wait_for("the topic is gone", lambda: unique not in topic_metadata(wire, None))


def test_confluent_creates_lists_and_deletes_a_topic(broker: BrokerService, unique: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    new = confluent_kafka.admin.NewTopic(unique, num_partitions=2, replication_factor=1)
    admin.create_topics([new])[unique].result(20)
    wait_for("the topic is listed", lambda: unique in admin.list_topics(timeout=20).topics)
    assert len(admin.list_topics(unique, timeout=20).topics[unique].partitions) == 2
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        admin.create_topics([new])[unique].result(20)
    assert refused.value.args[0].code() == Code.TOPIC_ALREADY_EXISTS
    admin.delete_topics([unique])[unique].result(20)
    wait_for("the topic is gone", lambda: unique not in admin.list_topics(timeout=20).topics)
