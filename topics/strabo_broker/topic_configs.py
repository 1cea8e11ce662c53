"""The configuration of a topic: the names that Apache Kafka knows, their defaults and bounds, and a typed view.

Names that steer what this broker does not have (segments on disk, replication, tiers) are taken, checked and kept, so
that a topic can be configured as for Apache Kafka; they have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal

LONG_MAX: Final = (1 << 63) - 1
INT_MAX: Final = (1 << 31) - 1
_WEEK_MS: Final = 604_800_000
_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000


class ConfigType(IntEnum):
    """The type of a configuration, as DescribeConfigs tells it."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True)
class KnownConfig:
    """A configuration name: its type, its default, and what is refused."""

    type: ConfigType
    default: str
    check: Callable[[str], bool]
    expected: str


def _whole(default: int, least: int, most: int, kind: ConfigType = ConfigType.LONG) -> KnownConfig:
    def check(text: str) -> bool:
        try:
            return least <= int(text) <= most
        except ValueError:
            return False

    return KnownConfig(kind, str(default), check, f"a whole number from {least} to {most}")


def _ratio(default: float) -> KnownConfig:
    def check(text: str) -> bool:
        try:
            return 0 <= float(text) <= 1
        except ValueError:
            return False

    return KnownConfig(ConfigType.DOUBLE, str(default), check, "a number from 0 to 1")


def _choice(default: str, *choices: str) -> KnownConfig:
    return KnownConfig(
        ConfigType.STRING, default, lambda text: text in choices, "one of " + ", ".join(choices)
    )


def _truth(default: bool) -> KnownConfig:
    return KnownConfig(
        ConfigType.BOOLEAN,
        str(default).lower(),
        lambda text: text.lower() in {"true", "false"},
        "true or false",
    )


def _policies(text: str) -> frozenset[str]:
    return frozenset(each.strip() for each in text.split(",") if each.strip())


KNOWN_CONFIGS: Final[Mapping[str, KnownConfig]] = {
    "cleanup.policy": KnownConfig(
        ConfigType.LIST,
        "delete",
        lambda text: _policies(text) <= {"delete", "compact"},
        "delete, compact, or both",
    ),
    # Batches are kept as the producer packed them; repacking them would cost and gain nothing on one machine.
    "compression.type": _choice("producer", "producer"),
    "delete.retention.ms": _whole(_DAY_MS, 0, LONG_MAX),
    "file.delete.delay.ms": _whole(60_000, 0, LONG_MAX),
    "flush.messages": _whole(LONG_MAX, 1, LONG_MAX),
    "flush.ms": _whole(LONG_MAX, 0, LONG_MAX),
    "index.interval.bytes": _whole(4_096, 0, INT_MAX, ConfigType.INT),
    "max.compaction.lag.ms": _whole(LONG_MAX, 1, LONG_MAX),
    "max.message.bytes": _whole(1_048_588, 0, INT_MAX, ConfigType.INT),
    "message.timestamp.after.max.ms": _whole(_HOUR_MS, 0, LONG_MAX),
    "message.timestamp.before.max.ms": _whole(LONG_MAX, 0, LONG_MAX),
    "message.timestamp.type": _choice("CreateTime", "CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": _ratio(0.5),
    "min.compaction.lag.ms": _whole(0, 0, LONG_MAX),
    "min.insync.replicas": _whole(1, 1, INT_MAX, ConfigType.INT),
    "preallocate": _truth(False),
    "retention.bytes": _whole(-1, -1, LONG_MAX),
    "retention.ms": _whole(_WEEK_MS, -1, LONG_MAX),
    "segment.bytes": _whole(1 << 30, 14, INT_MAX, ConfigType.INT),
    "segment.index.bytes": _whole(10 << 20, 4, INT_MAX, ConfigType.INT),
    "segment.jitter.ms": _whole(0, 0, LONG_MAX),
    "segment.ms": _whole(_WEEK_MS, 1, LONG_MAX),
    "unclean.leader.election.enable": _truth(False),
}


def check_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """The configurations to keep; a Refusal names the first that is unknown or out of bounds."""
    kept: dict[str, str] = {}
    for name, value in configs.items():
        known = KNOWN_CONFIGS.get(name)
        if known is None:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        if value is None:
            continue
        if not known.check(value):
            raise Refusal(
                ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {known.expected}"
            )
        kept[name] = value
    return kept


@dataclass(frozen=True, slots=True)
class TopicConfigs:
    """What a topic's configuration means to this broker, in numbers and truth values."""

    compacts: bool
    deletes: bool
    retention_ms: int
    retention_bytes: int
    delete_retention_ms: int
    minimum_compaction_lag_ms: int
    maximum_compaction_lag_ms: int
    minimum_cleanable_dirty_ratio: float
    maximum_message_bytes: int
    log_append_time: bool
    timestamp_before_maximum_ms: int
    timestamp_after_maximum_ms: int
    minimum_in_sync_replicas: int

    @staticmethod
    def of(overrides: Mapping[str, str]) -> TopicConfigs:
        """The view of the defaults with these overrides, which have been checked."""

        def text(name: str) -> str:
            return overrides.get(name, KNOWN_CONFIGS[name].default)

        policies = _policies(text("cleanup.policy"))
        return TopicConfigs(
            compacts="compact" in policies,
            deletes="delete" in policies,
            retention_ms=int(text("retention.ms")),
            retention_bytes=int(text("retention.bytes")),
            delete_retention_ms=int(text("delete.retention.ms")),
            minimum_compaction_lag_ms=int(text("min.compaction.lag.ms")),
            maximum_compaction_lag_ms=int(text("max.compaction.lag.ms")),
            minimum_cleanable_dirty_ratio=float(text("min.cleanable.dirty.ratio")),
            maximum_message_bytes=int(text("max.message.bytes")),
            log_append_time=text("message.timestamp.type") == "LogAppendTime",
            timestamp_before_maximum_ms=int(text("message.timestamp.before.max.ms")),
            timestamp_after_maximum_ms=int(text("message.timestamp.after.max.ms")),
            minimum_in_sync_replicas=int(text("min.insync.replicas")),
        )
