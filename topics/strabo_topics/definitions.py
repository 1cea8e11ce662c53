"""Published protocols: one text for a name and version, on the definitions topic."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from strabo_avro.codec import decode, encode
from strabo_avro.records import Definition
from strabo_topics import admin, clients
from strabo_topics.errors import TopicsRefused, VersionConflict
from strabo_topics.layout import base_topics, role_topics
from strabo_topics.names import definition_key
from strabo_topics.plan import Plan, adopt_partitions, make_plan
from strabo_topics.reading import read_compacted
from strabo_topics.settings import KafkaSettings


async def publish(
    settings: KafkaSettings,
    *,
    name: str,
    version: str,
    hash: str,  # noqa: A002 - the record's own name for it
    text: str,
    schemas: bytes,
    roles: Iterable[str],
    longest_deadline: int | None = None,
    children: bytes = b"{}",
    functions: bytes = b"{}",
) -> bool:
    """Publish a protocol and make its roles' topics; False when this text is published already.

    `schemas` is a JSON object of message type to JSON Schema; `roles` are those that agents or people play;
    `longest_deadline` is in milliseconds. `children` and `functions` are JSON objects of names and the versions
    that are fixed for them from now on: a text that was withdrawn and is published again keeps the first ones,
    since instances run on it. The base topics must be there (`admin.ensure`).

    Raises:
        VersionConflict: another text is published under this name and version.
        TopicsRefused: a role's topic has another number of partitions, or keeps records too shortly.
    """
    definition = Definition(
        name=name,
        version=version,
        hash=hash,
        text=text,
        published_at=_now(),
        roles=tuple(roles),
        schemas=schemas,
        longest_deadline=longest_deadline,
        children=children,
        functions=functions,
    )
    published = await read_definitions(settings)
    _check_conflict(definition, published.values())
    await _make_role_topics(settings, definition)
    present = published.get(definition_key(name, version, hash))
    if present is not None:
        if not present.withdrawn:
            return False
        definition = replace(definition, children=present.children, functions=present.functions)
    await _write(settings, definition)
    # Another text may have been published meanwhile: then both publishers are told, and workers start
    # neither.
    _check_conflict(definition, (await read_definitions(settings)).values())
    return True


async def withdraw(settings: KafkaSettings, name: str, version: str, definition_hash: str) -> bool:
    """Allow no new instance of this text; running ones go on. False when it is not published."""
    key = definition_key(name, version, definition_hash)
    present = (await read_definitions(settings)).get(key)
    if present is None:
        return False
    if not present.withdrawn:
        await _write(settings, replace(present, withdrawn=True, published_at=_now()))
    return True


async def read_definitions(settings: KafkaSettings) -> dict[str, Definition]:
    """Every published protocol by its key `name@version@hash`, withdrawn ones included."""
    records = await read_compacted(settings, settings.names.definitions)
    return {key.decode(): decode(value, Definition) for key, value in records.items()}


async def plan_namespace(settings: KafkaSettings) -> Plan:
    """Every topic of the namespace, those of published protocols included, held against what is there."""
    found = await admin.find(settings)
    settings = adopt_partitions(settings, found)
    published = await read_definitions(settings) if settings.names.definitions in found else {}
    roles: dict[str, set[str]] = {}
    for definition in published.values():
        roles.setdefault(definition.name, set()).update(definition.roles)
    declared = [*base_topics(settings)]
    for name in sorted(roles):
        declared += role_topics(settings, name, sorted(roles[name]))
    return make_plan(declared, found, role_deadlines=role_deadlines(settings, published.values()))


def role_deadlines(settings: KafkaSettings, definitions: Iterable[Definition]) -> dict[str, timedelta]:
    """By role topic, the longest time that an instance of any version of its protocol may wait."""
    longest: dict[str, timedelta] = {}
    for definition in definitions:
        if definition.longest_deadline is None:
            continue
        waits = timedelta(milliseconds=definition.longest_deadline)
        for role in definition.roles:
            topic = settings.names.role(definition.name, role)
            longest[topic] = max(waits, longest.get(topic, waits))
    return longest


async def _make_role_topics(settings: KafkaSettings, definition: Definition) -> None:
    found = await admin.find(settings)
    topics = role_topics(adopt_partitions(settings, found), definition.name, definition.roles)
    plan = make_plan(topics, found, role_deadlines=role_deadlines(settings, [definition]))
    # Only what is missing is made: a changed configuration is for `strabo topics apply` to show and to
    # bring about.
    await admin.apply(settings, replace(plan, change=()))


async def _write(settings: KafkaSettings, definition: Definition) -> None:
    key = definition_key(definition.name, definition.version, definition.hash)
    value = encode(definition)
    if len(value) > clients.MAX_RECORD_BYTES // 2:
        raise TopicsRefused(f"protocol {definition.name} is too large to publish: {len(value)} bytes")
    async with clients.started(settings, clients.producer(settings)) as producer:
        await producer.send_and_wait(settings.names.definitions, value, key=key.encode())


def _check_conflict(definition: Definition, published: Iterable[Definition]) -> None:
    for other in published:
        same_version = (other.name, other.version) == (definition.name, definition.version)
        if same_version and other.hash != definition.hash and not other.withdrawn:
            raise VersionConflict(
                f"{definition.name} {definition.version} is published with another text: its hash is "
                f"{other.hash[:12]}, this one's {definition.hash[:12]}. Give this one a new version, or "
                "withdraw the other"
            )


def _now() -> int:
    return time.time_ns() // 1_000_000
