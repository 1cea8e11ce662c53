"""Settings out of the environment (`STRABO_*`), with one clear line for each bad value.

A secret may also stand in a file that `<NAME>_FILE` names, as container platforms mount them.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from strabo_topics.errors import SettingsError
from strabo_topics.names import NAMESPACE_PATTERN, Names

PREFIX = "STRABO_"
FOREVER = "forever"
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,\[\]]+):(\d{1,5})")


def _read_duration(value: Any) -> Any:
    if isinstance(value, str) and (found := _DURATION.fullmatch(value.strip())):
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    return value


def _read_retention(value: Any) -> Any:
    return None if value == FOREVER else _read_duration(value)


Duration = Annotated[timedelta, BeforeValidator(_read_duration)]
"""A time span: `30s`, `12h`, `7d`, or ISO 8601 (`P7D`)."""

Retention = Annotated[timedelta | None, BeforeValidator(_read_retention)]
"""A duration, or `forever` (None)."""


class _SecretFiles(PydanticBaseSettingsSource):
    """Reads each secret field from the file that `STRABO_<NAME>_FILE` names."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = f"{PREFIX}{field_name.upper()}"
        path = os.environ.get(f"{variable}_FILE")
        if path is None or not _is_secret(field):
            return None, field_name, False
        if variable in os.environ:
            raise SettingsError([f"{variable} and {variable}_FILE are both set: remove one of them"])
        try:
            return Path(path).read_text(encoding="utf-8").rstrip("\r\n"), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SettingsError([f"{variable}_FILE={path}: the file cannot be read: {reason}"]) from None

    def __call__(self) -> dict[str, Any]:
        found = {
            name: self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in found.items() if value is not None}


class Settings(BaseSettings):
    """The base of every group of settings.

    Make one with `load`, which turns bad values into a `SettingsError`.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What was passed wins over the environment, the environment over secret files."""
        return init_settings, env_settings, _SecretFiles(settings_cls)

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """The settings from the environment; `overrides` that are not None win. Raises `SettingsError`."""
        given = {name: value for name, value in overrides.items() if value is not None}
        try:
            return cls(**given)
        except ValidationError as error:
            raise SettingsError([cls._line(one) for one in error.errors()]) from None

    @classmethod
    def _line(cls, error: ErrorDetails) -> str:
        text = error["msg"].removeprefix("Value error, ")
        if not error["loc"]:
            return text
        name = str(error["loc"][0])
        variable = PREFIX + name.upper()
        field = cls.model_fields.get(name)
        if error["type"] == "extra_forbidden" or field is None:
            return f"{variable}: there is no such setting"
        shown = "" if _is_secret(field) else f"={_shown(error['input'])}"
        hint = f" ({field.description})" if field.description else ""
        return f"{variable}{shown}: {text[:1].lower()}{text[1:]}{hint}"


def _retention(*, days: int) -> Any:
    return Field(timedelta(days=days), description=f"a duration such as {days}d, or {FOREVER}")


class KafkaSettings(Settings):
    """Where Kafka is, how to reach it, and how the namespace's topics are laid out."""

    DEFAULT_PARTITIONS: ClassVar[int] = 24

    kafka_bootstrap_servers: str = Field("127.0.0.1:9092", description="host:port, several with commas")
    namespace: str = Field("strabo", description="1 to 100 letters, digits, _ or -")
    partitions: int | None = Field(
        None, ge=1, le=10_000, description="a whole number from 1 to 10000; unset: as found, else 24"
    )
    replication_factor: int = Field(1, ge=1, le=100, description="how many brokers hold each record")
    min_insync_replicas: int = Field(1, ge=1, le=100, description="how many brokers must confirm a record")

    inbox_retention: Retention = _retention(days=7)
    role_retention: Retention = _retention(days=7)
    replies_retention: Retention = _retention(days=7)
    events_retention: Retention = _retention(days=365)
    deadletter_retention: Retention = _retention(days=90)

    # On loopback, with records like those of an auction, none is fastest: 24,000 steps a second of the bare loop,
    # snappy 21,000, zstd 20,000, lz4 12,000. Over a network, or for the disk's sake, snappy or zstd pay.
    kafka_compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_ssl_ca_file: Path | None = Field(None, description="PEM file of the certificate authority")
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    kafka_sasl_username: str | None = None
    kafka_sasl_password: SecretStr | None = None

    @property
    def names(self) -> Names:
        """The namespace's topics."""
        return Names(self.namespace)

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """The bootstrap servers as (host, port)."""
        found = _ADDRESS.findall(self.kafka_bootstrap_servers)
        return tuple((host.strip("[]"), int(port)) for host, port in found)

    @field_validator("kafka_bootstrap_servers")
    @classmethod
    def _check_addresses(cls, value: str) -> str:
        addresses = [address.strip() for address in value.split(",")]
        for address in addresses:
            found = _ADDRESS.fullmatch(address)
            if found is None or not 0 < int(found[2]) < 65_536:
                raise ValueError(f"{address!r} is no address")
        return ",".join(addresses)

    @field_validator("namespace")
    @classmethod
    def _check_namespace(cls, value: str) -> str:
        if not NAMESPACE_PATTERN.fullmatch(value):
            raise ValueError("it cannot be part of a topic's name")
        return value

    @field_validator(
        "inbox_retention", "role_retention", "replies_retention", "events_retention", "deadletter_retention"
    )
    @classmethod
    def _check_retention(cls, value: timedelta | None) -> timedelta | None:
        if value is not None and value < timedelta(milliseconds=1):
            raise ValueError("it must be longer than nothing")
        return value

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.min_insync_replicas > self.replication_factor:
            raise ValueError(
                f"{PREFIX}MIN_INSYNC_REPLICAS={self.min_insync_replicas}: more than "
                f"{PREFIX}REPLICATION_FACTOR={self.replication_factor}, so nothing could ever be written"
            )
        if self.kafka_security_protocol.startswith("SASL") and (
            self.kafka_sasl_username is None or self.kafka_sasl_password is None
        ):
            raise ValueError(
                f"{PREFIX}KAFKA_SECURITY_PROTOCOL={self.kafka_security_protocol}: set "
                f"{PREFIX}KAFKA_SASL_USERNAME and {PREFIX}KAFKA_SASL_PASSWORD (or _FILE) too"
            )
        return self


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and len(text) <= 100 else f"{text[:100]!r}"


def _is_secret(field: FieldInfo) -> bool:
    return "SecretStr" in str(field.annotation)
