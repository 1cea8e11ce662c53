"""Topics and configurations by request."""

from __future__ import annotations

import pytest

from strabo_broker.codes import ErrorCode
from strabo_broker.wire import admin, cluster
from tests.unit.strabo_broker.wire_client import WireClient

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


async def create(
    client: WireClient, *topics: admin.CreatableTopic, validate_only: bool = False
) -> list[ErrorCode]:
    answer = await client.ask(admin.CreateTopicsRequest(topics, 1_000, validate_only))
    return [ErrorCode(each.error_code) for each in answer.topics]


async def names(client: WireClient) -> list[str]:
    return [each.name for each in (await client.ask(cluster.MetadataRequest(None))).topics]


async def configs(client: WireClient, name: str = "t") -> dict[str, str]:
    """The configurations of a topic that are its own."""
    answer = await client.ask(admin.DescribeConfigsRequest((admin.DescribeConfigsResource(TOPIC, name),)))
    return {each.name: each.value for each in answer.results[0].configs if each.source == 1}


async def change(client: WireClient, *changes: tuple[str, int, str | None]) -> ErrorCode:
    wanted = admin.IncrementalAlterConfigsResource(
        TOPIC, "t", tuple(admin.ConfigChange(*each) for each in changes)
    )
    answer = await client.ask(admin.IncrementalAlterConfigsRequest((wanted,)))
    return ErrorCode(answer.resources[0].error_code)


async def test_a_topic_is_only_checked_when_that_is_all_that_is_wanted(client: WireClient) -> None:
    assert await create(client, admin.CreatableTopic("t", 1, 1), validate_only=True) == [ErrorCode.NONE]
    assert await names(client) == []


async def test_the_broker_chooses_where_the_creator_leaves_it_to(client: WireClient) -> None:
    answer = await client.ask(admin.CreateTopicsRequest((admin.CreatableTopic("t", -1, -1),), 1_000))
    assert (answer.topics[0].partitions, answer.topics[0].replication_factor) == (4, 1)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (admin.CreatableTopic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (admin.CreatableTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (admin.CreatableTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (admin.CreatableTopic("t", 1, 1, (admin.ReplicaAssignment(0, (1,)),)), ErrorCode.INVALID_REQUEST),
        (
            admin.CreatableTopic("t", -1, -1, (admin.ReplicaAssignment(0, (7,)),)),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            admin.CreatableTopic("t", -1, -1, (admin.ReplicaAssignment(1, (1,)),)),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        (admin.CreatableTopic("t", -1, -1, (admin.ReplicaAssignment(0, (1,)),)), ErrorCode.NONE),
        (
            admin.CreatableTopic("t", 1, 1, configs=(admin.TopicConfig("nonsense", "1"),)),
            ErrorCode.INVALID_CONFIG,
        ),
    ],
)
async def test_a_topic_that_cannot_be_is_refused(
    client: WireClient, topic: admin.CreatableTopic, code: ErrorCode
) -> None:
    assert await create(client, topic) == [code]
    assert await names(client) == (["t"] if code is ErrorCode.NONE else [])


async def test_a_name_given_twice_is_made_neither_time(client: WireClient) -> None:
    topic = admin.CreatableTopic("t", 1, 1)
    assert await create(client, topic, topic) == [ErrorCode.INVALID_REQUEST] * 2
    assert await names(client) == []


async def test_a_deleted_topic_is_gone_and_deleting_it_again_is_refused(client: WireClient) -> None:
    await create(client, admin.CreatableTopic("t", 1, 1))
    for code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        answer = await client.ask(admin.DeleteTopicsRequest(("t",), 1_000))
        assert answer.topics[0].error_code == code
    assert await names(client) == []


@pytest.mark.parametrize(("count", "code"), [(2, ErrorCode.INVALID_PARTITIONS), (5, ErrorCode.NONE)])
async def test_partitions_can_be_added_only(client: WireClient, count: int, code: ErrorCode) -> None:
    await create(client, admin.CreatableTopic("t", 3, 1))
    answer = await client.ask(admin.CreatePartitionsRequest((admin.CreatePartitionsTopic("t", count, None),)))
    assert answer.results[0].error_code == code
    topic = (await client.ask(cluster.MetadataRequest(None))).topics[0]
    assert len(topic.partitions) == (5 if code is ErrorCode.NONE else 3)


async def test_altering_replaces_every_configuration(client: WireClient) -> None:
    await create(
        client, admin.CreatableTopic("t", 1, 1, configs=(admin.TopicConfig("cleanup.policy", "compact"),))
    )
    wanted = admin.AlterConfigsResource(TOPIC, "t", (admin.TopicConfig("retention.ms", "5"),))
    assert (await client.ask(admin.AlterConfigsRequest((wanted,)))).resources[0].error_code == ErrorCode.NONE
    assert await configs(client) == {"retention.ms": "5"}


async def test_changing_leaves_other_configurations_alone(client: WireClient) -> None:
    await create(client, admin.CreatableTopic("t", 1, 1, configs=(admin.TopicConfig("retention.ms", "5"),)))
    assert await change(client, ("cleanup.policy", APPEND, "compact")) is ErrorCode.NONE
    assert await configs(client) == {"retention.ms": "5", "cleanup.policy": "delete,compact"}
    assert await change(client, ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, None)) == 0
    assert await configs(client) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", APPEND, "5"), ErrorCode.INVALID_CONFIG),
        (("nonsense", SET, "5"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", 9, "5"), ErrorCode.INVALID_CONFIG),
    ],
)
async def test_a_wrong_change_is_refused_and_nothing_of_it_is_done(
    client: WireClient, wrong: tuple[str, int, str | None], code: ErrorCode
) -> None:
    await create(client, admin.CreatableTopic("t", 1, 1))
    assert await change(client, ("retention.bytes", SET, "7"), wrong) is code
    assert await configs(client) == {}


async def test_the_brokers_own_configuration_is_told_and_cannot_be_changed(client: WireClient) -> None:
    asked = admin.DescribeConfigsResource(BROKER, "1", ("auto.create.topics.enable",))
    answer = await client.ask(admin.DescribeConfigsRequest((asked,)))
    assert [(each.value, each.read_only) for each in answer.results[0].configs] == [("false", True)]
    wanted = admin.AlterConfigsResource(BROKER, "1", (admin.TopicConfig("num.partitions", "9"),))
    altered = await client.ask(admin.AlterConfigsRequest((wanted,)))
    assert altered.resources[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("kind", "name"), [(BROKER, "7"), (99, "t"), (TOPIC, "nowhere")])
async def test_the_configuration_of_nothing_is_refused(client: WireClient, kind: int, name: str) -> None:
    answer = await client.ask(admin.DescribeConfigsRequest((admin.DescribeConfigsResource(kind, name),)))
    assert answer.results[0].error_code != ErrorCode.NONE
    assert answer.results[0].configs == ()


async def test_a_configurations_origins_are_told_when_asked_for(client: WireClient) -> None:
    await create(client, admin.CreatableTopic("t", 1, 1, configs=(admin.TopicConfig("retention.ms", "5"),)))
    asked = admin.DescribeConfigsResource(TOPIC, "t", ("retention.ms",))
    answer = await client.ask(admin.DescribeConfigsRequest((asked,), include_synonyms=True))
    assert [(each.value, each.source) for each in answer.results[0].configs[0].synonyms] == [
        ("5", 1),
        ("604800000", 5),
    ]
