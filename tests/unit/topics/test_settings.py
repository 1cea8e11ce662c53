from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from strabo_topics.errors import SettingsError
from strabo_topics.settings import KafkaSettings


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in os.environ:
        if name.startswith("STRABO_"):
            monkeypatch.delenv(name)


def test_the_defaults_are_a_kafka_on_this_machine() -> None:
    settings = KafkaSettings.load()
    assert settings.kafka_bootstrap_servers == "127.0.0.1:9092"
    assert settings.names.inbox == "strabo.inbox"
    assert settings.partitions is None


def test_the_environment_sets_them_and_an_override_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_KAFKA_BOOTSTRAP_SERVERS", "kafka-1:9092, [::1]:9093")
    monkeypatch.setenv("STRABO_NAMESPACE", "a")
    settings = KafkaSettings.load(namespace="b", partitions=None)
    assert settings.addresses == (("kafka-1", 9092), ("::1", 9093))
    assert settings.namespace == "b"


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_PARTITIONS", "")
    assert KafkaSettings.load().partitions is None


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("500 ms", timedelta(milliseconds=500)),
        ("P1DT2H", timedelta(days=1, hours=2)),
        ("forever", None),
    ],
)
def test_a_retention_is_read(monkeypatch: pytest.MonkeyPatch, text: str, span: timedelta | None) -> None:
    monkeypatch.setenv("STRABO_ROLE_RETENTION", text)
    assert KafkaSettings.load().role_retention == span


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PARTITIONS", "abc", "STRABO_PARTITIONS=abc: input should be a valid integer"),
        ("PARTITIONS", "0", "STRABO_PARTITIONS=0: input should be greater than or equal to 1"),
        ("NAMESPACE", "a.b", "STRABO_NAMESPACE=a.b: it cannot be part of a topic's name"),
        ("NAMESPACE", "a\nb", r"STRABO_NAMESPACE='a\nb': it cannot be part of a topic's name"),
        ("KAFKA_BOOTSTRAP_SERVERS", "host", "STRABO_KAFKA_BOOTSTRAP_SERVERS=host: 'host' is no address"),
        ("KAFKA_BOOTSTRAP_SERVERS", "a:1,b:99999", "'b:99999' is no address (host:port"),
        ("INBOX_RETENTION", "soon", "STRABO_INBOX_RETENTION=soon: "),
        ("INBOX_RETENTION", "0s", "it must be longer than nothing (a duration such as 7d, or forever)"),
        ("MIN_INSYNC_REPLICAS", "2", "more than STRABO_REPLICATION_FACTOR=1"),
        ("KAFKA_SECURITY_PROTOCOL", "TLS", "STRABO_KAFKA_SECURITY_PROTOCOL=TLS: input should be 'PLAINTEXT'"),
        ("KAFKA_SECURITY_PROTOCOL", "SASL_SSL", "set STRABO_KAFKA_SASL_USERNAME and"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"STRABO_{name}", value)
    with pytest.raises(SettingsError) as caught:
        KafkaSettings.load()
    (line,) = caught.value.lines
    assert said in line
    assert "\n" not in line


def test_every_bad_value_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_PARTITIONS", "x")
    monkeypatch.setenv("STRABO_NAMESPACE", "")
    with pytest.raises(SettingsError) as caught:
        KafkaSettings.load(namespace="*", replication_factor="many")
    assert len(caught.value.lines) == 3


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SettingsError, match="STRABO_PARTITION: there is no such setting"):
        KafkaSettings.load(partition=3)


class TestSecrets:
    @pytest.fixture
    def given(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setenv("STRABO_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
        monkeypatch.setenv("STRABO_KAFKA_SASL_USERNAME", "worker")
        return monkeypatch

    def test_a_secret_is_read_from_the_file_that_is_named(self, given: Any, tmp_path: Path) -> None:
        (tmp_path / "password").write_text("tell-no-one\n")
        given.setenv("STRABO_KAFKA_SASL_PASSWORD_FILE", str(tmp_path / "password"))
        settings = KafkaSettings.load()
        assert settings.kafka_sasl_password == SecretStr("tell-no-one")
        assert "tell-no-one" not in repr(settings)

    def test_a_file_that_cannot_be_read_is_one_line(self, given: Any, tmp_path: Path) -> None:
        given.setenv("STRABO_KAFKA_SASL_PASSWORD_FILE", str(tmp_path / "absent"))
        with pytest.raises(
            SettingsError, match=r"SASL_PASSWORD_FILE=.*absent: the file cannot be read: No such file"
        ):
            KafkaSettings.load()

    def test_a_secret_given_twice_is_refused(self, given: Any, tmp_path: Path) -> None:
        given.setenv("STRABO_KAFKA_SASL_PASSWORD_FILE", str(tmp_path / "absent"))
        given.setenv("STRABO_KAFKA_SASL_PASSWORD", "x")
        with pytest.raises(SettingsError, match="both set"):
            KafkaSettings.load()

    def test_only_secrets_are_read_from_files(self, given: Any, tmp_path: Path) -> None:
        (tmp_path / "namespace").write_text("b")
        given.setenv("STRABO_NAMESPACE_FILE", str(tmp_path / "namespace"))
        given.setenv("STRABO_KAFKA_SASL_PASSWORD", "x")
        assert KafkaSettings.load().namespace == "strabo"
