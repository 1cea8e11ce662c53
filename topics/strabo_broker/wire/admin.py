"""Messages that make, drop and configure topics."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_broker.wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, ArrayOf, wired


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    partition: int = wired(INT32)
    broker_ids: tuple[int, ...] = wired(ArrayOf(INT32))


@dataclass(frozen=True, slots=True)
class TopicConfig:
    name: str = wired(STRING)
    value: str | None = wired(STRING, nullable=0, default=None)


@dataclass(frozen=True, slots=True)
class CreatableTopic:
    name: str = wired(STRING)
    partitions: int = wired(INT32)
    replication_factor: int = wired(INT16)
    assignments: tuple[ReplicaAssignment, ...] = wired(ArrayOf(ReplicaAssignment))
    configs: tuple[TopicConfig, ...] = wired(ArrayOf(TopicConfig))


@dataclass(frozen=True, slots=True)
class CreateTopicsRequest:
    topics: tuple[CreatableTopic, ...] = wired(ArrayOf(CreatableTopic))
    timeout_ms: int = wired(INT32)
    validate_only: bool = wired(BOOLEAN, since=1)


@dataclass(frozen=True, slots=True)
class CreatedTopicConfig:
    name: str = wired(STRING)
    value: str | None = wired(STRING, nullable=5, default=None)
    read_only: bool = wired(BOOLEAN)
    source: int = wired(INT8, default=-1)
    is_sensitive: bool = wired(BOOLEAN)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    name: str = wired(STRING)
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, since=1, nullable=0, default=None)
    partitions: int = wired(INT32, since=5, default=-1)
    replication_factor: int = wired(INT16, since=5, default=-1)
    configs: tuple[CreatedTopicConfig, ...] | None = wired(ArrayOf(CreatedTopicConfig), since=5, nullable=5)


@dataclass(frozen=True, slots=True)
class CreateTopicsResponse:
    throttle_time_ms: int = wired(INT32, since=2)
    topics: tuple[CreatedTopic, ...] = wired(ArrayOf(CreatedTopic))


@dataclass(frozen=True, slots=True)
class DeleteTopicsRequest:
    names: tuple[str, ...] = wired(ArrayOf(STRING))
    timeout_ms: int = wired(INT32)


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    name: str = wired(STRING)
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, since=5, nullable=5, default=None)


@dataclass(frozen=True, slots=True)
class DeleteTopicsResponse:
    throttle_time_ms: int = wired(INT32, since=1)
    topics: tuple[DeletedTopic, ...] = wired(ArrayOf(DeletedTopic))


@dataclass(frozen=True, slots=True)
class PartitionsOfBrokers:
    broker_ids: tuple[int, ...] = wired(ArrayOf(INT32))


@dataclass(frozen=True, slots=True)
class CreatePartitionsTopic:
    name: str = wired(STRING)
    count: int = wired(INT32)
    assignments: tuple[PartitionsOfBrokers, ...] | None = wired(ArrayOf(PartitionsOfBrokers), nullable=0)


@dataclass(frozen=True, slots=True)
class CreatePartitionsRequest:
    topics: tuple[CreatePartitionsTopic, ...] = wired(ArrayOf(CreatePartitionsTopic))
    timeout_ms: int = wired(INT32)
    validate_only: bool = wired(BOOLEAN)


@dataclass(frozen=True, slots=True)
class CreatedPartitions:
    name: str = wired(STRING)
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, nullable=0, default=None)


@dataclass(frozen=True, slots=True)
class CreatePartitionsResponse:
    throttle_time_ms: int = wired(INT32)
    results: tuple[CreatedPartitions, ...] = wired(ArrayOf(CreatedPartitions))


@dataclass(frozen=True, slots=True)
class DescribeConfigsResource:
    resource_type: int = wired(INT8)
    resource_name: str = wired(STRING)
    names: tuple[str, ...] | None = wired(ArrayOf(STRING), nullable=0, default=None)


@dataclass(frozen=True, slots=True)
class DescribeConfigsRequest:
    resources: tuple[DescribeConfigsResource, ...] = wired(ArrayOf(DescribeConfigsResource))
    include_synonyms: bool = wired(BOOLEAN, since=1)
    include_documentation: bool = wired(BOOLEAN, since=3)


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    name: str = wired(STRING)
    value: str | None = wired(STRING, nullable=0, default=None)
    source: int = wired(INT8)


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    name: str = wired(STRING)
    value: str | None = wired(STRING, nullable=0, default=None)
    read_only: bool = wired(BOOLEAN)
    source: int = wired(INT8, since=1, default=-1)
    is_sensitive: bool = wired(BOOLEAN)
    synonyms: tuple[ConfigSynonym, ...] = wired(ArrayOf(ConfigSynonym), since=1)
    config_type: int = wired(INT8, since=3)
    documentation: str | None = wired(STRING, since=3, nullable=0, default=None)


@dataclass(frozen=True, slots=True)
class DescribeConfigsResult:
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, nullable=0, default=None)
    resource_type: int = wired(INT8)
    resource_name: str = wired(STRING)
    configs: tuple[DescribedConfig, ...] = wired(ArrayOf(DescribedConfig))


@dataclass(frozen=True, slots=True)
class DescribeConfigsResponse:
    throttle_time_ms: int = wired(INT32)
    results: tuple[DescribeConfigsResult, ...] = wired(ArrayOf(DescribeConfigsResult))


@dataclass(frozen=True, slots=True)
class AlterConfigsResource:
    resource_type: int = wired(INT8)
    resource_name: str = wired(STRING)
    configs: tuple[TopicConfig, ...] = wired(ArrayOf(TopicConfig))


@dataclass(frozen=True, slots=True)
class AlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...] = wired(ArrayOf(AlterConfigsResource))
    validate_only: bool = wired(BOOLEAN)


@dataclass(frozen=True, slots=True)
class AlteredConfigs:
    error_code: int = wired(INT16)
    error_message: str | None = wired(STRING, nullable=0, default=None)
    resource_type: int = wired(INT8)
    resource_name: str = wired(STRING)


@dataclass(frozen=True, slots=True)
class AlterConfigsResponse:
    throttle_time_ms: int = wired(INT32)
    resources: tuple[AlteredConfigs, ...] = wired(ArrayOf(AlteredConfigs))


@dataclass(frozen=True, slots=True)
class ConfigChange:
    name: str = wired(STRING)
    operation: int = wired(INT8)
    value: str | None = wired(STRING, nullable=0, default=None)


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigsResource:
    resource_type: int = wired(INT8)
    resource_name: str = wired(STRING)
    changes: tuple[ConfigChange, ...] = wired(ArrayOf(ConfigChange))


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigsRequest:
    resources: tuple[IncrementalAlterConfigsResource, ...] = wired(ArrayOf(IncrementalAlterConfigsResource))
    validate_only: bool = wired(BOOLEAN)


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = wired(INT32)
    resources: tuple[AlteredConfigs, ...] = wired(ArrayOf(AlteredConfigs))
