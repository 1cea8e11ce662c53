"""The topics that Strabo declares, with their partitions and configurations: the one place that says them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from strabo_topics.clients import MAX_RECORD_BYTES
from strabo_topics.settings import KafkaSettings

MEBIBYTE = 1024 * 1024
FOREVER_MS = "-1"

# A take-over reads a partition of the state topic from its start, so what is superseded must go soon: the
# cleaner never touches the active segment, hence small ones; it runs at a tenth of dirt, and after a
# quarter of an hour anyway.
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": str(8 * MEBIBYTE),
    "segment.ms": str(15 * 60 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
    "max.compaction.lag.ms": str(15 * 60 * 1000),
    # A reader that began before a tombstone was cleaned away still sees it.
    "delete.retention.ms": str(24 * 60 * 60 * 1000),
}

# Timers are held against the time at which the broker appended a message, not against what a sender's clock
# says.
BROKER_TIME = {"message.timestamp.type": "LogAppendTime"}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is declared, or as it was found (then `config` holds every value that is in force)."""

    name: str
    partitions: int
    config: Mapping[str, str]
    replication_factor: int = 1


def base_topics(settings: KafkaSettings) -> tuple[Topic, ...]:
    """Every topic of the namespace but those of roles."""
    names = settings.names
    return (
        _of_instances(settings, names.inbox, {**_kept_for(settings.inbox_retention), **BROKER_TIME}),
        _of_instances(settings, names.state, {**COMPACTED, **BROKER_TIME}),
        _of_instances(settings, names.events, _kept_for(settings.events_retention)),
        _of_instances(settings, names.replies, _kept_for(settings.replies_retention)),
        _of_instances(settings, names.deadletter, _kept_for(settings.deadletter_retention)),
        _topic(settings, names.definitions, 1, COMPACTED),
        _topic(settings, names.agents, 1, {**COMPACTED, **BROKER_TIME}),
    )


def role_topics(settings: KafkaSettings, protocol: str, roles: Iterable[str]) -> tuple[Topic, ...]:
    """The topics of a protocol's roles."""
    kept = _kept_for(settings.role_retention)
    return tuple(_of_instances(settings, settings.names.role(protocol, role), kept) for role in roles)


def _of_instances(settings: KafkaSettings, name: str, config: Mapping[str, str]) -> Topic:
    # What comes of inbox partition p is written to partition p of the others, so all have the same number.
    return _topic(settings, name, settings.partitions or settings.DEFAULT_PARTITIONS, config)


def _topic(settings: KafkaSettings, name: str, partitions: int, config: Mapping[str, str]) -> Topic:
    common = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        "min.insync.replicas": str(settings.min_insync_replicas),
    }
    return Topic(name, partitions, {**config, **common}, settings.replication_factor)


def _kept_for(retention: timedelta | None) -> dict[str, str]:
    milliseconds = FOREVER_MS if retention is None else str(retention // timedelta(milliseconds=1))
    return {"cleanup.policy": "delete", "retention.ms": milliseconds}
