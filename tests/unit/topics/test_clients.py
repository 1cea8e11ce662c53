from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from aiokafka.producer import sender

from strabo_topics import clients
from strabo_topics.errors import BrokerUnreachable, SettingsError
from strabo_topics.settings import KafkaSettings
from tests.support.services import free_port

SETTINGS = KafkaSettings.load(kafka_bootstrap_servers="127.0.0.1:9")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of each client that is made."""
    options: list[dict[str, Any]] = []
    for name in ("AIOKafkaProducer", "AIOKafkaConsumer"):
        monkeypatch.setattr(clients, name, lambda *_topics, **given: options.append(given))
    return options


def test_every_producer_waits_for_all_replicas_and_repeats_nothing(made: list[dict[str, Any]]) -> None:
    clients.producer(SETTINGS)
    assert made[0]["acks"] == "all"
    assert made[0]["enable_idempotence"] is True
    assert made[0]["max_request_size"] == 4 * 1024 * 1024


def test_a_transactional_producer_has_its_id_and_a_time_out(made: list[dict[str, Any]]) -> None:
    clients.transactional_producer(SETTINGS, "ns-w1-x", transaction_timeout_ms=1000)
    assert made[0]["transactional_id"] == "ns-w1-x"
    assert made[0]["transaction_timeout_ms"] == 1000
    assert sender.BACKOFF_OVERRIDE == clients.BETWEEN_TRANSACTIONS_S


def test_every_consumer_reads_what_is_committed_and_commits_nothing_by_itself(
    made: list[dict[str, Any]],
) -> None:
    clients.consumer(SETTINGS, "t", group="g", offset_reset="earliest")
    assert made[0]["isolation_level"] == "read_committed"
    assert made[0]["enable_auto_commit"] is False
    assert made[0]["auto_offset_reset"] == "earliest"
    assert made[0]["group_id"] == "g"


def test_without_a_reset_policy_a_lost_position_is_an_error(made: list[dict[str, Any]]) -> None:
    clients.consumer(SETTINGS)
    assert made[0]["auto_offset_reset"] == "none"


def test_credentials_reach_the_client(made: list[dict[str, Any]]) -> None:
    settings = KafkaSettings.load(
        kafka_security_protocol="SASL_SSL", kafka_sasl_username="worker", kafka_sasl_password="secret"
    )
    clients.producer(settings)
    assert made[0]["sasl_plain_username"] == "worker"
    assert made[0]["sasl_plain_password"] == "secret"
    assert made[0]["sasl_mechanism"] == "SCRAM-SHA-512"
    assert made[0]["ssl_context"] is not None


def test_a_missing_certificate_file_is_a_bad_setting(tmp_path: Path) -> None:
    settings = KafkaSettings.load(kafka_security_protocol="SSL", kafka_ssl_ca_file=tmp_path / "absent.pem")
    with pytest.raises(
        SettingsError, match=r"KAFKA_SSL_CA_FILE=.*absent.pem: it cannot be used: No such file"
    ):
        clients.producer(settings)


async def test_no_broker_is_one_clear_line(caplog: pytest.LogCaptureFixture) -> None:
    settings = KafkaSettings.load(kafka_bootstrap_servers=f"127.0.0.1:{free_port()}")
    with caplog.at_level(logging.WARNING), pytest.raises(BrokerUnreachable) as caught:
        await clients.wait_for_broker(settings, timeout=0.2)
    assert str(caught.value) == (
        f"no Kafka broker answers at {settings.kafka_bootstrap_servers} (connection refused): "
        "start one with `strabo dev`, or set STRABO_KAFKA_BOOTSTRAP_SERVERS"
    )
    assert caplog.records == []


async def test_something_else_that_listens_there_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        with (
            caplog.at_level(logging.WARNING),
            pytest.raises(BrokerUnreachable, match="does not answer as a Kafka"),
        ):
            await clients.wait_for_broker(KafkaSettings.load(kafka_bootstrap_servers=address), timeout=0.3)
    assert caplog.records == []


async def test_an_admin_client_without_a_broker_is_unreachable() -> None:
    settings = KafkaSettings.load(kafka_bootstrap_servers=f"127.0.0.1:{free_port()}")
    with pytest.raises(BrokerUnreachable):
        async with clients.admin_client(settings):
            pytest.fail("there is no broker")
