"""Messages of idempotent and transactional producers."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_broker.wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, ArrayOf, wired


@dataclass(frozen=True, slots=True)
class InitProducerIdRequest:
    transactional_id: str | None = wired(STRING, nullable=0, default=None)
    transaction_timeout_ms: int = wired(INT32)
    producer_id: int = wired(INT64, since=3, default=-1)
    producer_epoch: int = wired(INT16, since=3, default=-1)


@dataclass(frozen=True, slots=True)
class InitProducerIdResponse:
    throttle_time_ms: int = wired(INT32)
    error_code: int = wired(INT16)
    producer_id: int = wired(INT64, default=-1)
    producer_epoch: int = wired(INT16, default=-1)


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnTopic:
    name: str = wired(STRING)
    partitions: tuple[int, ...] = wired(ArrayOf(INT32))


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnRequest:
    transactional_id: str = wired(STRING)
    producer_id: int = wired(INT64)
    producer_epoch: int = wired(INT16)
    topics: tuple[AddPartitionsToTxnTopic, ...] = wired(ArrayOf(AddPartitionsToTxnTopic))


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnPartitionResponse:
    index: int = wired(INT32)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnTopicResponse:
    name: str = wired(STRING)
    partitions: tuple[AddPartitionsToTxnPartitionResponse, ...] = wired(
        ArrayOf(AddPartitionsToTxnPartitionResponse)
    )


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnResponse:
    throttle_time_ms: int = wired(INT32)
    topics: tuple[AddPartitionsToTxnTopicResponse, ...] = wired(ArrayOf(AddPartitionsToTxnTopicResponse))


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxnRequest:
    transactional_id: str = wired(STRING)
    producer_id: int = wired(INT64)
    producer_epoch: int = wired(INT16)
    group_id: str = wired(STRING)


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxnResponse:
    throttle_time_ms: int = wired(INT32)
    error_code: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class EndTxnRequest:
    transactional_id: str = wired(STRING)
    producer_id: int = wired(INT64)
    producer_epoch: int = wired(INT16)
    committed: bool = wired(BOOLEAN)


@dataclass(frozen=True, slots=True)
class EndTxnResponse:
    throttle_time_ms: int = wired(INT32)
    error_code: int = wired(INT16)
