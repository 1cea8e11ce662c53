"""A broker of one's own, in this process, and a bare client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from strabo_broker import Broker, BrokerSettings
from strabo_broker.cache import TailCache
from strabo_broker.store import Store
from strabo_broker.topics import Topics
from tests.unit.strabo_broker.wire_client import WireClient


@pytest.fixture
async def own_broker() -> AsyncIterator[Broker]:
    broker = Broker(BrokerSettings())
    await broker.start()
    yield broker
    await broker.stop()


@pytest.fixture
async def client(own_broker: Broker) -> AsyncIterator[WireClient]:
    client = await WireClient.connect(own_broker.bootstrap)
    yield client
    await client.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(tmp_path, synchronous="off")
    yield store
    store.close()


@pytest.fixture
def topics(store: Store) -> Topics:
    return Topics(store, TailCache(1 << 20))
