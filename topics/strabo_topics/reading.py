"""Reading a topic from its start to its present end."""

from __future__ import annotations

from aiokafka import TopicPartition

from strabo_topics.admin import partition_count
from strabo_topics.clients import consumer, started
from strabo_topics.errors import TopicsRefused
from strabo_topics.settings import KafkaSettings

POLL_MS = 200


async def read_compacted(settings: KafkaSettings, topic: str) -> dict[bytes, bytes]:
    """The last committed value of each key, without those that were deleted.

    Raises `TopicsRefused` without the topic.
    """
    count = await partition_count(settings, topic)
    if count is None:
        raise TopicsRefused(f"topic {topic} is not there: run `strabo topics apply` first")
    partitions = [TopicPartition(topic, number) for number in range(count)]
    async with started(settings, consumer(settings, offset_reset="earliest", fetch_max_wait_ms=50)) as reader:
        reader.assign(partitions)
        await reader.seek_to_beginning(*partitions)
        ends = await reader.end_offsets(partitions)
        latest: dict[bytes, bytes] = {}
        left = {partition for partition in partitions if ends[partition] > 0}
        while left:
            for records in (await reader.getmany(*left, timeout_ms=POLL_MS)).values():
                for record in records:
                    if record.value is None:
                        latest.pop(record.key, None)
                    else:
                        latest[record.key] = record.value
            left = {partition for partition in left if await reader.position(partition) < ends[partition]}
        return latest
