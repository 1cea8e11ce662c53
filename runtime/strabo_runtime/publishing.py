"""Make a compiled protocol known to workers and agents."""

from __future__ import annotations

import orjson
from strabo_topics.admin import ensure
from strabo_topics.definitions import publish
from strabo_topics.settings import KafkaSettings

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions.schema import json_schema


async def publish_machine(settings: KafkaSettings, machine: Machine, source: str) -> bool:
    """Make the topics of the protocol's roles and write its definition; False when it was there already.

    Raises:
        VersionConflict: another text is published under this name and version.
        BrokerUnreachable: Kafka does not answer.
    """
    await ensure(settings)
    schemas = {
        message.name: json_schema(message.payload, machine.types) for message in machine.messages.values()
    }
    return await publish(
        settings,
        name=machine.name,
        version=machine.version,
        hash=machine.hash,
        text=source,
        schemas=orjson.dumps(schemas),
        roles=[role.name for role in machine.roles.values() if role.played_by != "engine"],
    )
