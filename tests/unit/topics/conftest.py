"""A namespace of its own on the shared broker, for the tests that need one."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService


@pytest.fixture
async def namespace(broker: BrokerService) -> AsyncIterator[KafkaSettings]:
    """Settings of an empty namespace with 4 partitions, deleted afterwards."""
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=broker.bootstrap, namespace=f"test-{uuid.uuid4().hex[:8]}", partitions=4
    )
    yield settings
    await admin.delete_namespace(settings)
