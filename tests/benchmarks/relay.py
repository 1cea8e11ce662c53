"""The baseline of delivery times: reads an inbox and writes each record on to a role's topic, and nothing else.

It does so as a worker does, in one transaction a batch, batches being what is there.
`python -m tests.benchmarks.relay` runs it until SIGTERM; the environment names broker and namespace.
"""

from __future__ import annotations

import asyncio
import signal
import uuid

from aiokafka import TopicPartition

from strabo_topics import clients
from strabo_topics.settings import KafkaSettings
from tests.benchmarks.bare_loop import PROTOCOL, ROLE
from tests.benchmarks.namespaces import PARTITIONS

WAIT_MS = 100


async def relay(settings: KafkaSettings) -> None:
    """Relay without end, what stands in the inbox already included."""
    consumer = clients.consumer(settings, offset_reset="earliest", fetch_max_wait_ms=WAIT_MS)
    producer = clients.transactional_producer(settings, f"relay-{uuid.uuid4().hex}")
    async with clients.started(settings, consumer), clients.started(settings, producer):
        consumer.assign([TopicPartition(settings.names.inbox, number) for number in range(PARTITIONS)])
        topic = settings.names.role(PROTOCOL, ROLE)
        while True:
            found = await consumer.getmany(timeout_ms=WAIT_MS)
            if not found:
                continue
            await producer.begin_transaction()
            sent = [
                await producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                    headers=list(record.headers),
                )
                for records in found.values()
                for record in records
            ]
            await asyncio.gather(*sent)
            await producer.commit_transaction()


async def _main() -> None:
    relaying = asyncio.ensure_future(relay(KafkaSettings.load()))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, relaying.cancel)
    await asyncio.wait([relaying])
    if not relaying.cancelled():
        relaying.result()


if __name__ == "__main__":
    asyncio.run(_main())
