"""On both brokers: what is planned is what is there afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strabo_topics import admin, clients
from strabo_topics.errors import BrokerRefused, BrokerUnreachable, TopicsRefused
from strabo_topics.layout import Topic, base_topics
from strabo_topics.plan import Plan, make_plan
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService


def changed(settings: KafkaSettings, **values: Any) -> KafkaSettings:
    return KafkaSettings.load(
        **{name: getattr(settings, name) for name in ("kafka_bootstrap_servers", "namespace", "partitions")}
        | values
    )


async def test_ensure_makes_every_base_topic_as_declared(namespace: KafkaSettings) -> None:
    await admin.ensure(namespace)
    found = await admin.find(namespace)
    assert set(found) == set(namespace.names.base)
    assert make_plan(base_topics(namespace), found) == Plan()


async def test_ensure_a_second_time_changes_nothing(namespace: KafkaSettings) -> None:
    await admin.ensure(namespace)
    before = await admin.find(namespace)
    await admin.ensure(changed(namespace, events_retention="1d"))
    assert await admin.find(namespace) == before


async def test_ensure_without_a_wish_takes_the_number_of_partitions_that_is_there(
    namespace: KafkaSettings,
) -> None:
    await admin.ensure(namespace)
    await admin.ensure(namespace.model_copy(update={"partitions": None}))
    assert await admin.partition_count(namespace, namespace.names.inbox) == 4


async def test_another_number_of_partitions_is_refused_and_changes_nothing(namespace: KafkaSettings) -> None:
    await admin.ensure(namespace)
    other = changed(namespace, partitions=8)
    with pytest.raises(TopicsRefused, match="it has 4 partitions, declared are 8"):
        await admin.ensure(other)
    plan = make_plan(base_topics(other), await admin.find(other))
    with pytest.raises(TopicsRefused, match="drain into a new namespace"):
        await admin.apply(other, plan)
    assert await admin.partition_count(namespace, namespace.names.inbox) == 4


async def test_a_changed_value_is_applied_and_all_others_stay_as_they_are(namespace: KafkaSettings) -> None:
    await admin.ensure(namespace)
    before = await admin.find(namespace)
    other = changed(namespace, events_retention="1d")
    plan = make_plan(base_topics(other), before)
    assert [(one.topic, one.key, one.new) for one in plan.change] == [
        (namespace.names.events, "retention.ms", "86400000")
    ]
    await admin.apply(other, plan)
    after = await admin.find(namespace)
    events = before[namespace.names.events]
    before[namespace.names.events] = replace(events, config={**events.config, "retention.ms": "86400000"})
    assert after == before


async def test_a_value_that_an_operator_set_is_kept_when_another_changes(namespace: KafkaSettings) -> None:
    topic = Topic(namespace.names.events, 4, {"retention.ms": "5000", "retention.bytes": "123456789"})
    await admin.apply(namespace, Plan(create=(topic,)))
    await admin.apply(namespace, make_plan(base_topics(namespace), await admin.find(namespace)))
    events = (await admin.find(namespace))[namespace.names.events]
    assert events.config["retention.bytes"] == "123456789"
    assert events.config["retention.ms"] != "5000"


async def test_a_value_that_the_broker_refuses_is_one_clear_error(namespace: KafkaSettings) -> None:
    topic = Topic(namespace.names.events, 4, {"cleanup.policy": "burn"})
    with pytest.raises(
        BrokerRefused, match=f"topic {namespace.names.events} was not made: the broker says: "
    ):
        await admin.apply(namespace, Plan(create=(topic,)))


async def test_deleting_a_namespace_leaves_its_neighbour_alone(namespace: KafkaSettings) -> None:
    neighbour = changed(namespace, namespace=f"{namespace.namespace}2")
    await admin.ensure(namespace)
    await admin.ensure(neighbour)
    assert set(await admin.delete_namespace(namespace)) == set(namespace.names.base)
    assert await admin.find(namespace) == {}
    assert set(await admin.find(neighbour)) == set(neighbour.names.base)
    await admin.delete_namespace(neighbour)


async def test_a_deleted_namespace_can_be_made_again_at_once(namespace: KafkaSettings) -> None:
    await admin.ensure(namespace)
    await admin.delete_namespace(namespace)
    await admin.ensure(namespace)
    assert set(await admin.find(namespace)) == set(namespace.names.base)


async def test_deleting_an_empty_namespace_does_nothing(namespace: KafkaSettings) -> None:
    assert await admin.delete_namespace(namespace) == ()


async def test_a_broker_that_goes_away_meanwhile_is_unreachable(fresh_broker: BrokerService) -> None:
    settings = KafkaSettings.load(kafka_bootstrap_servers=fresh_broker.bootstrap, namespace="gone")
    with pytest.raises(BrokerUnreachable, match=f"no Kafka broker answers at {fresh_broker.bootstrap}"):
        async with clients.admin_client(settings) as client:
            fresh_broker.kill()
            await client.describe_topics()
