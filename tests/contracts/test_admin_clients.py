"""What the two admin clients, and the tools built on them, ask besides topics and their configuration."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import confluent_kafka.admin
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.protocol.group import MemberAssignment, ProtocolMetadata
from confluent_kafka import ConsumerGroupTopicPartitions

from tests.contracts.client import RefusedError, wait_for
from tests.contracts.confluent_client import refusals
from tests.contracts.group_member import GroupMember, commit_without_membership, committed, settle
from tests.contracts.wire import (
    EARLIEST,
    Code,
    Log,
    Wire,
    batch,
    create_topic,
    group_description,
    topic_metadata,
)
from tests.support.services import BrokerService

# Younger than the retention time of a topic.
START = (time.time_ns() // 1_000_000) - 3_600_000
Aiokafka = Callable[[Callable[[AIOKafkaAdminClient], Awaitable[Any]]], Any]


@pytest.fixture
def confluent(broker: BrokerService) -> confluent_kafka.admin.AdminClient:
    """confluent-kafka's admin client."""
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def aiokafka(broker: BrokerService) -> Aiokafka:
    """Do something with aiokafka's admin client."""

    def run(work: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
            await admin.start()
            try:
                return await work(admin)
            finally:
                await admin.close()

        return asyncio.run(whole())

    return run


def ten_records(wire: Wire, topic: str) -> Log:
    """A log with one record a batch, 10 ms apart."""
    log = Log(wire, topic)
    for number in range(10):
        log.produce(batch([f"{number}".encode()], timestamps=[START + 10 * number]))
    return log


def test_aiokafka_deletes_records(aiokafka: Aiokafka, wire: Wire, topic: str) -> None:
    log = ten_records(wire, topic)
    place = TopicPartition(topic, 0)
    assert aiokafka(lambda admin: admin.delete_records({place: RecordsToDelete(4)})) == {place: 4}
    assert log.offset(EARLIEST) == (Code.NONE, 4)
    assert log.fetch(3).code == Code.OFFSET_OUT_OF_RANGE
    assert log.fetch(4).values == [f"{number}".encode() for number in range(4, 10)]


def test_confluent_deletes_records_up_to_the_end(
    confluent: confluent_kafka.admin.AdminClient, wire: Wire, topic: str
) -> None:
    log = ten_records(wire, topic)
    place = confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_END)
    assert next(iter(confluent.delete_records([place]).values())).result(20).low_watermark == 10
    assert log.offset(EARLIEST) == (Code.NONE, 10)


def test_records_beyond_the_end_cannot_be_deleted(
    confluent: confluent_kafka.admin.AdminClient, wire: Wire, topic: str
) -> None:
    ten_records(wire, topic)
    place = confluent_kafka.TopicPartition(topic, 0, 11)
    with pytest.raises(RefusedError) as refused, refusals():
        next(iter(confluent.delete_records([place]).values())).result(20)
    assert refused.value.code == Code.OFFSET_OUT_OF_RANGE


def test_aiokafka_adds_partitions(aiokafka: Aiokafka, wire: Wire, topic: str) -> None:
    aiokafka(lambda admin: admin.create_partitions({topic: NewPartitions(3)}))
    wait_for("it has three", lambda: topic_metadata(wire, [topic])[topic][1] == [0, 1, 2])


def test_partitions_cannot_be_taken_away(
    confluent: confluent_kafka.admin.AdminClient, wire: Wire, unique: str
) -> None:
    create_topic(wire, unique, partitions=2)
    new = confluent_kafka.admin.NewPartitions(unique, 1)
    with pytest.raises(RefusedError) as refused, refusals():
        confluent.create_partitions([new])[unique].result(20)
    assert refused.value.code == Code.INVALID_PARTITIONS


def test_confluent_adds_partitions_that_can_be_written(
    confluent: confluent_kafka.admin.AdminClient, wire: Wire, topic: str
) -> None:
    confluent.create_partitions([confluent_kafka.admin.NewPartitions(topic, 2)])[topic].result(20)
    log = Log(wire, topic, 1)
    wait_for("the new one is led", lambda: log.offset(EARLIEST)[0] == Code.NONE)
    assert log.produce(batch([b"x"])) == (Code.NONE, 0)


