"""The catalogue of topics: making, finding, configuring and dropping them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from strabo_broker.cache import TailCache
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.partition import Partition
from strabo_broker.store import Store
from strabo_broker.topic_configs import TopicConfigs, check_configs

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
MAXIMUM_PARTITIONS: Final = 10_000


@dataclass(slots=True)
class Topic:
    """A topic: its partitions, and the configurations that differ from the defaults."""

    id: int
    name: str
    partitions: list[Partition]
    overrides: dict[str, str]


class Topics:
    """All topics of the broker."""

    def __init__(self, store: Store, cache: TailCache) -> None:
        self._store = store
        self._cache = cache
        self._topics: dict[str, Topic] = {}
        self._partitions: dict[int, Partition] = {}

    def restore(self) -> None:
        """Take up the topics that an earlier process left."""
        for topic_id, name in list(self._store.query("select id, name from topics")):
            overrides: dict[str, str] = dict(
                self._store.query("select name, value from topic_configs where topic_id = ?", (topic_id,))
            )
            topic = self._topics[name] = Topic(topic_id, name, [], overrides)
            configs = TopicConfigs.of(overrides)
            rows = self._store.query(
                "select id, number, log_start, next_offset, size, cleaned_to from partitions"
                " where topic_id = ? order by number",
                (topic_id,),
            )
            for partition_id, number, *place in list(rows):
                partition = Partition(self._store, self._cache, partition_id, name, number, configs)
                partition.restore(*place)
                topic.partitions.append(partition)
                self._partitions[partition_id] = partition

    def __iter__(self) -> Iterator[Topic]:
        return iter(list(self._topics.values()))

    def find(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic(self, name: str) -> Topic:
        """The topic; Refusal UNKNOWN_TOPIC_OR_PARTITION when there is none."""
        found = self._topics.get(name)
        if found is None:
            raise Refusal(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        return found

    def partition(self, name: str, number: int) -> Partition:
        """The partition; Refusal UNKNOWN_TOPIC_OR_PARTITION when there is none."""
        partitions = self.topic(name).partitions
        if not 0 <= number < len(partitions):
            raise Refusal(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        return partitions[number]

    def partition_by_id(self, partition_id: int) -> Partition | None:
        return self._partitions.get(partition_id)

    def check_new(self, name: str, partitions: int, configs: Mapping[str, str | None]) -> dict[str, str]:
        """The configurations to keep of a topic that may be made; else a Refusal."""
        check_name(name)
        if name in self._topics:
            raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        alike = name.replace(".", "_")
        for other in self._topics:
            if other.replace(".", "_") == alike:
                raise Refusal(
                    ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
                )
        if not 0 < partitions <= MAXIMUM_PARTITIONS:
            raise Refusal(
                ErrorCode.INVALID_PARTITIONS,
                f"Number of partitions was set to {partitions}; it must be larger than 0.",
            )
        return check_configs(configs)

    def create(self, name: str, partitions: int, overrides: dict[str, str], now_ms: int) -> Topic:
        """Make a topic that `check_new` let pass."""
        topic_id = self._store.execute(
            "insert into topics (name, created_ms) values (?, ?)", (name, now_ms)
        ).lastrowid
        assert topic_id is not None
        topic = self._topics[name] = Topic(topic_id, name, [], {})
        self.configure(topic, overrides)
        self.add_partitions(topic, partitions)
        return topic

    def add_partitions(self, topic: Topic, total: int) -> None:
        """Give a topic more partitions."""
        configs = TopicConfigs.of(topic.overrides)
        for number in range(len(topic.partitions), total):
            partition_id = self._store.execute(
                "insert into partitions (topic_id, number) values (?, ?)", (topic.id, number)
            ).lastrowid
            assert partition_id is not None
            partition = Partition(self._store, self._cache, partition_id, topic.name, number, configs)
            topic.partitions.append(partition)
            self._partitions[partition_id] = partition

    def configure(self, topic: Topic, overrides: dict[str, str]) -> None:
        """Replace a topic's configurations by these, which have been checked."""
        topic.overrides = overrides
        configs = TopicConfigs.of(overrides)
        for partition in topic.partitions:
            partition.configs = configs
        self._store.execute("delete from topic_configs where topic_id = ?", (topic.id,))
        self._store.execute_many(
            "insert into topic_configs values (?, ?, ?)", [(topic.id, *each) for each in overrides.items()]
        )

    def delete(self, topic: Topic) -> None:
        """Drop a topic. Its batches leave the file with the next maintenance, a slice at a time."""
        del self._topics[topic.name]
        for partition in topic.partitions:
            partition.deleted = True
            partition.rewritten()
            partition.wake_all()
            del self._partitions[partition.id]
            self._store.execute("insert into deleted_partitions values (?)", (partition.id,))
            for table in ("producers", "aborted_transactions"):
                self._store.execute(f"delete from {table} where partition_id = ?", (partition.id,))
        for table in ("partitions", "topic_configs"):
            self._store.execute(f"delete from {table} where topic_id = ?", (topic.id,))
        self._store.execute("delete from topics where id = ?", (topic.id,))
        self._store.execute("delete from committed_offsets where topic = ?", (topic.name,))


def check_name(name: str) -> None:
    """Refuse what cannot be a topic's name."""
    if name in {"", ".", ".."} or not _NAME.fullmatch(name):
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name {name!r:.300} is invalid: 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
        )
