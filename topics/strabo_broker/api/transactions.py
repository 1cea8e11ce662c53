"""Answers to idempotent and transactional producers."""

from __future__ import annotations

from typing import Final

from strabo_broker.api.call import Answers, Call, now_ms
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.partition import Partition
from strabo_broker.topics import Topics
from strabo_broker.transactions import Transactions
from strabo_broker.wire import transactions

# The version of each request from which on its clients know PRODUCER_FENCED.
_INIT_KNOWS_FENCED: Final = 4
_KNOWS_FENCED: Final = 2


class TransactionsApi:
    """The transaction coordinator of every transactional id."""

    def __init__(self, topics: Topics, coordinator: Transactions) -> None:
        self._topics = topics
        self._transactions = coordinator

    def answers(self) -> Answers:
        return {22: self.init_producer_id, 24: self.add_partitions, 25: self.add_offsets, 26: self.end}

    async def init_producer_id(
        self, request: transactions.InitProducerIdRequest, call: Call
    ) -> transactions.InitProducerIdResponse:
        if request.transactional_id is None:
            return transactions.InitProducerIdResponse(
                producer_id=self._transactions.new_producer_id(), producer_epoch=0
            )
        try:
            if not request.transactional_id:
                raise Refusal(ErrorCode.INVALID_REQUEST)
            producer_id, epoch = self._transactions.initialise(
                request.transactional_id,
                request.transaction_timeout_ms,
                request.producer_id,
                request.producer_epoch,
                now_ms(),
            )
        except Refusal as refusal:
            return transactions.InitProducerIdResponse(
                error_code=older_code(refusal.code, call.version, _INIT_KNOWS_FENCED)
            )
        return transactions.InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)

    async def add_partitions(
        self, request: transactions.AddPartitionsToTxnRequest, call: Call
    ) -> transactions.AddPartitionsToTxnResponse:
        codes: dict[tuple[str, int], ErrorCode] = {}
        found: list[Partition] = []
        for topic in request.topics:
            for number in topic.partitions:
                try:
                    found.append(self._topics.partition(topic.name, number))
                except Refusal as refusal:
                    codes[topic.name, number] = refusal.code
        others = ErrorCode.OPERATION_NOT_ATTEMPTED if codes else ErrorCode.NONE
        if not codes:
            try:
                self._transactions.add_partitions(
                    request.transactional_id, request.producer_id, request.producer_epoch, found, now_ms()
                )
            except Refusal as refusal:
                others = older_code(refusal.code, call.version, _KNOWS_FENCED)
        return transactions.AddPartitionsToTxnResponse(
            topics=tuple(
                transactions.AddPartitionsToTxnTopicResponse(
                    topic.name,
                    tuple(
                        transactions.AddPartitionsToTxnPartitionResponse(
                            number, codes.get((topic.name, number), others)
                        )
                        for number in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    async def add_offsets(
        self, request: transactions.AddOffsetsToTxnRequest, call: Call
    ) -> transactions.AddOffsetsToTxnResponse:
        try:
            self._transactions.add_group(
                request.transactional_id,
                request.producer_id,
                request.producer_epoch,
                request.group_id,
                now_ms(),
            )
        except Refusal as refusal:
            return transactions.AddOffsetsToTxnResponse(
                error_code=older_code(refusal.code, call.version, _KNOWS_FENCED)
            )
        return transactions.AddOffsetsToTxnResponse()

    async def end(self, request: transactions.EndTxnRequest, call: Call) -> transactions.EndTxnResponse:
        try:
            self._transactions.end(
                request.transactional_id,
                request.producer_id,
                request.producer_epoch,
                commit=request.committed,
                now_ms=now_ms(),
            )
        except Refusal as refusal:
            return transactions.EndTxnResponse(
                error_code=older_code(refusal.code, call.version, _KNOWS_FENCED)
            )
        return transactions.EndTxnResponse()


def older_code(code: ErrorCode, version: int, fenced_since: int) -> ErrorCode:
    """The code as clients of this version know it: PRODUCER_FENCED came later than INVALID_PRODUCER_EPOCH."""
    if code is ErrorCode.PRODUCER_FENCED and version < fenced_since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
