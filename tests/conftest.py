"""Brokers for every test: the embedded one, Apache Kafka, and each test on both.

`broker` is shared by all tests of a run (of one worker under `pytest -n`): use topics and groups of your own
and do not end it. `fresh_broker` belongs to one test, which may kill it. Where Apache Kafka cannot be started
its tests are skipped with a hint; with CI=true they fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.brokers import BROKERS, start_broker, started
from tests.support.embedded_service import EmbeddedBroker
from tests.support.kafka_service import running_kafka, start_kafka
from tests.support.services import BrokerService


@pytest.fixture(scope="session")
def embedded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """The embedded broker, shared."""
    folder = tmp_path_factory.mktemp("embedded-broker")
    with started(lambda: EmbeddedBroker(folder)) as service:
        yield service


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerService]:
    """Apache Kafka, shared. Mark tests that ask for it with `pytest.mark.kafka`."""
    folder = tmp_path_factory.mktemp("kafka")
    with started(lambda: running_kafka() or start_kafka(folder)) as service:
        yield service


@pytest.fixture(scope="session", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> BrokerService:
    """Each of the two brokers in turn, shared."""
    fixture = {"embedded": "embedded_broker", "kafka": "kafka"}[request.param]
    service: BrokerService = request.getfixturevalue(fixture)
    return service


@pytest.fixture(params=BROKERS)
def fresh_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerService]:
    """Each of the two brokers in turn, started for this test alone."""
    folder = tmp_path / "broker"
    folder.mkdir()
    with started(lambda: start_broker(request.param, folder)) as service:
        yield service
