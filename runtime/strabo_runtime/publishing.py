"""Make a compiled protocol known to workers and agents."""

from __future__ import annotations

import orjson

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions.schema import json_schema
from strabo_runtime.expressions.time import parse_duration
from strabo_topics.admin import ensure
from strabo_topics.definitions import publish
from strabo_topics.settings import KafkaSettings


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
        longest_deadline=longest_deadline(machine),
    )


def longest_deadline(machine: Machine) -> int | None:
    """The longest time in milliseconds that an instance may wait as far as the text states it; None: it states none.

    Role topics must keep their records for longer. Durations that are computed at run time cannot be known here.
    """
    timers = [machine.deadline, *(state.timeout for state in machine.states.values())]
    spans = [timer.after for timer in timers if timer is not None]
    spans += [owed.within for state in machine.states.values() for owed in state.expects]
    stated = [parse_duration(str(span.source)) for span in spans if span is not None and span.constant]
    return max(stated, default=None)
