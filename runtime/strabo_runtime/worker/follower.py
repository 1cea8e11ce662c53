"""Keeping up with a small topic: everything it holds, read to its end, and what is added as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from strabo_runtime.worker.backoff import Backoff
from strabo_runtime.worker.errors import KafkaFailed, TopicsUnfit
from strabo_runtime.worker.kafka import Incoming, KafkaPort, Reader

READ_WAIT_S = 0.5

_log = structlog.get_logger("strabo.worker")


class TopicFollower:
    """Gives every record of a topic to `apply`, in order, once for each time it is read.

    `apply` must take a record again without harm: after trouble with Kafka the topic is read anew.
    """

    def __init__(self, kafka: KafkaPort, topic: str, apply: Callable[[Incoming], None]) -> None:
        self._kafka = kafka
        self._topic = topic
        self._apply = apply
        self._positions: dict[int, int] = {}
        self._moved = asyncio.Condition()

    async def run(self) -> None:
        """Follow until cancelled. Raises `TopicsUnfit` when there is no such topic."""
        backoff = Backoff()
        while True:
            reader: Reader | None = None
            try:
                count = await self._kafka.partition_count(self._topic)
                if count is None:
                    raise TopicsUnfit(f"topic {self._topic} is not there: run `strabo topics apply` first")
                partitions = range(count)
                reader = await self._kafka.reader(self._topic, partitions, fetch_wait=READ_WAIT_S)
                await self._note_positions(reader, partitions)
                backoff.reset()
                while True:
                    found = await reader.read(partitions, READ_WAIT_S)
                    for records in found.values():
                        for record in records:
                            self._apply(record)
                    await self._note_positions(reader, partitions)
            except KafkaFailed as error:
                _log.warning("reading a topic failed", topic=self._topic, error=str(error))
                await backoff.wait()
            finally:
                if reader is not None:
                    await reader.close()

    async def caught_up(self) -> None:
        """Return once everything is applied that stands in the topic now. Raises `KafkaFailed`."""
        partitions = range(len(self._positions) or await self._kafka.partition_count(self._topic) or 0)
        ends = await self._kafka.ends(self._topic, partitions, committed=True)
        async with self._moved:
            await self._moved.wait_for(
                lambda: all(self._positions.get(partition, 0) >= end for partition, end in ends.items())
            )

    async def _note_positions(self, reader: Reader, partitions: range) -> None:
        positions = {partition: await reader.position(partition) for partition in partitions}
        if positions != self._positions:
            async with self._moved:
                self._positions = positions
                self._moved.notify_all()
