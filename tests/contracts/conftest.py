"""What the contract tests share: names of their own, topics, a connection, and both clients."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.contracts.client import Client
from tests.contracts.clients import CLIENTS
from tests.contracts.wire import Code, Wire, create_topic
from tests.support.services import BrokerService


@pytest.fixture
def unique() -> str:
    """A name that no other test has, for topics, groups and transactional ids."""
    return f"contract-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def wire(broker: BrokerService) -> Iterator[Wire]:
    """A connection to the shared broker."""
    with Wire(broker.bootstrap) as connection:
        yield connection


@pytest.fixture
def connect(broker: BrokerService) -> Iterator[Callable[[], Wire]]:
    """Further connections to the shared broker."""
    opened: list[Wire] = []

    def open_another() -> Wire:
        opened.append(Wire(broker.bootstrap))
        return opened[-1]

    yield open_another
    for connection in opened:
        connection.close()


@pytest.fixture
def topic(wire: Wire, unique: str) -> str:
    """A topic of one partition, with nothing in it."""
    assert create_topic(wire, unique) == Code.NONE
    return unique


@pytest.fixture(params=CLIENTS)
def client(broker: BrokerService, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Each of the two clients in turn."""
    used = CLIENTS[request.param](broker.bootstrap)
    yield used
    used.close()


@pytest.fixture(params=CLIENTS)
def other_client(broker: BrokerService, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Each of the two clients in turn, beside `client`: all four pairs."""
    used = CLIENTS[request.param](broker.bootstrap)
    yield used
    used.close()
