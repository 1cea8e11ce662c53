"""A namespace's consumer groups can be removed with it."""

from __future__ import annotations

import uuid

import pytest
from aiokafka import AIOKafkaConsumer

from strabo_topics import admin
from strabo_topics.groups import delete_groups
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def join_and_vanish(settings: KafkaSettings, group: str, member: str | None) -> None:
    """Join a group and go; a static member does not leave it by that."""
    consumer = AIOKafkaConsumer(
        settings.names.inbox,
        bootstrap_servers=settings.kafka_bootstrap_servers,
        group_id=group,
        group_instance_id=member,
        session_timeout_ms=60_000,
    )
    await consumer.start()
    await consumer.getmany(timeout_ms=500)
    await consumer.stop()


async def test_groups_go_also_when_a_static_member_has_not_left(kafka: BrokerService) -> None:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=kafka.bootstrap, namespace=f"groups-{uuid.uuid4().hex[:8]}", partitions=2
    )
    other = KafkaSettings.load(
        kafka_bootstrap_servers=kafka.bootstrap, namespace=f"{settings.namespace}-other"
    )
    await admin.ensure(settings)
    try:
        await join_and_vanish(settings, f"{settings.namespace}.static", "one")
        await join_and_vanish(settings, f"{settings.namespace}.dynamic", None)
        await join_and_vanish(settings, f"{other.namespace}.mine", None)
        assert await delete_groups(settings) == ()
        async with admin.admin_client(settings) as client:
            left = {name for name, _ in await client.list_consumer_groups()}
        assert f"{other.namespace}.mine" in left
        assert not [name for name in left if name.startswith(f"{settings.namespace}.")]
    finally:
        await admin.delete_namespace(settings)
        await delete_groups(other)
