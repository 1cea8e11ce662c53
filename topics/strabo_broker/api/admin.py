"""Answers that make, drop and configure topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from strabo_broker.api.call import Answers, Call, now_ms
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.topic_configs import KNOWN_CONFIGS, ConfigType, check_configs
from strabo_broker.topics import MAXIMUM_PARTITIONS, Topic, Topics
from strabo_broker.wire import admin

_TOPIC: Final = 2
_BROKER: Final = 4
_OF_TOPIC: Final = 1
_OF_BROKER: Final = 4
_DEFAULT: Final = 5
Resource = TypeVar("Resource", admin.AlterConfigsResource, admin.IncrementalAlterConfigsResource)
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class AdminApi:
    """Topics are made on request alone, never by asking for them."""

    def __init__(
        self, topics: Topics, node_id: int, default_partitions: int, maximum_request_bytes: int
    ) -> None:
        self._topics = topics
        self._node_id = node_id
        self._default_partitions = default_partitions
        self._broker_configs = {
            "auto.create.topics.enable": "false",
            "broker.id": str(node_id),
            "default.replication.factor": "1",
            "message.max.bytes": KNOWN_CONFIGS["max.message.bytes"].default,
            "node.id": str(node_id),
            "num.partitions": str(default_partitions),
            "socket.request.max.bytes": str(maximum_request_bytes),
        }

    def answers(self) -> Answers:
        return {
            19: self.create_topics,
            20: self.delete_topics,
            32: self.describe_configs,
            33: self.alter_configs,
            37: self.create_partitions,
            44: self.change_configs,
        }

    async def create_topics(self, request: admin.CreateTopicsRequest, _: Call) -> admin.CreateTopicsResponse:
        repeated = {
            name for name, times in Counter(each.name for each in request.topics).items() if times > 1
        }
        return admin.CreateTopicsResponse(
            topics=tuple(self._create(each, request.validate_only, repeated) for each in request.topics)
        )

    def _create(
        self, wanted: admin.CreatableTopic, validate_only: bool, repeated: set[str]
    ) -> admin.CreatedTopic:
        try:
            if wanted.name in repeated:
                raise Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            partitions = self._partitions_of(wanted)
            overrides = self._topics.check_new(
                wanted.name, partitions, {each.name: each.value for each in wanted.configs}
            )
            if not validate_only:
                self._topics.create(wanted.name, partitions, overrides, now_ms())
        except Refusal as refusal:
            return admin.CreatedTopic(wanted.name, refusal.code, str(refusal))
        return admin.CreatedTopic(
            wanted.name,
            ErrorCode.NONE,
            partitions=partitions,
            replication_factor=1,
            configs=tuple(
                admin.CreatedTopicConfig(
                    name,
                    overrides.get(name, known.default),
                    source=_OF_TOPIC if name in overrides else _DEFAULT,
                )
                for name, known in KNOWN_CONFIGS.items()
            ),
        )

    def _partitions_of(self, wanted: admin.CreatableTopic) -> int:
        if wanted.assignments:
            if wanted.partitions != -1 or wanted.replication_factor != -1:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST,
                    "Replica assignments exclude a number of partitions and of replicas.",
                )
            numbers = sorted(each.partition for each in wanted.assignments)
            if numbers != list(range(len(numbers))):
                raise Refusal(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partitions must be numbered from 0 without gaps."
                )
            if any(each.broker_ids != (self._node_id,) for each in wanted.assignments):
                raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The only broker is {self._node_id}.")
            return len(numbers)
        if wanted.replication_factor not in (-1, 1):
            raise Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {wanted.replication_factor} time(s): there is one broker.",
            )
        return self._default_partitions if wanted.partitions == -1 else wanted.partitions

    async def delete_topics(self, request: admin.DeleteTopicsRequest, _: Call) -> admin.DeleteTopicsResponse:
        return admin.DeleteTopicsResponse(topics=tuple(self._delete(each) for each in request.names))

    def _delete(self, name: str) -> admin.DeletedTopic:
        try:
            self._topics.delete(self._topics.topic(name))
        except Refusal as refusal:
            return admin.DeletedTopic(name, refusal.code, str(refusal))
        return admin.DeletedTopic(name, ErrorCode.NONE)

    async def create_partitions(
        self, request: admin.CreatePartitionsRequest, _: Call
    ) -> admin.CreatePartitionsResponse:
        return admin.CreatePartitionsResponse(
            results=tuple(self._add_partitions(each, request.validate_only) for each in request.topics)
        )

    def _add_partitions(
        self, wanted: admin.CreatePartitionsTopic, validate_only: bool
    ) -> admin.CreatedPartitions:
        try:
            topic = self._topics.topic(wanted.name)
            here = len(topic.partitions)
            if not here < wanted.count <= MAXIMUM_PARTITIONS:
                raise Refusal(
                    ErrorCode.INVALID_PARTITIONS,
                    f"The topic {wanted.name} currently has {here} partition(s); {wanted.count} is no increase.",
                )
            if not validate_only:
                self._topics.add_partitions(topic, wanted.count)
        except Refusal as refusal:
            return admin.CreatedPartitions(wanted.name, refusal.code, str(refusal))
        return admin.CreatedPartitions(wanted.name, ErrorCode.NONE)

    # Configurations.

    async def describe_configs(
        self, request: admin.DescribeConfigsRequest, _: Call
    ) -> admin.DescribeConfigsResponse:
        return admin.DescribeConfigsResponse(
            results=tuple(self._describe(each, request.include_synonyms) for each in request.resources)
        )

    def _describe(
        self, wanted: admin.DescribeConfigsResource, with_synonyms: bool
    ) -> admin.DescribeConfigsResult:
        def result(
            code: ErrorCode, text: str | None, *configs: admin.DescribedConfig
        ) -> admin.DescribeConfigsResult:
            chosen = tuple(each for each in configs if wanted.names is None or each.name in wanted.names)
            return admin.DescribeConfigsResult(code, text, wanted.resource_type, wanted.resource_name, chosen)

        try:
            if wanted.resource_type == _TOPIC:
                topic = self._topics.topic(wanted.resource_name)
                return result(ErrorCode.NONE, None, *_describe_topic(topic, with_synonyms))
            self._check_broker(wanted.resource_type, wanted.resource_name)
        except Refusal as refusal:
            return result(refusal.code, str(refusal))
        return result(
            ErrorCode.NONE,
            None,
            *(
                admin.DescribedConfig(name, value, True, _OF_BROKER, config_type=ConfigType.STRING)
                for name, value in self._broker_configs.items()
            ),
        )

    async def alter_configs(self, request: admin.AlterConfigsRequest, _: Call) -> admin.AlterConfigsResponse:
        def alter(wanted: admin.AlterConfigsResource, topic: Topic) -> dict[str, str | None]:
            return {each.name: each.value for each in wanted.configs}

        return admin.AlterConfigsResponse(
            resources=tuple(self._alter(each, request.validate_only, alter) for each in request.resources)
        )

    async def change_configs(
        self, request: admin.IncrementalAlterConfigsRequest, _: Call
    ) -> admin.IncrementalAlterConfigsResponse:
        return admin.IncrementalAlterConfigsResponse(
            resources=tuple(self._alter(each, request.validate_only, _changed) for each in request.resources)
        )

    def _alter(
        self, wanted: Resource, validate_only: bool, alter: Callable[[Resource, Topic], dict[str, str | None]]
    ) -> admin.AlteredConfigs:
        code, text = ErrorCode.NONE, None
        try:
            if wanted.resource_type != _TOPIC:
                self._check_broker(wanted.resource_type, wanted.resource_name)
                raise Refusal(
                    ErrorCode.INVALID_REQUEST, "The broker's own configuration is set where it is started."
                )
            topic = self._topics.topic(wanted.resource_name)
            overrides = check_configs(alter(wanted, topic))
            if not validate_only:
                self._topics.configure(topic, overrides)
        except Refusal as refusal:
            code, text = refusal.code, str(refusal)
        return admin.AlteredConfigs(code, text, wanted.resource_type, wanted.resource_name)

    def _check_broker(self, resource_type: int, name: str) -> None:
        if resource_type != _BROKER or name not in ("", str(self._node_id)):
            raise Refusal(
                ErrorCode.INVALID_REQUEST, f"There is no resource {name!r} of type {resource_type}."
            )


def _describe_topic(topic: Topic, with_synonyms: bool) -> list[admin.DescribedConfig]:
    described = []
    for name, known in KNOWN_CONFIGS.items():
        value = topic.overrides.get(name, known.default)
        source = _OF_TOPIC if name in topic.overrides else _DEFAULT
        synonyms = [admin.ConfigSynonym(name, known.default, _DEFAULT)]
        if source == _OF_TOPIC:
            synonyms.insert(0, admin.ConfigSynonym(name, value, _OF_TOPIC))
        described.append(
            admin.DescribedConfig(
                name, value, False, source, False, tuple(synonyms) if with_synonyms else (), known.type
            )
        )
    return described


def _changed(wanted: admin.IncrementalAlterConfigsResource, topic: Topic) -> dict[str, str | None]:
    """The topic's configurations after these changes."""
    configs: dict[str, str | None] = dict(topic.overrides)
    for change in wanted.changes:
        known = KNOWN_CONFIGS.get(change.name)
        if change.operation == _DELETE:
            configs.pop(change.name, None)
        elif change.value is None:
            raise Refusal(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change.name}")
        elif change.operation == _SET:
            configs[change.name] = change.value
        elif change.operation in (_APPEND, _SUBTRACT) and known is not None and known.type is ConfigType.LIST:
            given = [each.strip() for each in change.value.split(",")]
            kept = [
                each for each in (configs.get(change.name) or known.default).split(",") if each not in given
            ]
            configs[change.name] = ",".join(kept + given if change.operation == _APPEND else kept)
        else:
            raise Refusal(
                ErrorCode.INVALID_CONFIG, f"Operation {change.operation} is not possible for {change.name}"
            )
    return configs
