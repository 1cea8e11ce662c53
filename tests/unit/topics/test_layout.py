from __future__ import annotations

from strabo_topics.layout import Topic, base_topics, role_topics
from strabo_topics.settings import KafkaSettings

SETTINGS = KafkaSettings.load(
    namespace="ns", partitions=6, replication_factor=3, min_insync_replicas=2, events_retention="forever"
)
BASE = {topic.name.removeprefix("ns."): topic for topic in base_topics(SETTINGS)}
(ROLE,) = role_topics(SETTINGS, "Auction", ["Solver"])
OF_INSTANCES = ("inbox", "state", "events", "replies", "deadletter")


def test_every_topic_of_the_namespace_is_declared_once() -> None:
    assert [topic.name for topic in base_topics(SETTINGS)] == list(SETTINGS.names.base)


def test_whatever_concerns_instances_has_the_same_number_of_partitions() -> None:
    assert {BASE[name].partitions for name in OF_INSTANCES} == {6}
    assert ROLE.partitions == 6
    assert {BASE[name].partitions for name in ("definitions", "agents")} == {1}


def test_without_a_wish_there_are_24_partitions() -> None:
    assert base_topics(KafkaSettings.load())[0].partitions == 24


def test_inbox_state_and_heartbeats_carry_the_brokers_time() -> None:
    stamped = {name for name, topic in BASE.items() if "message.timestamp.type" in topic.config}
    assert stamped == {"inbox", "state", "agents"}
    assert BASE["inbox"].config["message.timestamp.type"] == "LogAppendTime"


def test_what_is_superseded_is_cleaned_away_soon() -> None:
    compacted = {name for name, topic in BASE.items() if topic.config["cleanup.policy"] == "compact"}
    assert compacted == {"state", "definitions", "agents"}
    state = BASE["state"].config
    assert int(state["segment.bytes"]) <= 16 * 1024 * 1024
    assert float(state["min.cleanable.dirty.ratio"]) <= 0.1
    assert int(state["max.compaction.lag.ms"]) <= 3_600_000


def test_what_is_kept_for_a_time_says_how_long() -> None:
    assert BASE["inbox"].config["retention.ms"] == str(7 * 24 * 3600 * 1000)
    assert BASE["events"].config["retention.ms"] == "-1"


def test_every_topic_takes_four_mebibytes_and_is_replicated_as_set() -> None:
    every: list[Topic] = [*BASE.values(), ROLE]
    assert {topic.config["max.message.bytes"] for topic in every} == {"4194304"}
    assert {topic.config["min.insync.replicas"] for topic in every} == {"2"}
    assert {topic.replication_factor for topic in every} == {3}
