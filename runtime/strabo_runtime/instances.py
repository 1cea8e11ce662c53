"""Instances as the state topic has them, for those who look in from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import orjson

from strabo_avro.records import DeadLetter, InstanceState
from strabo_runtime.engine import Instance, Machine, decode_instance
from strabo_runtime.engine.errors import EngineError
from strabo_runtime.engine.snapshot import decode_children
from strabo_runtime.errors import NotFound
from strabo_runtime.expressions.types import Json
from strabo_runtime.history import dead_letters_of, find_instance, live_instances
from strabo_runtime.published import compile_published
from strabo_topics.definitions import read_definitions
from strabo_topics.settings import KafkaSettings


@dataclass(frozen=True, slots=True)
class Found:
    """An instance as it stood after its last step.

    `instance` and `machine` are None where the definition is not published here, or cannot be read by this version. A
    finished instance keeps only its labels, result and error. `parent` is the instance that started it as a child,
    `children` how many of its own are running.
    """

    id: str
    protocol: str
    version: str
    definition_hash: str
    status: str
    state: str
    revision: int
    updated_at: int
    labels: Mapping[str, Json]
    result: Json
    error: str | None
    parent: str | None = None
    children: int = 0
    instance: Instance | None = None
    machine: Machine | None = None
    dead_letters: tuple[DeadLetter, ...] = ()


async def find_all(settings: KafkaSettings) -> list[Found]:
    """Every instance of the namespace, the last moved first; without machines, since a list needs none.

    Raises:
        BrokerUnreachable: Kafka does not answer.
    """
    found = [_found(state) for state in await live_instances(settings)]
    return sorted(found, key=lambda item: (-item.updated_at, item.id))


async def find_one(settings: KafkaSettings, instance_id: str) -> Found:
    """One instance with its machine and its dead letters.

    Raises:
        NotFound: the namespace has no such instance.
        BrokerUnreachable: Kafka does not answer.
    """
    state = await find_instance(settings, instance_id)
    if state is None:
        raise NotFound(
            f"no instance {instance_id!r} in namespace {settings.namespace}; see: strabo instances list"
        )
    found = _found(state, await machine_of(settings, state.protocol, state.definition_hash))
    return replace(found, dead_letters=_once_each(await dead_letters_of(settings, instance_id)))


async def machine_of(settings: KafkaSettings, protocol: str, definition_hash: str) -> Machine | None:
    """The published definition with this hash, compiled; None where there is none that this version can read."""
    for definition in (await read_definitions(settings)).values():
        if definition.name == protocol and definition.hash == definition_hash:
            machine = compile_published(definition)
            return machine if isinstance(machine, Machine) else None
    return None


def _once_each(letters: Iterable[DeadLetter]) -> tuple[DeadLetter, ...]:
    """One letter for each record: an agent that is redelivered what it gave up gives it up again."""
    first: dict[object, DeadLetter] = {}
    for letter in letters:
        record = (letter.topic, letter.partition, letter.offset, letter.by)
        first.setdefault(record if letter.offset >= 0 else id(letter), letter)
    return tuple(first.values())


def _found(state: InstanceState, machine: Machine | None = None) -> Found:
    stored = orjson.loads(state.data)
    instance: Instance | None = None
    if machine is not None:
        try:
            instance = decode_instance(machine, stored)
        except EngineError:
            machine = None
    return Found(
        id=state.instance_id,
        protocol=state.protocol,
        version=state.version,
        definition_hash=state.definition_hash,
        status=state.status,
        state=state.state,
        revision=state.revision,
        updated_at=state.updated_at,
        labels=stored.get("labels", {}),
        result=stored.get("result"),
        error=stored.get("error"),
        parent=stored["parent"][0] if "parent" in stored else None,
        children=sum(child.status == "running" for child in decode_children(stored.get("children", ()))),
        instance=instance,
        machine=machine,
    )