def test_both_list_and_describe_groups(
    aiokafka: Aiokafka,
    confluent: confluent_kafka.admin.AdminClient,
    connect: Callable[[], Wire],
    unique: str,
) -> None:
    subscription = ProtocolMetadata(0, [unique], b"").encode()
    member = GroupMember(connect(), unique, protocols=[("range", subscription)])
    member.take_id()
    assert member.join() == Code.NONE
    share = MemberAssignment(0, [(unique, [0])], b"").encode()
    assert member.sync({member.member_id: share}) == (Code.NONE, share)
    assert (unique, "consumer") in [
        tuple(group) for group in aiokafka(lambda one: one.list_consumer_groups())
    ]
    listed = {group.group_id: group for group in confluent.list_consumer_groups().result(20).valid}
    assert listed[unique].state == confluent_kafka.ConsumerGroupState.STABLE
    described = confluent.describe_consumer_groups([unique])[unique].result(20)
    assert [one.member_id for one in described.members] == [member.member_id]
    assert described.partition_assignor == "range"


def test_both_find_the_positions_of_a_group(
    aiokafka: Aiokafka,
    confluent: confluent_kafka.admin.AdminClient,
    wire: Wire,
    topic: str,
    unique: str,
) -> None:
    commit_without_membership(wire, unique, Log(wire, topic), 7)
    found = aiokafka(lambda admin: admin.list_consumer_group_offsets(unique))
    assert {(place.topic, place.partition): one.offset for place, one in found.items()} == {(topic, 0): 7}
    wanted = ConsumerGroupTopicPartitions(unique)
    positions = confluent.list_consumer_group_offsets([wanted])[unique].result(20).topic_partitions
    assert [(one.topic, one.partition, one.offset) for one in positions] == [(topic, 0, 7)]


def test_confluent_sets_the_positions_of_a_group_without_members(
    confluent: confluent_kafka.admin.AdminClient, wire: Wire, topic: str, unique: str
) -> None:
    place = confluent_kafka.TopicPartition(topic, 0, 4)
    wanted = ConsumerGroupTopicPartitions(unique, [place])
    confluent.alter_consumer_group_offsets([wanted])[unique].result(20)
    assert committed(wire, unique, Log(wire, topic))[0] == 4


def test_a_group_without_members_is_deleted_with_its_positions(
    confluent: confluent_kafka.admin.AdminClient, wire: Wire, topic: str, unique: str
) -> None:
    log = Log(wire, topic)
    commit_without_membership(wire, unique, log, 7)
    confluent.delete_consumer_groups([unique])[unique].result(20)
    assert committed(wire, unique, log)[0] == -1
    assert group_description(wire, unique)[2] == "Dead"


def test_a_group_with_members_is_not_deleted(
    confluent: confluent_kafka.admin.AdminClient, connect: Callable[[], Wire], unique: str
) -> None:
    member = GroupMember(connect(), unique)
    settle(member)
    with pytest.raises(RefusedError) as refused, refusals():
        confluent.delete_consumer_groups([unique])[unique].result(20)
    assert refused.value.code == Code.NON_EMPTY_GROUP
    assert member.heartbeat() == Code.NONE


def test_an_unknown_group_is_not_deleted(confluent: confluent_kafka.admin.AdminClient, unique: str) -> None:
    with pytest.raises(RefusedError) as refused, refusals():
        confluent.delete_consumer_groups([unique])[unique].result(20)
    assert refused.value.code == Code.GROUP_ID_NOT_FOUND


def test_both_find_offsets_by_time(broker: BrokerService, wire: Wire, topic: str) -> None:
    ten_records(wire, topic)

    async def by_aiokafka() -> tuple[int, int]:
        place = TopicPartition(topic, 0)
        async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
            found = await consumer.offsets_for_times({place: START + 35})
            nothing = await consumer.offsets_for_times({place: START + 1_000})
        assert nothing[place] is None
        return found[place].offset, found[place].timestamp

    assert asyncio.run(by_aiokafka()) == (4, START + 40)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused"})
    wanted = [confluent_kafka.TopicPartition(topic, 0, START + 35)]
    assert [place.offset for place in consumer.offsets_for_times(wanted, 20)] == [4]
    assert consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), 20) == (0, 10)
    consumer.close()


def test_the_cluster_is_described(
    confluent: confluent_kafka.admin.AdminClient, broker: BrokerService
) -> None:
    cluster = confluent.describe_cluster().result(20)
    assert cluster.cluster_id
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [broker.bootstrap]
    assert cluster.controller.id == cluster.nodes[0].id
