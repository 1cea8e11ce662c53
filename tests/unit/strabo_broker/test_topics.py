"""The catalogue of topics: names, configurations, deletion."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_broker.cache import TailCache
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.store import Store
from strabo_broker.topic_configs import KNOWN_CONFIGS, TopicConfigs, check_configs
from strabo_broker.topics import Topics, check_name
from tests.unit.strabo_broker.building import batch


def code_of(refused: pytest.ExceptionInfo[Refusal]) -> ErrorCode:
    return refused.value.code


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "é", "x" * 250])
def test_a_name_that_cannot_be_a_topics_is_refused(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_name(name)
    assert code_of(refused) is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["a", "x" * 249, "strabo.role.Auction.Solver", "a-b_c"])
def test_a_name_of_the_allowed_characters_is_taken(name: str) -> None:
    check_name(name)


async def test_a_topic_exists_once(topics: Topics) -> None:
    topics.create("a.b", 1, {}, 0)
    with pytest.raises(Refusal) as refused:
        topics.check_new("a.b", 1, {})
    assert code_of(refused) is ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(Refusal, match="collides") as refused:
        topics.check_new("a_b", 1, {})
    assert code_of(refused) is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("partitions", [0, -2, 10_001])
def test_a_number_of_partitions_out_of_bounds_is_refused(topics: Topics, partitions: int) -> None:
    with pytest.raises(Refusal) as refused:
        topics.check_new("t", partitions, {})
    assert code_of(refused) is ErrorCode.INVALID_PARTITIONS


async def test_only_partitions_that_exist_are_found(topics: Topics) -> None:
    topics.create("t", 2, {}, 0)
    for name, number in (("t", 2), ("t", -1), ("u", 0)):
        with pytest.raises(Refusal) as refused:
            topics.partition(name, number)
        assert code_of(refused) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("no.such.config", "1"),
        ("cleanup.policy", "shred"),
        ("retention.ms", "-2"),
        ("retention.ms", "soon"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("message.timestamp.type", "Sometime"),
        ("compression.type", "gzip"),
        ("max.message.bytes", str(1 << 40)),
    ],
)
def test_a_configuration_that_is_unknown_or_out_of_bounds_is_refused(name: str, value: str) -> None:
    with pytest.raises(Refusal, match=name) as refused:
        check_configs({name: value})
    assert code_of(refused) is ErrorCode.INVALID_CONFIG


def test_every_default_is_within_its_own_bounds() -> None:
    assert set(check_configs({name: known.default for name, known in KNOWN_CONFIGS.items()})) == set(
        KNOWN_CONFIGS
    )


@pytest.mark.parametrize("policy", ["compact,delete", " delete , compact "])
def test_both_policies_may_hold(policy: str) -> None:
    configs = TopicConfigs.of(check_configs({"cleanup.policy": policy}))
    assert configs.compacts and configs.deletes


async def test_a_change_of_configuration_reaches_the_partitions(topics: Topics) -> None:
    topic = topics.create("t", 2, {}, 0)
    topics.configure(topic, {"retention.ms": "5"})
    assert {each.configs.retention_ms for each in topic.partitions} == {5}


async def test_added_partitions_have_the_topics_configuration(topics: Topics) -> None:
    topic = topics.create("t", 1, {"retention.ms": "5"}, 0)
    topics.add_partitions(topic, 3)
    assert [(each.number, each.configs.retention_ms) for each in topic.partitions] == [(0, 5), (1, 5), (2, 5)]


async def test_a_topic_made_again_is_empty(topics: Topics) -> None:
    topic = topics.create("t", 1, {}, 0)
    topic.partitions[0].append(batch(), 0)
    topics.delete(topic)
    again = topics.create("t", 1, {}, 0)
    assert again.partitions[0].next_offset == 0
    assert list(again.partitions[0].batches_from(0)) == []


async def test_deleting_a_topic_lets_those_go_who_wait_for_it(topics: Topics) -> None:
    import asyncio

    topic = topics.create("t", 1, {}, 0)
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    topic.partitions[0].waiting_for_stable.add(waiter)
    topics.delete(topic)
    assert waiter.done()


async def test_topics_and_their_configurations_are_taken_up_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    store = Store(folder, synchronous="off")
    topics = Topics(store, TailCache(1))
    topics.create("kept", 3, {"cleanup.policy": "compact"}, 0)
    topics.delete(topics.create("gone", 1, {}, 0))
    store.close()
    store = Store(folder, synchronous="off")
    topics = Topics(store, TailCache(1))
    topics.restore()
    assert [(each.name, len(each.partitions), each.overrides) for each in topics] == [
        ("kept", 3, {"cleanup.policy": "compact"})
    ]
    assert topics.partition("kept", 2).configs.compacts
    store.close()
