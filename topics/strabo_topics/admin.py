"""Topics on the broker: find them, bring a plan about, delete a namespace.

Kafka's answers carry their errors in the response and raise nothing, so each is looked at here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from strabo_topics.clients import admin_client
from strabo_topics.errors import BrokerRefused, TopicsRefused
from strabo_topics.layout import Topic, base_topics
from strabo_topics.plan import Plan, adopt_partitions, make_plan
from strabo_topics.settings import KafkaSettings

READY_TIMEOUT_S = 20.0
NO_ERROR = 0
UNKNOWN_TOPIC = 3
TOPIC_EXISTS = 36
SET_ON_TOPIC = 1
"""DescribeConfigs' source `DYNAMIC_TOPIC_CONFIG`: a value that was set on this topic."""


async def find(settings: KafkaSettings) -> dict[str, Topic]:
    """The namespace's topics as they are, by name; `config` holds every value in force."""
    async with admin_client(settings) as admin:
        return await _find(admin, settings)


async def partition_count(settings: KafkaSettings, topic: str) -> int | None:
    """How many partitions a topic has; None when it is not there."""
    async with admin_client(settings) as admin:
        return len((await _partitions(admin)).get(topic, ())) or None


async def apply(settings: KafkaSettings, plan: Plan) -> None:
    """Bring a plan about; returns when the topics can be used.

    Raises `TopicsRefused` when the plan refuses anything.
    """
    _check_refusals(plan)
    async with admin_client(settings) as admin:
        await _create(admin, plan.create)
        await _change(admin, plan)


async def ensure(settings: KafkaSettings) -> None:
    """Make those of the base topics that are missing, and change none.

    Raises `TopicsRefused` when one is there with another number of partitions.
    """
    async with admin_client(settings) as admin:
        found = await _find(admin, settings)
        plan = make_plan(base_topics(adopt_partitions(settings, found)), found)
        _check_refusals(plan)
        await _create(admin, plan.create)


async def delete_namespace(settings: KafkaSettings) -> tuple[str, ...]:
    """Delete every topic of the namespace; returns their names. What was in them is gone."""
    async with admin_client(settings) as admin:
        names = sorted(name for name in await _partitions(admin) if settings.names.owns(name))
        if not names:
            return ()
        response = await admin.delete_topics(names)
        for topic, code in response.topic_error_codes:
            if code not in (NO_ERROR, UNKNOWN_TOPIC):
                raise _refused(f"topic {topic} was not deleted", code)
        await _until_gone(admin, names)
        return tuple(names)


async def _find(admin: AIOKafkaAdminClient, settings: KafkaSettings) -> dict[str, Topic]:
    present = {name: some for name, some in (await _partitions(admin)).items() if settings.names.owns(name)}
    configs = await _describe(admin, present)
    return {
        name: Topic(
            name,
            len(partitions),
            {key: value for key, (value, _set_here) in configs.get(name, {}).items()},
            len(partitions[0]["replicas"]) if partitions else 0,
        )
        for name, partitions in present.items()
    }


async def _partitions(admin: AIOKafkaAdminClient) -> dict[str, list[dict[str, Any]]]:
    # Asking for all topics and not for some by name: a broker may make a topic that is asked for.
    topics = await admin.describe_topics()
    return {topic["topic"]: topic["partitions"] for topic in topics if topic["error_code"] == NO_ERROR}


async def _create(admin: AIOKafkaAdminClient, topics: tuple[Topic, ...]) -> None:
    if not topics:
        return
    response = await admin.create_topics(
        [
            NewTopic(topic.name, topic.partitions, topic.replication_factor, topic_configs=dict(topic.config))
            for topic in topics
        ]
    )
    for name, code, *rest in response.topic_errors:
        if code not in (NO_ERROR, TOPIC_EXISTS):
            raise _refused(f"topic {name} was not made", code, rest[0] if rest else None)
    await _until_led(admin, {topic.name: topic.partitions for topic in topics})


