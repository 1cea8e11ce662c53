"""One transaction: begin, write, await every acknowledgement, commit."""

from __future__ import annotations

from collections.abc import Mapping

from strabo_runtime.worker.clock import Clock
from strabo_runtime.worker.kafka import Appended, Batches, Producer, Reached


async def transact(
    producer: Producer, batches: Batches, stage: str, reached: Reached, clock: Clock
) -> Mapping[tuple[str, int], Appended]:
    """Write all of it or nothing; returns where the last record of each batch stands. Raises `KafkaFailed`.

    Every acknowledgement is awaited before the commit: a batch that failed does not fail aiokafka's commit, so it would
    be missing from a transaction that counts as committed. `stage` is the first part of the crash points' names.
    """
    await producer.begin()
    reached(f"{stage}.begun")
    sent_at = clock.now()
    waiting = []
    for (topic, partition), records in batches.items():
        if records:
            waiting.append(((topic, partition), await producer.queue(topic, partition, records)))
            reached(f"{stage}.queued")
    appended = {}
    for place, acknowledgements in waiting:
        for acknowledgement in acknowledgements:
            appended[place] = await acknowledgement
        clock.observe(sent_at, appended[place].timestamp)
    reached(f"{stage}.acknowledged")
    await producer.commit()
    reached(f"{stage}.committed")
    return appended
