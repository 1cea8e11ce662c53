"""The two independent clients that the suite is run with."""

from __future__ import annotations

from collections.abc import Callable

from tests.contracts.aiokafka_client import AiokafkaClient
from tests.contracts.client import Client
from tests.contracts.confluent_client import ConfluentClient

CLIENTS: dict[str, Callable[[str], Client]] = {"aiokafka": AiokafkaClient, "confluent": ConfluentClient}
