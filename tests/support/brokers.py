"""The two brokers that tests run on, by name, and what happens where one of them cannot be started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.embedded_service import EmbeddedBroker
from tests.support.kafka_service import start_kafka
from tests.support.services import BrokerService, ServiceUnavailableError, running_in_ci

BROKERS = [pytest.param("embedded"), pytest.param("kafka", marks=pytest.mark.kafka)]
Service = TypeVar("Service", bound=BrokerService)


def start_broker(name: str, folder: Path) -> BrokerService:
    """A broker of one's own, its files under `folder`."""
    starts: dict[str, Callable[[Path], BrokerService]] = {"embedded": EmbeddedBroker, "kafka": start_kafka}
    return starts[name](folder)


@contextmanager
def started(start: Callable[[], Service]) -> Iterator[Service]:
    """A service that is stopped at the end; without it the test is skipped, and in CI it fails."""
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
