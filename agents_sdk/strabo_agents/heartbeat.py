"""An agent's announcement on the agents topic: who it is, what it plays, and how it does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson
from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from strabo_agents.envelopes import Post
from strabo_agents.messages import Outgoing
from strabo_agents.transport import Transport
from strabo_avro import headers
from strabo_avro.codec import encode
from strabo_avro.records import Agent as Announcement
from strabo_avro.records import Plays
from strabo_topics.names import partition_for

if TYPE_CHECKING:
    from strabo_agents.agent import Agent


class Heartbeat:
    """Announces the agent every `interval` seconds, and at once when its health changes.

    `partitions` are those of the agents topic; `load` tells how many messages are in hand, `healthy` whether new
    instances should bind to this agent.
    """

    def __init__(
        self,
        agent: Agent,
        agent_id: str,
        post: Post,
        partitions: int,
        transport: Transport,
        *,
        interval: float,
        load: Callable[[], int],
        healthy: Callable[[], bool],
    ) -> None:
        self._agent_id = agent_id
        self._plays = tuple(Plays(protocol=role.protocol, role=role.name) for role in agent.roles)
        self._capabilities = agent.capabilities
        self._schemas = orjson.dumps(schemas_of(agent))
        self._topic = post.names.agents
        self._partition = partition_for(agent_id, partitions)
        self._transport = transport
        self._interval = interval
        self._load = load
        self._healthy = healthy
        self._started_at = _now()
        self._changed = asyncio.Event()

    async def announce(self) -> None:
        """Say once how the agent does."""
        announcement = Announcement(
            agent_id=self._agent_id,
            plays=self._plays,
            capabilities=self._capabilities,
            schemas=self._schemas,
            load=self._load(),
            healthy=self._healthy(),
            heartbeat=_now(),
            started_at=self._started_at,
        )
        await self._transport.produce([self._record(encode(announcement))])

    async def run(self) -> None:
        """Announce until cancelled."""
        while True:
            self._changed.clear()
            await self.announce()
            try:
                async with asyncio.timeout(self._interval):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def health_changed(self) -> None:
        """Announce soon."""
        self._changed.set()

    async def withdraw(self) -> None:
        """Leave the directory, so that no new instance binds to an agent that has stopped."""
        await self._transport.produce([self._record(None)])

    def _record(self, value: bytes | None) -> Outgoing:
        name = tuple(headers.build(self._agent_id, "Agent"))
        return Outgoing(self._topic, self._partition, self._agent_id.encode(), value, name)


def schemas_of(agent: Agent) -> dict[str, object]:
    """Message type → JSON Schema of the model by which the agent reads or writes it."""
    models: dict[str, type[BaseModel]] = {}
    for role in agent.roles:
        for handler in role.handlers.values():
            for model in (handler.model, *handler.sends):
                if model is not None:
                    models.setdefault(model.__name__, model)
    schemas: dict[str, object] = {}
    for name, model in models.items():
        try:
            schemas[name] = model.model_json_schema()
        except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
            continue  # The schema only informs; a model without one still works.
    return schemas


def _now() -> int:
    return time.time_ns() // 1_000_000
