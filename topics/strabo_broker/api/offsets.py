"""Answers about committed offsets: OffsetCommit, OffsetFetch, TxnOffsetCommit."""

from __future__ import annotations

from collections.abc import Iterable

from strabo_broker.api.call import Answers, Call, now_ms
from strabo_broker.api.groups import GroupsApi
from strabo_broker.api.transactions import older_code
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.offsets import CommittedOffset, Offsets
from strabo_broker.topics import Topics
from strabo_broker.transactions import Transactions
from strabo_broker.wire import offsets

_PRODUCER_FENCED_SINCE = 3


class OffsetsApi:
    """Where each group has got to, in each partition."""

    def __init__(
        self,
        topics: Topics,
        groups: GroupsApi,
        kept: Offsets,
        transactions: Transactions,
        metadata_bytes: int,
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._offsets = kept
        self._transactions = transactions
        self._metadata_bytes = metadata_bytes

    def answers(self) -> Answers:
        return {8: self.commit, 9: self.fetch, 28: self.commit_in_transaction}

    async def commit(self, request: offsets.OffsetCommitRequest, _: Call) -> offsets.OffsetCommitResponse:
        refused = ErrorCode.NONE
        try:
            self._check_member(request, transactional=False)
        except Refusal as refusal:
            refused = refusal.code
        now = now_ms()

        def commit_one(topic: str, wanted: offsets.OffsetCommitPartition) -> ErrorCode:
            code = refused or self._check_offset(topic, wanted.index, wanted.metadata)
            if not code:
                offset = CommittedOffset(wanted.offset, wanted.leader_epoch, wanted.metadata or "")
                self._offsets.commit(request.group_id, topic, wanted.index, offset, now)
            return code

        return offsets.OffsetCommitResponse(
            topics=tuple(
                offsets.OffsetCommitTopicResponse(
                    topic.name,
                    tuple(
                        offsets.OffsetCommitPartitionResponse(each.index, commit_one(topic.name, each))
                        for each in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    async def commit_in_transaction(
        self, request: offsets.TransactionalOffsetCommitRequest, call: Call
    ) -> offsets.TransactionalOffsetCommitResponse:
        refused, transaction = ErrorCode.NONE, None
        try:
            transaction = self._transactions.check_offsets(
                request.transactional_id, request.producer_id, request.producer_epoch, request.group_id
            )
            self._check_member(request, transactional=True)
        except Refusal as refusal:
            refused = older_code(refusal.code, call.version, _PRODUCER_FENCED_SINCE)

        def add_one(topic: str, wanted: offsets.TransactionalOffsetCommitPartition) -> ErrorCode:
            code = refused or self._check_offset(topic, wanted.index, wanted.metadata)
            if not code and transaction is not None:
                offset = CommittedOffset(wanted.offset, wanted.leader_epoch, wanted.metadata or "")
                self._transactions.add_offset(transaction, request.group_id, topic, wanted.index, offset)
            return code

        return offsets.TransactionalOffsetCommitResponse(
            topics=tuple(
                offsets.OffsetCommitTopicResponse(
                    topic.name,
                    tuple(
                        offsets.OffsetCommitPartitionResponse(each.index, add_one(topic.name, each))
                        for each in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _check_member(
        self,
        request: offsets.OffsetCommitRequest | offsets.TransactionalOffsetCommitRequest,
        *,
        transactional: bool,
    ) -> None:
        if not request.group_id:
            raise Refusal(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.find(request.group_id)
        if group is None:
            if (
                request.generation_id >= 0
            ):  # of a generation before the broker's restart, or of no group at all
                raise Refusal(ErrorCode.ILLEGAL_GENERATION)
            return
        group.check_commit(
            request.member_id, request.group_instance_id, request.generation_id, transactional=transactional
        )

    def _check_offset(self, topic: str, number: int, metadata: str | None) -> ErrorCode:
        if len((metadata or "").encode()) > self._metadata_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        try:
            self._topics.partition(topic, number)
        except Refusal as refusal:
            return refusal.code
        return ErrorCode.NONE

    async def fetch(self, request: offsets.OffsetFetchRequest, _: Call) -> offsets.OffsetFetchResponse:
        if not request.group_id:
            return offsets.OffsetFetchResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        wanted: Iterable[tuple[str, Iterable[int]]]
        if request.topics is None:
            every: dict[str, list[int]] = {}
            for topic, number in self._offsets.of_group(request.group_id):
                every.setdefault(topic, []).append(number)
            wanted = every.items()
        else:
            wanted = [(each.name, each.partitions) for each in request.topics]
        return offsets.OffsetFetchResponse(
            topics=tuple(
                offsets.OffsetFetchTopicResponse(
                    topic,
                    tuple(
                        self._fetch_one(request.group_id, topic, each, request.require_stable)
                        for each in numbers
                    ),
                )
                for topic, numbers in wanted
            )
        )

    def _fetch_one(
        self, group_id: str, topic: str, number: int, require_stable: bool
    ) -> offsets.OffsetFetchPartitionResponse:
        if require_stable and self._transactions.has_pending_offset(group_id, topic, number):
            return offsets.OffsetFetchPartitionResponse(number, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        found = self._offsets.find(group_id, topic, number)
        if found is None:
            return offsets.OffsetFetchPartitionResponse(number)
        return offsets.OffsetFetchPartitionResponse(number, found.offset, found.leader_epoch, found.metadata)
