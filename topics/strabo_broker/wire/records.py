"""Messages that move records: Produce, Fetch, ListOffsets, DeleteRecords."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_broker.wire.schema import BYTES, INT8, INT16, INT32, INT64, STRING, ArrayOf, wired

_WHOLE = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class ProducePartition:
    index: int = wired(INT32)
    records: bytes | None = wired(BYTES, nullable=0)


@dataclass(frozen=True, slots=True)
class ProduceTopic:
    name: str = wired(STRING)
    partitions: tuple[ProducePartition, ...] = wired(ArrayOf(ProducePartition))


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    transactional_id: str | None = wired(STRING, since=3, nullable=3, default=None)
    acks: int = wired(INT16)
    timeout_ms: int = wired(INT32)
    topics: tuple[ProduceTopic, ...] = wired(ArrayOf(ProduceTopic))


@dataclass(frozen=True, slots=True)
class RecordError:
    batch_index: int = wired(INT32)
    message: str | None = wired(STRING, nullable=8, default=None)


@dataclass(frozen=True, slots=True)
class ProducePartitionResponse:
    index: int = wired(INT32)
    error_code: int = wired(INT16)
    base_offset: int = wired(INT64, default=-1)
    log_append_time_ms: int = wired(INT64, since=2, default=-1)
    log_start_offset: int = wired(INT64, since=5, default=-1)
    record_errors: tuple[RecordError, ...] = wired(ArrayOf(RecordError), since=8)
    error_message: str | None = wired(STRING, since=8, nullable=8, default=None)


@dataclass(frozen=True, slots=True)
class ProduceTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[ProducePartitionResponse, ...] = wired(ArrayOf(ProducePartitionResponse))


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    topics: tuple[ProduceTopicResponse, ...] = wired(ArrayOf(ProduceTopicResponse))
    throttle_time_ms: int = wired(INT32, since=1)


@dataclass(frozen=True, slots=True)
class FetchPartition:
    partition: int = wired(INT32)
    current_leader_epoch: int = wired(INT32, since=9, default=-1)
    fetch_offset: int = wired(INT64)
    last_fetched_epoch: int = wired(INT32, since=12, default=-1)
    log_start_offset: int = wired(INT64, since=5, default=-1)
    maximum_bytes: int = wired(INT32, default=_WHOLE)


@dataclass(frozen=True, slots=True)
class FetchTopic:
    name: str = wired(STRING)
    partitions: tuple[FetchPartition, ...] = wired(ArrayOf(FetchPartition))


@dataclass(frozen=True, slots=True)
class ForgottenTopic:
    name: str = wired(STRING)
    partitions: tuple[int, ...] = wired(ArrayOf(INT32))


@dataclass(frozen=True, slots=True)
class FetchRequest:
    replica_id: int = wired(INT32, default=-1)
    maximum_wait_ms: int = wired(INT32)
    minimum_bytes: int = wired(INT32)
    maximum_bytes: int = wired(INT32, since=3, default=_WHOLE)
    isolation_level: int = wired(INT8, since=4)
    session_id: int = wired(INT32, since=7)
    session_epoch: int = wired(INT32, since=7, default=-1)
    topics: tuple[FetchTopic, ...] = wired(ArrayOf(FetchTopic))
    forgotten_topics: tuple[ForgottenTopic, ...] = wired(ArrayOf(ForgottenTopic), since=7)
    rack_id: str = wired(STRING, since=11)


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    producer_id: int = wired(INT64)
    first_offset: int = wired(INT64)


@dataclass(frozen=True, slots=True)
class FetchPartitionResponse:
    partition: int = wired(INT32)
    error_code: int = wired(INT16)
    high_watermark: int = wired(INT64, default=-1)
    last_stable_offset: int = wired(INT64, since=4, default=-1)
    log_start_offset: int = wired(INT64, since=5, default=-1)
    aborted_transactions: tuple[AbortedTransaction, ...] | None = wired(
        ArrayOf(AbortedTransaction), since=4, nullable=4, default=None
    )
    preferred_read_replica: int = wired(INT32, since=11, default=-1)
    records: tuple[bytes, ...] | None = wired(BYTES, nullable=0, default=())


@dataclass(frozen=True, slots=True)
class FetchTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[FetchPartitionResponse, ...] = wired(ArrayOf(FetchPartitionResponse))


@dataclass(frozen=True, slots=True)
class FetchResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    error_code: int = wired(INT16, since=7)
    session_id: int = wired(INT32, since=7)
    topics: tuple[FetchTopicResponse, ...] = wired(ArrayOf(FetchTopicResponse))


@dataclass(frozen=True, slots=True)
class ListOffsetsPartition:
    index: int = wired(INT32)
    current_leader_epoch: int = wired(INT32, since=4, default=-1)
    timestamp: int = wired(INT64)


@dataclass(frozen=True, slots=True)
class ListOffsetsTopic:
    name: str = wired(STRING)
    partitions: tuple[ListOffsetsPartition, ...] = wired(ArrayOf(ListOffsetsPartition))


@dataclass(frozen=True, slots=True)
class ListOffsetsRequest:
    replica_id: int = wired(INT32, default=-1)
    isolation_level: int = wired(INT8, since=2)
    topics: tuple[ListOffsetsTopic, ...] = wired(ArrayOf(ListOffsetsTopic))


@dataclass(frozen=True, slots=True)
class ListOffsetsPartitionResponse:
    index: int = wired(INT32)
    error_code: int = wired(INT16)
    timestamp: int = wired(INT64, since=1, default=-1)
    offset: int = wired(INT64, since=1, default=-1)
    leader_epoch: int = wired(INT32, since=4, default=-1)


@dataclass(frozen=True, slots=True)
class ListOffsetsTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[ListOffsetsPartitionResponse, ...] = wired(ArrayOf(ListOffsetsPartitionResponse))


@dataclass(frozen=True, slots=True)
class ListOffsetsResponse:
    throttle_time_ms: int = wired(INT32, since=2)
    topics: tuple[ListOffsetsTopicResponse, ...] = wired(ArrayOf(ListOffsetsTopicResponse))


@dataclass(frozen=True, slots=True)
class DeleteRecordsPartition:
    index: int = wired(INT32)
    offset: int = wired(INT64)


@dataclass(frozen=True, slots=True)
class DeleteRecordsTopic:
    name: str = wired(STRING)
    partitions: tuple[DeleteRecordsPartition, ...] = wired(ArrayOf(DeleteRecordsPartition))


@dataclass(frozen=True, slots=True)
class DeleteRecordsRequest:
    topics: tuple[DeleteRecordsTopic, ...] = wired(ArrayOf(DeleteRecordsTopic))
    timeout_ms: int = wired(INT32)


@dataclass(frozen=True, slots=True)
class DeleteRecordsPartitionResponse:
    index: int = wired(INT32)
    low_watermark: int = wired(INT64, default=-1)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class DeleteRecordsTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[DeleteRecordsPartitionResponse, ...] = wired(ArrayOf(DeleteRecordsPartitionResponse))


@dataclass(frozen=True, slots=True)
class DeleteRecordsResponse:
    throttle_time_ms: int = wired(INT32)
    topics: tuple[DeleteRecordsTopicResponse, ...] = wired(ArrayOf(DeleteRecordsTopicResponse))
