"""The transport over Kafka: a producer that is replaced when it fails, and the answers that are waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, UnknownTopicOrPartitionError

from strabo_agents.backoff import Backoff, until_it_works
from strabo_agents.envelopes import Post
from strabo_agents.errors import NoAnswer, SettingsError
from strabo_agents.messages import Accepted, Outgoing
from strabo_agents.replies import Replies
from strabo_topics.clients import own_cancellations
from strabo_topics.clients import producer as new_producer
from strabo_topics.settings import KafkaSettings

BACKOFF = Backoff(first=0.1, limit=5.0)

_log = structlog.get_logger(__name__)


class KafkaTransport:
    """Produces and asks over one producer. `answer_timeout` is in seconds."""

    def __init__(self, settings: KafkaSettings, *, answer_timeout: float) -> None:
        self._settings = settings
        self._timeout = answer_timeout
        self._producer: AIOKafkaProducer | None = None
        self._replacing = asyncio.Lock()
        self.replies = Replies(settings)

    async def open(self) -> Post:
        """Connect; returns where records go.

        Raises:
            SettingsError: the namespace has no topics.
        """
        producer = await self._current()
        names = self._settings.names
        try:
            partitions = await producer.partitions_for(names.inbox)
        except (KafkaError, UnknownTopicOrPartitionError):
            partitions = None
        if not partitions:
            raise SettingsError(
                f"the namespace {names.namespace!r} has no topic {names.inbox}: run `strabo topics apply`, or publish "
                "a protocol; another namespace is chosen with STRABO_NAMESPACE"
            )
        return Post(names, len(partitions))

    async def produce(self, records: Sequence[Outgoing]) -> None:
        """See `Transport.produce`."""
        if records:
            await until_it_works(
                lambda: self._produce_once(records),
                BACKOFF,
                may_pass=_may_pass,
                sleep=asyncio.sleep,
                on_failure=_note_failure,
            )

    async def ask(self, record: Outgoing, *, message_id: str, sender: str) -> Accepted:
        """See `Transport.ask`."""
        try:
            async with asyncio.timeout(self._timeout):
                with own_cancellations():
                    await self.replies.open()
                with self.replies.expecting_answer(message_id, sender) as answer:
                    await self.produce([record])
                    found = await answer
        except TimeoutError:
            raise NoAnswer(
                f"no answer to message {message_id} in {self._timeout:g} s: is a worker running "
                "(`strabo run worker`)? The message may still be taken; sending it again under its id is safe"
            ) from None
        except (KafkaError, OSError) as error:
            raise NoAnswer(f"the answer to message {message_id} cannot be read: {error!r}") from error
        if isinstance(found, Accepted):
            return found
        raise found

    async def close(self) -> None:
        """Let go of the connections."""
        await self.replies.close()
        producer, self._producer = self._producer, None
        if producer is not None:
            await _stop(producer)

    async def _produce_once(self, records: Sequence[Outgoing]) -> None:
        producer = await self._current()
        try:
            with own_cancellations():
                sent = [
                    await producer.send(
                        record.topic, record.value, record.key, record.partition, headers=list(record.headers)
                    )
                    for record in records
                ]
                await asyncio.gather(*sent)
        except MessageSizeTooLargeError:
            raise
        except (KafkaError, OSError, AssertionError):
            # After an error an idempotent producer may refuse everything that follows: take a new one.
            if self._producer is producer:
                self._producer = None
                await _stop(producer)
            raise

    async def _current(self) -> AIOKafkaProducer:
        async with self._replacing:
            if self._producer is None:
                producer = new_producer(self._settings)
                try:
                    with own_cancellations():
                        await producer.start()
                except BaseException:
                    await _stop(producer)
                    raise
                self._producer = producer
            return self._producer


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, KafkaError | OSError | AssertionError) and not isinstance(
        error, MessageSizeTooLargeError
    )


def _note_failure(attempt: int, error: BaseException) -> None:
    _log.warning("producing failed and is tried again", attempt=attempt, error=repr(error))


async def _stop(producer: AIOKafkaProducer) -> None:
    with contextlib.suppress(KafkaError, OSError, AssertionError, TimeoutError):
        await asyncio.wait_for(producer.stop(), 5.0)
