"""The configuration of topics: described, replaced, and changed one setting at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import confluent_kafka.admin
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource as AiokafkaResource
from aiokafka.admin.config_resource import ConfigResourceType
from aiokafka.protocol.admin import AlterConfigsRequest, DescribeConfigsRequest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from tests.contracts.client import RefusedError, wait_for
from tests.contracts.confluent_client import refusals
from tests.contracts.wire import Code, Wire, create_topic
from tests.support.services import BrokerService

TOPIC_RESOURCE = 2
SET_ON_THE_TOPIC, DEFAULT = 1, 5
Change = Callable[..., None]


def describe(wire: Wire, topic: str, names: list[str] | None = None) -> dict[str, tuple[str, int]]:
    """Value and source of each setting of a topic."""
    answer = wire.ask(DescribeConfigsRequest([(TOPIC_RESOURCE, topic, names)], False))
    code, _message, _kind, _name, entries = answer.resources[0]
    assert code == Code.NONE
    return {entry[0]: (entry[1], entry[3]) for entry in entries}


def values(wire: Wire, topic: str, *names: str) -> dict[str, str]:
    return {name: value for name, (value, _source) in describe(wire, topic, list(names)).items()}


def changed(wire: Wire, topic: str) -> dict[str, str]:
    """The settings that are the topic's own."""
    found = describe(wire, topic)
    return {name: value for name, (value, source) in found.items() if source == SET_ON_THE_TOPIC}


def alter(wire: Wire, topic: str, config: dict[str, str], *, validate_only: bool = False) -> int:
    request = AlterConfigsRequest([(TOPIC_RESOURCE, topic, list(config.items()))], validate_only)
    return int(wire.ask(request).resources[0][0])


@pytest.fixture
def incremental(broker: BrokerService, unique: str) -> Change:
    """Change settings one at a time; aiokafka has no such request."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.bootstrap})

    def change(*changes: tuple[str, str | None, AlterConfigOpType]) -> None:
        entries = [ConfigEntry(name, value, incremental_operation=kind) for name, value, kind in changes]
        resource = ConfigResource("topic", unique, incremental_configs=entries)
        with refusals():
            admin.incremental_alter_configs([resource])[resource].result(20)

    return change


def test_a_setting_given_at_creation_is_told_from_a_default(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.ms": "12345"})
    found = describe(wire, unique)
    assert found["retention.ms"] == ("12345", SET_ON_THE_TOPIC)
    assert found["cleanup.policy"] == ("delete", DEFAULT)
    assert changed(wire, unique) == {"retention.ms": "12345"}


def test_the_settings_that_topics_of_strabo_use_are_described_with_kafkas_defaults(
    wire: Wire, topic: str
) -> None:
    wanted = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "delete.retention.ms": "86400000",
        "max.compaction.lag.ms": "9223372036854775807",
        "max.message.bytes": "1048588",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.5",
        "min.compaction.lag.ms": "0",
        "min.insync.replicas": "1",
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "segment.ms": "604800000",
    }
    assert values(wire, topic, *wanted) == wanted


def test_only_the_settings_asked_for_are_described(wire: Wire, topic: str) -> None:
    assert set(describe(wire, topic, ["retention.ms", "no.such.setting"])) == {"retention.ms"}


def test_describing_an_unknown_topic_is_refused(wire: Wire, unique: str) -> None:
    answer = wire.ask(DescribeConfigsRequest([(TOPIC_RESOURCE, unique, None)], False))
    assert answer.resources[0][0] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_altering_replaces_the_whole_configuration(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.ms": "1000000", "cleanup.policy": "compact"})
    assert alter(wire, unique, {"segment.ms": "60000"}) == Code.NONE
    wait_for("only segment.ms is set", lambda: changed(wire, unique) == {"segment.ms": "60000"})


@pytest.mark.parametrize("config", [{"no.such.setting": "1"}, {"retention.ms": "soon"}])
def test_an_invalid_alteration_changes_nothing(wire: Wire, unique: str, config: dict[str, str]) -> None:
    create_topic(wire, unique, config={"retention.ms": "1000000"})
    assert alter(wire, unique, {"segment.ms": "60000", **config}) == Code.INVALID_CONFIG
    assert changed(wire, unique) == {"retention.ms": "1000000"}


def test_altering_an_unknown_topic_is_refused(wire: Wire, unique: str) -> None:
    assert alter(wire, unique, {"segment.ms": "60000"}) == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_validating_an_alteration_changes_nothing(wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.ms": "1000000"})
    assert alter(wire, unique, {"segment.ms": "60000"}, validate_only=True) == Code.NONE
    assert changed(wire, unique) == {"retention.ms": "1000000"}


def test_an_incremental_change_leaves_the_other_settings(
    wire: Wire, unique: str, incremental: Change
) -> None:
    create_topic(wire, unique, config={"retention.ms": "1000000", "cleanup.policy": "compact"})
    incremental(
        ("segment.ms", "60000", AlterConfigOpType.SET), ("retention.ms", None, AlterConfigOpType.DELETE)
    )
    expected = {"cleanup.policy": "compact", "segment.ms": "60000"}
    wait_for("segment.ms set, retention.ms unset", lambda: changed(wire, unique) == expected)
    assert values(wire, unique, "retention.ms") == {"retention.ms": "604800000"}


def test_an_incremental_change_adds_to_a_list_and_takes_from_it(
    wire: Wire, topic: str, incremental: Change
) -> None:
    incremental(("cleanup.policy", "compact", AlterConfigOpType.APPEND))
    wait_for("both policies", lambda: changed(wire, topic) == {"cleanup.policy": "delete,compact"})
    incremental(("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT))
    wait_for("one policy", lambda: changed(wire, topic) == {"cleanup.policy": "compact"})


def test_an_invalid_incremental_change_is_refused(wire: Wire, topic: str, incremental: Change) -> None:
    with pytest.raises(RefusedError) as refused:
        incremental(("retention.ms", "soon", AlterConfigOpType.SET))
    assert refused.value.code == Code.INVALID_CONFIG
    assert changed(wire, topic) == {}


def test_aiokafka_describes_and_alters(broker: BrokerService, wire: Wire, topic: str) -> None:
    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            change = AiokafkaResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "77000"})
            await admin.alter_configs([change])
            await admin.describe_configs([AiokafkaResource(ConfigResourceType.TOPIC, topic)])
        finally:
            await admin.close()

    asyncio.run(work())
    wait_for("retention.ms is set", lambda: changed(wire, topic) == {"retention.ms": "77000"})


def test_confluent_describes(broker: BrokerService, wire: Wire, unique: str) -> None:
    create_topic(wire, unique, config={"retention.ms": "77000"})
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    resource = ConfigResource("topic", unique)
    found = admin.describe_configs([resource])[resource].result(20)
    assert found["retention.ms"].value == "77000"
    assert not found["retention.ms"].is_default
    assert found["cleanup.policy"].is_default