async def _until_gone(admin: AIOKafkaAdminClient, names: Iterable[str]) -> None:
    """Wait until no topic is listed any more, so that the same names can be made again."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while left := set(names) & set(await _partitions(admin)):
        if time.monotonic() > deadline:
            raise BrokerRefused(f"the broker has not deleted these topics yet: {', '.join(sorted(left))}")
        await asyncio.sleep(0.05)


async def _until_led(admin: AIOKafkaAdminClient, wanted: Mapping[str, int]) -> None:
    """Wait until every partition has a leader: a topic is acknowledged before all brokers know of it."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        present = await _partitions(admin)
        led = {name for name in wanted if present.get(name) and all(p["leader"] >= 0 for p in present[name])}
        if len(led) == len(wanted):
            break
        if time.monotonic() > deadline:
            missing = ", ".join(sorted(set(wanted) - led))
            raise BrokerRefused(
                f"the broker made these topics and does not lead them yet: {missing}; try again"
            )
        await asyncio.sleep(0.05)
    for name, partitions in wanted.items():
        if len(present[name]) != partitions:
            raise TopicsRefused(
                f"{name} was made by somebody else meanwhile, with {len(present[name])} partitions and "
                f"not {partitions}: agree on one number, and delete the namespace if it is unused"
            )


async def _change(admin: AIOKafkaAdminClient, plan: Plan) -> None:
    """AlterConfigs replaces all that is set on a topic, so what is set is read first and given back with
    the changes."""
    topics = sorted({one.topic for one in plan.change})
    if not topics:
        return
    resources = []
    for name, config in (await _describe(admin, topics)).items():
        kept = {key: value for key, (value, set_here) in config.items() if set_here}
        changed = {one.key: one.new for one in plan.change if one.topic == name}
        resources.append(ConfigResource(ConfigResourceType.TOPIC, name, {**kept, **changed}))
    for response in await admin.alter_configs(resources):
        for code, message, _type, name in response.resources:
            if code != NO_ERROR:
                raise _refused(f"the configuration of {name} was not changed", code, message)
    await _until_set(admin, plan)


async def _until_set(admin: AIOKafkaAdminClient, plan: Plan) -> None:
    """Wait until the broker that is asked shows the changes: the controller confirms them before brokers know."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        present = await _describe(admin, {one.topic for one in plan.change})
        late = [
            one for one in plan.change if present.get(one.topic, {}).get(one.key, ("", False))[0] != one.new
        ]
        if not late:
            return
        if time.monotonic() > deadline:
            one = late[0]
            raise BrokerRefused(
                f"{one.topic} does not show {one.key}={one.new} though the broker took it; try again"
            )
        await asyncio.sleep(0.02)


async def _describe(
    admin: AIOKafkaAdminClient, topics: Iterable[str]
) -> dict[str, dict[str, tuple[str, bool]]]:
    """By topic and key: the value in force, and whether it was set on this topic."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    if not resources:
        return {}
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for response in await admin.describe_configs(resources):
        for code, message, _type, name, entries in response.resources:
            if code == UNKNOWN_TOPIC:
                continue  # deleted since it was listed
            if code != NO_ERROR:
                raise _refused(f"the configuration of {name} cannot be read", code, message)
            found[name] = {
                key: (value, not origin if response.API_VERSION == 0 else origin == SET_ON_TOPIC)
                for key, value, _read_only, origin, *_rest in entries
            }
    return found


def _check_refusals(plan: Plan) -> None:
    if plan.refuse:
        raise TopicsRefused("\n".join(f"{one.topic}: {one.text}. {one.hint}" for one in plan.refuse))


def _refused(what: str, code: int, message: str | None = None) -> BrokerRefused:
    error: type[KafkaError] = for_code(code)
    reason = message or f"{error.__name__}: {error.description or error.message}"
    return BrokerRefused(f"{what}: the broker says: {reason}")
