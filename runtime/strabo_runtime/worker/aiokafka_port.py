"""The worker's Kafka on aiokafka, with the ways around its traps.

- Any exception of a producer is the end of that producer: after `ProducerFenced` it raises bare `AssertionError`.
- A partition without a position is looked up in the group's offsets, which are not ours: `assigned` seeks at once.
- `getmany` ignores its time-out during a rebalance, and the revocation callback runs inside that window: nobody may
  wait for `poll` while holding what the callback needs.
- `getmany` with a cap fills up from one partition first: `poll` asks without a cap.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Generator, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError, OffsetOutOfRangeError
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata

from strabo_runtime.worker.errors import KafkaFailed, NotAMember, PartitionHalted
from strabo_runtime.worker.kafka import (
    Appended,
    AssignmentListener,
    Incoming,
    Intake,
    Outgoing,
    Producer,
    Reader,
)
from strabo_runtime.worker.settings import WorkerSettings, milliseconds
from strabo_topics import clients

CALL_TIMEOUT_S = 15.0
CLOSE_TIMEOUT_S = 5.0
MAX_BATCH_BYTES = 1 << 20
FETCH_WAIT_MS = 100
REBALANCE_TIMEOUT_MS = 6_000

_background: set[asyncio.Task[None]] = set()


class AiokafkaPort:
    """Implements `KafkaPort`."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._observers: dict[bool, AIOKafkaConsumer] = {}
        self._connecting = asyncio.Lock()

    async def producer(self, transactional_id: str) -> Producer:
        timeout = milliseconds(self._settings.worker_transaction_timeout)
        inner = clients.transactional_producer(
            self._settings, transactional_id, transaction_timeout_ms=timeout, max_batch_size=MAX_BATCH_BYTES
        )
        try:
            async with _failing(f"initialising the producer {transactional_id}"):
                await inner.start()
        except BaseException:
            _in_background(inner)
            raise
        return _TransactionalProducer(inner, transactional_id)

    def intake(self) -> Intake:
        return _GroupIntake(self._settings)

    async def reader(self, topic: str, partitions: Sequence[int], *, fetch_wait: float = 0.02) -> Reader:
        positions = await self.starts(topic, partitions)
        return await self._reader_at(topic, positions, committed=True, fetch_wait=fetch_wait)

    async def uncommitted_reader(self, topic: str, positions: Mapping[int, int]) -> Reader:
        return await self._reader_at(topic, positions, committed=False, fetch_wait=0.02)

    async def _reader_at(
        self, topic: str, positions: Mapping[int, int], *, committed: bool, fetch_wait: float
    ) -> Reader:
        consumer = await self._started(committed, fetch_wait)
        consumer.assign([TopicPartition(topic, partition) for partition in positions])
        for partition, position in positions.items():
            consumer.seek(TopicPartition(topic, partition), position)
        return _TopicReader(consumer, topic)

    async def partition_count(self, topic: str) -> int | None:
        async with _failing(f"asking for the partitions of {topic}"):
            metadata = await (await self._observing(committed=False))._client.fetch_all_metadata()
        found = metadata.partitions_for_topic(topic)
        return len(found) if found else None

    async def starts(self, topic: str, partitions: Sequence[int]) -> Mapping[int, int]:
        async with _failing(f"asking for the beginning of {topic}"):
            consumer = await self._observing(committed=False)
            found = await consumer.beginning_offsets(
                [TopicPartition(topic, partition) for partition in partitions]
            )
        return {key.partition: offset for key, offset in found.items()}

    async def ends(self, topic: str, partitions: Sequence[int], *, committed: bool) -> Mapping[int, int]:
        async with _failing(f"asking for the end of {topic}"):
            consumer = await self._observing(committed)
            found = await consumer.end_offsets([TopicPartition(topic, partition) for partition in partitions])
        return {key.partition: offset for key, offset in found.items()}

    async def close(self) -> None:
        for consumer in self._observers.values():
            await _stopped(consumer)
        self._observers.clear()

    async def _observing(self, committed: bool) -> AIOKafkaConsumer:
        # Kept open: timers ask for the high watermark often, and connecting each time would cost 5 ms.
        async with self._connecting:
            if committed not in self._observers:
                self._observers[committed] = await self._started(committed, fetch_wait=0.5)
            return self._observers[committed]

    async def _started(self, committed: bool, fetch_wait: float) -> AIOKafkaConsumer:
        consumer = clients.consumer(
            self._settings,
            isolation_level="read_committed" if committed else "read_uncommitted",
            fetch_max_wait_ms=int(fetch_wait * 1000),
        )
        try:
            async with _failing("connecting"):
                await consumer.start()
        except BaseException:
            _in_background(consumer)
            raise
        return consumer


