"""Messages about the broker itself: which API versions it speaks, which topics it has, who coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_broker.wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, ArrayOf, wired

NO_AUTHORIZED_OPERATIONS = -(1 << 31)


@dataclass(frozen=True, slots=True)
class ApiVersionsRequest:
    client_software_name: str = wired(STRING, since=3)
    client_software_version: str = wired(STRING, since=3)


@dataclass(frozen=True, slots=True)
class ApiVersion:
    api_key: int = wired(INT16)
    oldest: int = wired(INT16)
    newest: int = wired(INT16)


@dataclass(frozen=True, slots=True)
class ApiVersionsResponse:
    error_code: int = wired(INT16)
    api_keys: tuple[ApiVersion, ...] = wired(ArrayOf(ApiVersion))
    throttle_time_ms: int = wired(INT32, since=1)


@dataclass(frozen=True, slots=True)
class MetadataRequestTopic:
    name: str = wired(STRING)


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    topics: tuple[MetadataRequestTopic, ...] | None = wired(ArrayOf(MetadataRequestTopic), nullable=1)
    allow_auto_topic_creation: bool = wired(BOOLEAN, since=4, default=True)
    include_cluster_authorized_operations: bool = wired(BOOLEAN, since=8)
    include_topic_authorized_operations: bool = wired(BOOLEAN, since=8)


@dataclass(frozen=True, slots=True)
class MetadataBroker:
    node_id: int = wired(INT32)
    host: str = wired(STRING)
    port: int = wired(INT32)
    rack: str | None = wired(STRING, since=1, nullable=1, default=None)


@dataclass(frozen=True, slots=True)
class MetadataPartition:
    error_code: int = wired(INT16)
    index: int = wired(INT32)
    leader_id: int = wired(INT32)
    leader_epoch: int = wired(INT32, since=7, default=-1)
    replica_nodes: tuple[int, ...] = wired(ArrayOf(INT32))
    in_sync_replica_nodes: tuple[int, ...] = wired(ArrayOf(INT32))
    offline_replicas: tuple[int, ...] = wired(ArrayOf(INT32), since=5)


@dataclass(frozen=True, slots=True)
class MetadataTopic:
    error_code: int = wired(INT16)
    name: str = wired(STRING)
    is_internal: bool = wired(BOOLEAN, since=1)
    partitions: tuple[MetadataPartition, ...] = wired(ArrayOf(MetadataPartition))
    authorized_operations: int = wired(INT32, since=8, default=NO_AUTHORIZED_OPERATIONS)


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    throttle_time_ms: int = wired(INT32, since=3)
    brokers: tuple[MetadataBroker, ...] = wired(ArrayOf(MetadataBroker))
    cluster_id: str | None = wired(STRING, since=2, nullable=2, default=None)
    controller_id: int = wired(INT32, since=1, default=-1)
    topics: tuple[MetadataTopic, ...] = wired(ArrayOf(MetadataTopic))
    cluster_authorized_operations: int = wired(INT32, since=8, default=NO_AUTHORIZED_OPERATIONS)


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest:
    key: str = wired(STRING)
    key_type: int = wired(INT8, since=1)


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, since=1, nullable=1, default=None)
    node_id: int = wired(INT32, default=-1)
    host: str = wired(STRING)
    port: int = wired(INT32, default=-1)


@dataclass(frozen=True, slots=True)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = wired(BOOLEAN)


@dataclass(frozen=True, slots=True)
class DescribeClusterBroker:
    broker_id: int = wired(INT32)
    host: str = wired(STRING)
    port: int = wired(INT32)
    rack: str | None = wired(STRING, nullable=0, default=None)


@dataclass(frozen=True, slots=True)
class DescribeClusterResponse:
    throttle_time_ms: int = wired(INT32)
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, nullable=0, default=None)
    cluster_id: str = wired(STRING)
    controller_id: int = wired(INT32, default=-1)
    brokers: tuple[DescribeClusterBroker, ...] = wired(ArrayOf(DescribeClusterBroker))
    cluster_authorized_operations: int = wired(INT32, default=NO_AUTHORIZED_OPERATIONS)
