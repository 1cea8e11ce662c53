"""The agent directory: who has announced itself, on the agents topic."""

from __future__ import annotations

from strabo_avro.codec import decode
from strabo_avro.records import Agent
from strabo_topics.reading import read_compacted
from strabo_topics.settings import KafkaSettings


async def read_agents(settings: KafkaSettings) -> dict[str, Agent]:
    """Every agent's last announcement by agent id, silent ones too: health is for the reader to judge."""
    records = await read_compacted(settings, settings.names.agents)
    return {key.decode(): decode(value, Agent) for key, value in records.items()}
