"""Brokers for every test: the embedded one, Apache Kafka, and each test on both.

`broker` is shared by all tests of a run (of one worker under `pytest -n`): use topics and groups of your own
and do not end it. `fresh_broker` belongs to one test, which may kill it. Where Apache Kafka cannot be started
its tests are skipped with a hint; with CI=true they fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.embedded_service import EmbeddedBroker
from tests.support.kafka_service import running_kafka, start_kafka
from tests.support.services import BrokerService, ServiceUnavailableError, running_in_ci

BROKERS = [pytest.param("embedded"), pytest.param("kafka", marks=pytest.mark.kafka)]
Service = TypeVar("Service", bound=BrokerService)


@pytest.fixture(scope="session")
def embedded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """The embedded broker, shared."""
    with _stopped_at_the_end(lambda: EmbeddedBroker(tmp_path_factory.mktemp("embedded-broker"))) as service:
        yield service


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerService]:
    """Apache Kafka, shared. Mark tests that ask for it with `pytest.mark.kafka`."""
    folder = tmp_path_factory.mktemp("kafka")
    with _stopped_at_the_end(lambda: running_kafka() or start_kafka(folder)) as service:
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
    starts: dict[str, Callable[[Path], BrokerService]] = {"embedded": EmbeddedBroker, "kafka": start_kafka}
    start = starts[request.param]
    with _stopped_at_the_end(lambda: start(folder)) as service:
        yield service


@contextmanager
def _stopped_at_the_end(start: Callable[[], Service]) -> Iterator[Service]:
    try:
        service = start()
    except ServiceUnavailableError as error:
        if running_in_ci():
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    try:
        yield service
    finally:
        service.stop()
