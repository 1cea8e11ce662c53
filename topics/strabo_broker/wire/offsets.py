"""Messages about the offsets that consumer groups commit, within a transaction or without."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_broker.wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, ArrayOf, wired


@dataclass(frozen=True, slots=True)
class OffsetCommitPartition:
    index: int = wired(INT32)
    offset: int = wired(INT64)
    leader_epoch: int = wired(INT32, since=6, default=-1)
    metadata: str | None = wired(STRING, nullable=0)


@dataclass(frozen=True, slots=True)
class OffsetCommitTopic:
    name: str = wired(STRING)
    partitions: tuple[OffsetCommitPartition, ...] = wired(ArrayOf(OffsetCommitPartition))


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest:
    group_id: str = wired(STRING)
    generation_id: int = wired(INT32, since=1, default=-1)
    member_id: str = wired(STRING, since=1)
    group_instance_id: str | None = wired(STRING, since=7, nullable=7, default=None)
    retention_time_ms: int = wired(INT64, since=2, until=4, default=-1)
    topics: tuple[OffsetCommitTopic, ...] = wired(ArrayOf(OffsetCommitTopic))


@dataclass(frozen=True, slots=True)
class OffsetCommitPartitionResponse:
    index: int = wired(INT32)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class OffsetCommitTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[OffsetCommitPartitionResponse, ...] = wired(ArrayOf(OffsetCommitPartitionResponse))


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse:
    throttle_time_ms: int = wired(INT32, since=3)
    topics: tuple[OffsetCommitTopicResponse, ...] = wired(ArrayOf(OffsetCommitTopicResponse))


@dataclass(frozen=True, slots=True)
class TransactionalOffsetCommitPartition:
    index: int = wired(INT32)
    offset: int = wired(INT64)
    leader_epoch: int = wired(INT32, since=2, default=-1)
    metadata: str | None = wired(STRING, nullable=0)


@dataclass(frozen=True, slots=True)
class TransactionalOffsetCommitTopic:
    name: str = wired(STRING)
    partitions: tuple[TransactionalOffsetCommitPartition, ...] = wired(
        ArrayOf(TransactionalOffsetCommitPartition)
    )


@dataclass(frozen=True, slots=True)
class TransactionalOffsetCommitRequest:
    transactional_id: str = wired(STRING)
    group_id: str = wired(STRING)
    producer_id: int = wired(INT64)
    producer_epoch: int = wired(INT16)
    generation_id: int = wired(INT32, since=3, default=-1)
    member_id: str = wired(STRING, since=3)
    group_instance_id: str | None = wired(STRING, since=3, nullable=3, default=None)
    topics: tuple[TransactionalOffsetCommitTopic, ...] = wired(ArrayOf(TransactionalOffsetCommitTopic))


@dataclass(frozen=True, slots=True)
class TransactionalOffsetCommitResponse:
    throttle_time_ms: int = wired(INT32)
    topics: tuple[OffsetCommitTopicResponse, ...] = wired(ArrayOf(OffsetCommitTopicResponse))


@dataclass(frozen=True, slots=True)
class OffsetFetchTopic:
    name: str = wired(STRING)
    partitions: tuple[int, ...] = wired(ArrayOf(INT32))


@dataclass(frozen=True, slots=True)
class OffsetFetchRequest:
    group_id: str = wired(STRING)
    topics: tuple[OffsetFetchTopic, ...] | None = wired(ArrayOf(OffsetFetchTopic), nullable=2)
    require_stable: bool = wired(BOOLEAN, since=7)


@dataclass(frozen=True, slots=True)
class OffsetFetchPartitionResponse:
    index: int = wired(INT32)
    offset: int = wired(INT64, default=-1)
    leader_epoch: int = wired(INT32, since=5, default=-1)
    metadata: str | None = wired(STRING, nullable=0)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class OffsetFetchTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[OffsetFetchPartitionResponse, ...] = wired(ArrayOf(OffsetFetchPartitionResponse))


@dataclass(frozen=True, slots=True)
class OffsetFetchResponse:
    throttle_time_ms: int = wired(INT32, since=3)
    topics: tuple[OffsetFetchTopicResponse, ...] = wired(ArrayOf(OffsetFetchTopicResponse))
    error_code: int = wired(INT16, since=2)
