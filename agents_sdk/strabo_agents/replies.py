"""Waits for answers and outcomes on the replies topic, from the moment that it is opened.

It reads outside of any group, since the answer to this process's message must come to this process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from strabo_agents.answers import read_answer, read_outcome
from strabo_agents.errors import Permanent, Rejected, SettingsError
from strabo_agents.messages import Accepted, Outcome
from strabo_avro import headers
from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable
from strabo_avro.records import Envelope
from strabo_topics.admin import partition_count
from strabo_topics.clients import consumer as new_consumer
from strabo_topics.clients import own_cancellations
from strabo_topics.names import partition_for
from strabo_topics.settings import KafkaSettings

POLL_MS = 500
RETRY_PAUSE = 0.2

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Asked:
    """The answer to a message, and how many wait for it."""

    answer: asyncio.Future[Accepted | Rejected]
    askers: int = 0


@dataclass(slots=True)
class _Expected:
    """The end of an instance, and how many wait for it."""

    outcome: asyncio.Future[Outcome]
    starter: str
    askers: int = 0


class Replies:
    """Futures of what is awaited, fulfilled by a reader that starts with the first `open`."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._answers: dict[str, _Asked] = {}
        self._outcomes: dict[str, _Expected] = {}
        self._recipients: Counter[str] = Counter()
        self._consumer: AIOKafkaConsumer | None = None
        self._reading: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Return once everything written from now on will be seen."""
        async with self._opening:
            if self._reading is not None:
                return
            consumer = new_consumer(self._settings, offset_reset="earliest")
            await consumer.start()
            try:
                partitions = await _partitions(self._settings)
                consumer.assign(partitions)
                ends = await consumer.end_offsets(partitions)
                for partition in partitions:
                    consumer.seek(partition, ends[partition])
            except BaseException:
                await consumer.stop()
                raise
            self._consumer = consumer
            self._reading = asyncio.create_task(self._read(consumer), name="replies")

    @contextlib.contextmanager
    def expecting_answer(self, message_id: str, sender: str) -> Iterator[asyncio.Future[Accepted | Rejected]]:
        """The answer to a message that `sender` is about to send."""
        asked = self._answers.get(message_id)
        if asked is None:
            asked = self._answers[message_id] = _Asked(asyncio.get_running_loop().create_future())
        asked.askers += 1
        self._recipients[sender] += 1
        try:
            yield asked.answer
        finally:
            asked.askers -= 1
            if asked.askers == 0:
                self._answers.pop(message_id, None)
            self._forget(sender)

    def expect_outcome(self, instance_id: str, starter: str) -> asyncio.Future[Outcome]:
        """The end of an instance that `starter` is about to start; asked for again, the same."""
        expected = self._outcomes.get(instance_id)
        if expected is None:
            future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
            expected = self._outcomes[instance_id] = _Expected(future, starter)
            self._recipients[starter] += 1
        expected.askers += 1
        return expected.outcome

    def give_up_outcome(self, instance_id: str) -> None:
        """One who expected the end of an instance, which was not started after all, does so no more."""
        expected = self._outcomes.get(instance_id)
        if expected is not None:
            expected.askers -= 1
            if expected.askers == 0:
                del self._outcomes[instance_id]
                self._forget(expected.starter)

    async def close(self) -> None:
        """Stop reading; outcomes that are still expected are cancelled."""
        for expected in self._outcomes.values():
            expected.outcome.cancel()
        self._outcomes.clear()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None

    async def _read(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            for record in await _next(consumer):
                self._take(record)

    def _take(self, record: ConsumerRecord) -> None:
        recipients = headers.read(record.headers).to
        if record.value is None or (recipients and not any(self._recipients[each] for each in recipients)):
            return
        try:
            envelope = decode(record.value, Envelope)
            if envelope.kind == "reply":
                self._take_answer(envelope)
            elif envelope.kind == "outcome":
                self._take_outcome(envelope)
        except Exception as error:  # whatever is wrong with one record, the others have their readers
            _log.warning(
                "a reply cannot be read", offset=record.offset, partition=record.partition, error=str(error)
            )

    def _take_answer(self, envelope: Envelope) -> None:
        asked = self._answers.get(envelope.in_reply_to or "")
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(read_answer(envelope))

    def _take_outcome(self, envelope: Envelope) -> None:
        outcome = read_outcome(envelope)
        expected = self._outcomes.pop(envelope.instance_id, None)
        if expected is not None:
            self._forget(expected.starter)
            if not expected.outcome.done():
                expected.outcome.set_result(outcome)

    def _forget(self, recipient: str) -> None:
        self._recipients[recipient] -= 1
        if self._recipients[recipient] <= 0:
            del self._recipients[recipient]


async def find_outcome(settings: KafkaSettings, instance_id: str) -> Outcome:
    """The end of an instance that somebody else started: looked for in what replies keep, then waited for."""
    consumer = new_consumer(settings, offset_reset="earliest")
    await consumer.start()
    try:
        partitions = await _partitions(settings)
        partition = partitions[partition_for(instance_id, len(partitions))]
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        while True:
            for record in await _next(consumer):
                outcome = _outcome_in(record, instance_id)
                if outcome is not None:
                    return outcome
    finally:
        await consumer.stop()


def _outcome_in(record: ConsumerRecord, instance_id: str) -> Outcome | None:
    if record.value is None or headers.read(record.headers).type != "Outcome":
        return None
    try:
        envelope = decode(record.value, Envelope)
        return read_outcome(envelope) if envelope.instance_id == instance_id else None
    except (Undecodable, Permanent) as error:
        _log.warning("an outcome cannot be read", offset=record.offset, error=str(error))
        return None


async def _next(consumer: AIOKafkaConsumer) -> Sequence[ConsumerRecord]:
    """What has arrived; trouble with Kafka is waited out."""
    while True:
        try:
            with own_cancellations():
                batch = await consumer.getmany(timeout_ms=POLL_MS)
            return [record for records in batch.values() for record in records]
        except (KafkaError, OSError) as error:
            _log.warning(
                "reading replies failed and is tried again", error=f"{type(error).__name__}: {error}"
            )
            await asyncio.sleep(RETRY_PAUSE)


async def _partitions(settings: KafkaSettings) -> Sequence[TopicPartition]:
    topic = settings.names.replies
    count = await partition_count(settings, topic)
    if count is None:
        raise SettingsError(f"topic {topic} is not there: run `strabo topics apply`")
    return [TopicPartition(topic, number) for number in range(count)]
