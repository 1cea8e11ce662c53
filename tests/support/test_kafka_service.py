"""The tests' Apache Kafka can be killed, restarted, frozen and ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kafka_service import ForeignKafka, container_environment, server_settings
from tests.support.services import BrokerService, ServiceUnavailableError, answers_metadata


def answers(service: BrokerService) -> bool:
    host, _, port = service.bootstrap.rpartition(":")
    return answers_metadata(host, int(port))


@pytest.mark.slow
def test_a_broker_lives_through_a_crash_a_freeze_and_an_orderly_restart(fresh_broker: BrokerService) -> None:
    address = fresh_broker.bootstrap
    assert answers(fresh_broker)
    fresh_broker.kill()
    assert not answers(fresh_broker)
    fresh_broker.restart()
    assert answers(fresh_broker)
    fresh_broker.pause()
    fresh_broker.resume()
    assert answers(fresh_broker)
    fresh_broker.restart()
    assert answers(fresh_broker)
    assert fresh_broker.bootstrap == address
    fresh_broker.stop()
    assert not answers(fresh_broker)
    fresh_broker.stop()


def test_settings_given_replace_those_of_the_template(tmp_path: Path) -> None:
    values = {"PORT": "1", "CONTROLLER_PORT": "2", "DATA": str(tmp_path)}
    settings = server_settings(values, {"num.partitions": "9", "message.max.bytes": "10"})
    assert settings["num.partitions"] == "9"
    assert settings["message.max.bytes"] == "10"
    assert settings["log.dirs"] == str(tmp_path)
    assert not [value for value in settings.values() if "@" in value.replace("1@127", "")]


def test_a_container_gets_the_settings_in_its_environment() -> None:
    environment = container_environment(20_000, {"log.retention.check.interval.ms": "7"})
    assert environment["KAFKA_LOG_RETENTION_CHECK_INTERVAL_MS"] == "7"
    assert environment["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://127.0.0.1:20000"
    assert environment["KAFKA_LISTENERS"].startswith("PLAINTEXT://0.0.0.0:20000,")
    assert environment["KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR"] == "1"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "127.0.0.1:port"])
def test_a_foreign_kafka_that_does_not_answer_is_reported(address: str) -> None:
    with pytest.raises(ServiceUnavailableError, match="no Kafka answers"):
        ForeignKafka(address)
