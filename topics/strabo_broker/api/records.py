"""Answers that move records: Produce, Fetch, ListOffsets, DeleteRecords."""

from __future__ import annotations

import asyncio
from typing import Final

from strabo_broker import batches
from strabo_broker.api.call import Answers, Call, now_ms
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import CorruptBatch, MalformedRequest, Refusal
from strabo_broker.partition import Partition, Waiter
from strabo_broker.topics import Topics
from strabo_broker.transactions import Transactions
from strabo_broker.wire import records

_ACKS: Final = frozenset({-1, 0, 1})
_READ_COMMITTED: Final = 1
_LATEST: Final = -1
_EARLIEST: Final = -2
_LEADER_EPOCH: Final = 0
_LONGEST_WAIT_MS: Final = 300_000


class RecordsApi:
    """Producers write batches, consumers read them and wait for more."""

    def __init__(self, topics: Topics, transactions: Transactions) -> None:
        self._topics = topics
        self._transactions = transactions

    def answers(self) -> Answers:
        return {0: self.produce, 1: self.fetch, 2: self.list_offsets, 21: self.delete_records}

    # Produce.

    async def produce(self, request: records.ProduceRequest, _: Call) -> records.ProduceResponse | None:
        now = now_ms()
        topics = tuple(
            records.ProduceTopicResponse(
                topic.name,
                tuple(self._produce_one(request, topic.name, each, now) for each in topic.partitions),
            )
            for topic in request.topics
        )
        if request.acks:
            return records.ProduceResponse(topics)
        if any(each.error_code for topic in topics for each in topic.partitions):
            # Nobody waits for an answer; a closed connection is how the producer learns to look at its metadata again.
            raise MalformedRequest("a produce request without acknowledgement could not be carried out")
        return None

    def _produce_one(
        self, request: records.ProduceRequest, topic: str, wanted: records.ProducePartition, now: int
    ) -> records.ProducePartitionResponse:
        try:
            partition = self._topics.partition(topic, wanted.index)
            if request.acks not in _ACKS:
                raise Refusal(
                    ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}; -1, 0 and 1 are known"
                )
            if request.acks == -1 and partition.configs.minimum_in_sync_replicas > 1:
                raise Refusal(
                    ErrorCode.NOT_ENOUGH_REPLICAS, "min.insync.replicas is more than this one broker"
                )
            batch = wanted.records
            if not batch:
                raise Refusal(ErrorCode.INVALID_RECORD, "a produce request without a record batch")
            if len(batch) >= batches.HEADER.size:
                header = batches.read_header(batch)
                if header.is_transactional:
                    self._transactions.check_produce(header.producer_id, header.producer_epoch, partition)
            appended = partition.append(batch, now)
        except Refusal as refusal:
            return records.ProducePartitionResponse(wanted.index, refusal.code, error_message=str(refusal))
        except CorruptBatch as error:
            return records.ProducePartitionResponse(
                wanted.index, ErrorCode.CORRUPT_MESSAGE, error_message=str(error)
            )
        return records.ProducePartitionResponse(
            wanted.index, ErrorCode.NONE, appended.base_offset, appended.append_time, partition.log_start
        )

    # Fetch.

    async def fetch(self, request: records.FetchRequest, _: Call) -> records.FetchResponse:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(max(request.maximum_wait_ms, 0), _LONGEST_WAIT_MS) / 1000
        committed = request.isolation_level == _READ_COMMITTED
        while True:
            reading = _Reading(self._topics, request, committed)
            if reading.urgent or reading.size >= request.minimum_bytes or loop.time() >= deadline:
                return records.FetchResponse(topics=tuple(reading.topics))
            await _any_grows(reading.partitions, committed, deadline)

    # ListOffsets.

    async def list_offsets(self, request: records.ListOffsetsRequest, _: Call) -> records.ListOffsetsResponse:
        committed = request.isolation_level == _READ_COMMITTED
        return records.ListOffsetsResponse(
            topics=tuple(
                records.ListOffsetsTopicResponse(
                    topic.name,
                    tuple(self._list_one(topic.name, each, committed) for each in topic.partitions),
                )
                for topic in request.topics
            )
        )

    def _list_one(
        self, topic: str, wanted: records.ListOffsetsPartition, committed: bool
    ) -> records.ListOffsetsPartitionResponse:
        try:
            partition = self._topics.partition(topic, wanted.index)
            check_leader_epoch(wanted.current_leader_epoch)
            end = partition.last_stable_offset if committed else partition.next_offset
            timestamp = -1
            if wanted.timestamp == _LATEST:
                offset = end
            elif wanted.timestamp == _EARLIEST:
                offset = partition.log_start
            elif wanted.timestamp < 0:
                raise Refusal(ErrorCode.UNSUPPORTED_VERSION)
            else:
                timestamp, offset = partition.find_time(wanted.timestamp, end) or (-1, -1)
        except Refusal as refusal:
            return records.ListOffsetsPartitionResponse(wanted.index, refusal.code)
        except CorruptBatch:
            return records.ListOffsetsPartitionResponse(wanted.index, ErrorCode.CORRUPT_MESSAGE)
        epoch = _LEADER_EPOCH if offset >= 0 else -1
        return records.ListOffsetsPartitionResponse(wanted.index, ErrorCode.NONE, timestamp, offset, epoch)

    # DeleteRecords.

    async def delete_records(
        self, request: records.DeleteRecordsRequest, _: Call
    ) -> records.DeleteRecordsResponse:
        return records.DeleteRecordsResponse(
            topics=tuple(
                records.DeleteRecordsTopicResponse(
                    topic.name, tuple(self._delete_one(topic.name, each) for each in topic.partitions)
                )
                for topic in request.topics
            )
        )

    def _delete_one(
        self, topic: str, wanted: records.DeleteRecordsPartition
    ) -> records.DeleteRecordsPartitionResponse:
        try:
            partition = self._topics.partition(topic, wanted.index)
            if not partition.configs.deletes:
                raise Refusal(ErrorCode.POLICY_VIOLATION)
            offset = partition.next_offset if wanted.offset == -1 else wanted.offset
            if not 0 <= offset <= partition.next_offset:
                raise Refusal(ErrorCode.OFFSET_OUT_OF_RANGE)
            if offset > partition.log_start:
                partition.start_at(offset)
        except Refusal as refusal:
            return records.DeleteRecordsPartitionResponse(wanted.index, -1, refusal.code)
        return records.DeleteRecordsPartitionResponse(wanted.index, partition.log_start, ErrorCode.NONE)