class _TransactionalProducer:
    def __init__(self, inner: AIOKafkaProducer, transactional_id: str) -> None:
        self._inner = inner
        self.transactional_id = transactional_id

    async def begin(self) -> None:
        async with _failing("beginning a transaction"):
            await self._inner.begin_transaction()

    async def queue(
        self, topic: str, partition: int, records: Sequence[Outgoing]
    ) -> Sequence[Awaitable[Appended]]:
        acknowledgements = []
        async with _failing(f"sending to {topic}"):
            batch = self._inner.create_batch()
            for key, value, headers in records:
                if batch.append(timestamp=None, key=key, value=value, headers=list(headers)) is None:
                    acknowledgements.append(await self._send(batch, topic, partition))
                    batch = self._inner.create_batch()
                    batch.append(timestamp=None, key=key, value=value, headers=list(headers))
            acknowledgements.append(await self._send(batch, topic, partition))
        return acknowledgements

    async def _send(self, batch: BatchBuilder, topic: str, partition: int) -> Awaitable[Appended]:
        count = batch.record_count()
        batch.close()
        future = await self._inner.send_batch(batch, topic, partition=partition)
        return _Acknowledgement(future, topic, count)

    async def commit(self) -> None:
        async with _failing("committing a transaction"):
            await self._inner.commit_transaction()

    async def close(self) -> None:
        await _stopped(self._inner)


class _Acknowledgement:
    """Awaits a batch's acknowledgement. Nobody need do so: after a failure the rest of a transaction is abandoned."""

    def __init__(self, future: asyncio.Future[RecordMetadata], topic: str, count: int) -> None:
        future.add_done_callback(_retrieve)
        self._future = future
        self._topic = topic
        self._count = count

    def __await__(self) -> Generator[Any, None, Appended]:
        return self._appended().__await__()

    async def _appended(self) -> Appended:
        async with _failing(f"sending to {self._topic}"):
            metadata = await self._future
        return Appended(metadata.offset + self._count - 1, metadata.timestamp)


def _retrieve(future: asyncio.Future[RecordMetadata]) -> None:
    # asyncio complains of errors that nobody looked at.
    if not future.cancelled():
        future.exception()