class _Reading:
    """One pass over the partitions of a fetch: what there is, how much, and whether it has to be told at once."""

    __slots__ = ("partitions", "size", "topics", "urgent")

    def __init__(self, topics: Topics, request: records.FetchRequest, committed: bool) -> None:
        self.size = 0
        self.urgent = False
        self.partitions: list[Partition] = []
        self.topics: list[records.FetchTopicResponse] = []
        for topic in request.topics:
            found = []
            for wanted in topic.partitions:
                try:
                    partition = topics.partition(topic.name, wanted.partition)
                    check_leader_epoch(wanted.current_leader_epoch)
                    found.append(self._read(partition, wanted, request.maximum_bytes, committed))
                except Refusal as refusal:
                    self.urgent = True
                    found.append(records.FetchPartitionResponse(wanted.partition, refusal.code))
            self.topics.append(records.FetchTopicResponse(topic.name, tuple(found)))

    def _read(
        self, partition: Partition, wanted: records.FetchPartition, maximum_bytes: int, committed: bool
    ) -> records.FetchPartitionResponse:
        stable = partition.last_stable_offset
        below = stable if committed else partition.next_offset
        # The first batch is given whatever its size, or a reader with small limits would never get past it.
        room = min(wanted.maximum_bytes, maximum_bytes - self.size)
        data, size = partition.read(wanted.fetch_offset, below, room, at_least_one=self.size == 0)
        self.size += size
        self.partitions.append(partition)
        aborted: tuple[records.AbortedTransaction, ...] | None = None
        if committed:
            end = batches.read_header(data[-1]).last_offset + 1 if data else wanted.fetch_offset
            aborted = tuple(
                records.AbortedTransaction(each.producer_id, each.first_offset)
                for each in partition.aborted_between(wanted.fetch_offset, end)
            )
        return records.FetchPartitionResponse(
            wanted.partition,
            ErrorCode.NONE,
            partition.next_offset,
            stable,
            partition.log_start,
            aborted,
            records=tuple(data),
        )


async def _any_grows(partitions: list[Partition], committed: bool, deadline: float) -> None:
    """Wait until one of the partitions has more to read, or until `deadline` on the loop's clock."""
    loop = asyncio.get_running_loop()
    waiter: Waiter = loop.create_future()
    timer = loop.call_at(deadline, _finish, waiter)
    waiting = [each.waiting_for_stable if committed else each.waiting_for_end for each in partitions]
    for each in waiting:
        each.add(waiter)
    try:
        await waiter
    finally:
        timer.cancel()
        for each in waiting:
            each.discard(waiter)


def _finish(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)


def check_leader_epoch(epoch: int) -> None:
    """This broker has led every partition since epoch 0; a client that knows a later epoch knows another broker."""
    if epoch > _LEADER_EPOCH:
        raise Refusal(ErrorCode.UNKNOWN_LEADER_EPOCH)