class _TopicReader:
    def __init__(self, consumer: AIOKafkaConsumer, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic

    async def read(self, partitions: Sequence[int], wait: float) -> Mapping[int, Sequence[Incoming]]:
        asked = [TopicPartition(self._topic, partition) for partition in partitions]
        async with _failing(f"reading {self._topic}"):
            found = await self._consumer.getmany(*asked, timeout_ms=int(wait * 1000))
        return {key.partition: records for key, records in found.items()}

    async def position(self, partition: int) -> int:
        async with _failing(f"reading {self._topic}"):
            return int(await self._consumer.position(TopicPartition(self._topic, partition)))

    async def close(self) -> None:
        await _stopped(self._consumer)


class _GroupIntake(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, settings: WorkerSettings) -> None:
        session = milliseconds(settings.worker_session_timeout)
        static = settings.worker_id is not None and settings.worker_static_membership
        self._topic = settings.names.inbox
        self._consumer = clients.consumer(
            settings,
            group=settings.group,
            group_instance_id=settings.worker_id if static else None,
            session_timeout_ms=session,
            heartbeat_interval_ms=max(100, session // 6),
            rebalance_timeout_ms=max(REBALANCE_TIMEOUT_MS, session),
            max_poll_interval_ms=300_000,
            fetch_max_wait_ms=FETCH_WAIT_MS,
        )
        self._listener: AssignmentListener | None = None

    async def start(self, listener: AssignmentListener) -> None:
        self._listener = listener
        self._consumer.subscribe([self._topic], listener=self)
        async with _failing("joining the workers' group"):
            await self._consumer.start()

    async def on_partitions_revoked(self, _revoked: set[TopicPartition]) -> None:
        assert self._listener is not None
        await self._listener.revoked()

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        assert self._listener is not None
        for key in assigned:
            self._consumer.pause(key)
            self._consumer.seek(key, 0)
        self._listener.assigned(frozenset(key.partition for key in assigned))

    async def poll(self, wait: float) -> Mapping[int, Sequence[Incoming]]:
        try:
            # Not under a time-out: one that struck in a rebalance would lose what had been fetched.
            found = await self._consumer.getmany(timeout_ms=int(wait * 1000))
        except OffsetOutOfRangeError as error:
            (key, offset), *_ = error.args[0].items()
            self.pause([key.partition])
            raise PartitionHalted(
                key.partition,
                f"the position {offset} is no longer in the log: inputs were deleted before they were taken",
            ) from error
        except (KafkaError, OSError) as error:
            raise KafkaFailed(f"reading {self._topic}: {clients.reason_of(error)}") from error
        except asyncio.CancelledError as error:
            raise _own_or_failed(f"reading {self._topic}", error) from None
        return {key.partition: records for key, records in found.items()}

    def begin_at(self, partition: int, position: int) -> None:
        key = TopicPartition(self._topic, partition)
        with contextlib.suppress(IllegalStateError):
            self._consumer.seek(key, position)
            self._consumer.resume(key)

    def pause(self, partitions: Sequence[int]) -> None:
        for key in self._assigned(partitions):
            self._consumer.pause(key)

    def resume(self, partitions: Sequence[int]) -> None:
        for key in self._assigned(partitions):
            self._consumer.resume(key)

    def position(self, partition: int) -> int | None:
        key = TopicPartition(self._topic, partition)
        subscription = self._consumer._subscription.subscription
        assignment = None if subscription is None else subscription.assignment
        state = None if assignment is None else assignment.state_value(key)
        return int(state.position) if state is not None and state.has_valid_position else None

    async def confirm(self, positions: Mapping[int, int]) -> None:
        offsets = {TopicPartition(self._topic, partition): offset for partition, offset in positions.items()}
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await self._consumer.commit(offsets)
        except (CommitFailedError, IllegalStateError) as error:
            raise NotAMember(f"committing group offsets: {clients.reason_of(error)}") from error
        except (KafkaError, OSError, TimeoutError) as error:
            raise KafkaFailed(f"committing group offsets: {clients.reason_of(error)}") from error
        except asyncio.CancelledError as error:
            raise _own_or_failed("committing group offsets", error) from None

    async def close(self) -> None:
        await _stopped(self._consumer)

    def _assigned(self, partitions: Sequence[int]) -> list[TopicPartition]:
        held = self._consumer.assignment()
        return [
            key for key in (TopicPartition(self._topic, partition) for partition in partitions) if key in held
        ]


@contextlib.asynccontextmanager
async def _failing(action: str) -> AsyncIterator[None]:
    """Turns whatever goes wrong into `KafkaFailed`, a call that takes too long included."""
    try:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            yield
    except KafkaFailed:
        raise
    except TypeError:
        # aiokafka was called wrongly, and another attempt would be no better.
        raise
    except Exception as error:
        raise KafkaFailed(f"{action}: {clients.reason_of(error)}") from error
    except asyncio.CancelledError as error:
        raise _own_or_failed(action, error) from None


def _own_or_failed(action: str, error: asyncio.CancelledError) -> BaseException:
    """What to raise for a cancellation: aiokafka lets those of its own tasks out, when a connection is lost."""
    task = asyncio.current_task()
    return error if task is None or task.cancelling() else KafkaFailed(f"{action}: the client gave up")


async def _stopped(client: AIOKafkaProducer | AIOKafkaConsumer) -> None:
    # In a task of its own: a fenced client, or one without a broker, raises anything here, cancellations of its own
    # tasks included, and there is nothing left to be done about it.
    stopping = asyncio.ensure_future(client.stop())
    done, _pending = await asyncio.wait([stopping], timeout=CLOSE_TIMEOUT_S)
    if not done:
        stopping.cancel()
    elif not stopping.cancelled():
        stopping.exception()


def _in_background(client: AIOKafkaProducer | AIOKafkaConsumer) -> None:
    task = asyncio.create_task(_stopped(client))
    _background.add(task)
    task.add_done_callback(_background.discard)
