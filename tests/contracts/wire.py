"""Kafka's protocol by hand: one request, one answer, over a blocking connection.

The tests that need an exact sequence of requests (a repeated batch, a zombie's commit, a member that says nothing)
speak it themselves; the structures are aiokafka's, so that neither broker is read with its own eyes.
"""

from __future__ import annotations

import io
import select
import socket
import struct
import time
from collections.abc import Sequence
from enum import IntEnum
from types import TracebackType
from typing import Any

from aiokafka.protocol.admin import (
    ApiVersionRequest,
    ApiVersionResponse_v0,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeGroupsRequest,
)
from aiokafka.protocol.api import Request
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

PATIENCE_S = 20.0
CLIENT_ID = "contract"
EARLIEST, LATEST = -2, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
GROUP_COORDINATOR, TRANSACTION_COORDINATOR = 0, 1


class Code(IntEnum):
    """The error codes of Kafka's protocol that this suite meets."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC = 17
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    UNKNOWN_PRODUCER_ID = 59
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    FENCED_INSTANCE_ID = 82
    INVALID_RECORD = 87
    PRODUCER_FENCED = 90


class ConnectionClosedError(Exception):
    """The broker closed the connection instead of answering."""


class Wire:
    """One connection to a broker that has told its versions."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._stream = self._socket.makefile("rb")
        self._correlation = 0
        self._waiting: list[Any] = []
        answer = self._exchange_versions()
        self.versions = {key: (least, most) for key, least, most in answer.api_versions}

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; nothing is said to the broker."""
        self._stream.close()
        self._socket.close()

    def ask(self, request: Request[Any]) -> Any:
        """Send a request in the newest version that both sides know, and wait for its answer."""
        self.begin(request)
        return self.answer()

    def begin(self, request: Request[Any]) -> None:
        """Send a request and do not wait."""
        self.send(request.prepare(self.versions))

    def send(self, prepared: Any) -> None:
        """Send a request of a chosen version."""
        self._correlation += 1
        header = prepared.build_request_header(self._correlation, CLIENT_ID)
        self.send_frame(header.encode() + prepared.encode())
        self._waiting.append(prepared)

    def send_frame(self, frame: bytes) -> None:
        """Send bytes as one frame, whatever they are."""
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes with no frame around them."""
        self._socket.sendall(data)

    def answer(self) -> Any:
        """The answer to the oldest request that has none."""
        prepared = self._waiting.pop(0)
        buffer = io.BytesIO(self.receive_frame())
        prepared.parse_response_header(buffer)
        return prepared.RESPONSE_TYPE.decode(buffer)

    def receive_frame(self) -> bytes:
        """The next frame; raises `ConnectionClosedError` when the broker ends the connection instead."""
        try:
            head = self._stream.read(4)
            if len(head) < 4:
                raise ConnectionClosedError
            (size,) = struct.unpack(">i", head)
            return self._stream.read(size)
        except (ConnectionResetError, BrokenPipeError) as error:
            raise ConnectionClosedError from error

    def has_answer(self, within_s: float) -> bool:
        """True when something can be read; for an answer that must *not* come yet."""
        return bool(select.select([self._socket], [], [], within_s)[0])

    def _exchange_versions(self) -> Any:
        # Version 0 is understood by every broker there ever was.
        self.send(ApiVersionRequest().build(ApiVersionRequest._CLASSES[0]))
        answer = self.answer()
        assert isinstance(answer, ApiVersionResponse_v0)
        return answer


def batch(
    values: Sequence[bytes | None],
    *,
    key: bytes | None = None,
    keys: Sequence[bytes | None] | None = None,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    compression: int = 0,
    timestamps: Sequence[int] | None = None,
) -> bytes:
    """One record batch, as a producer would write it."""
    builder = DefaultRecordBatchBuilder(2, compression, transactional, producer_id, epoch, sequence, 1 << 30)
    now = time.time_ns() // 1_000_000
    for index, value in enumerate(values):
        timestamp = timestamps[index] if timestamps else now
        builder.append(index, timestamp, keys[index] if keys else key, value, [])
    return bytes(builder.build())


def batches(data: bytes) -> list[DefaultRecordBatch]:
    """The whole batches in a fetched piece of a log; a piece may end within a batch."""
    found = []
    while len(data) >= 12:
        size = 12 + struct.unpack(">i", data[8:12])[0]
        if len(data) < size:
            break
        found.append(DefaultRecordBatch(data[:size]))
        data = data[size:]
    return found


def values(data: bytes) -> list[bytes | None]:
    """The values of the records in a fetched piece of a log, markers of transactions left out."""
    return [record.value for found in batches(data) if not found.is_control_batch for record in found]


class Log:
    """One partition, as seen over a connection."""

    def __init__(self, wire: Wire, topic: str, partition: int = 0) -> None:
        self.wire, self.topic, self.partition = wire, topic, partition

    def produce_request(
        self, records: bytes, *, acks: int = -1, transactional_id: str | None = None
    ) -> ProduceRequest:
        return ProduceRequest(transactional_id, acks, 10_000, [(self.topic, [(self.partition, records)])])

    def produce(
        self, records: bytes, *, acks: int = -1, transactional_id: str | None = None
    ) -> tuple[int, int]:
        """Append batches; returns the error code and the first offset."""
        request = self.produce_request(records, acks=acks, transactional_id=transactional_id)
        answer = self.wire.ask(request)
        _partition, code, offset, *_rest = answer.topics[0][1][0]
        return code, offset

    def fetch_request(
        self,
        offset: int,
        *,
        isolation: int = READ_UNCOMMITTED,
        wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 1 << 25,
        partition_max_bytes: int = 1 << 25,
    ) -> FetchRequest:
        wanted = [(self.topic, [(self.partition, offset, partition_max_bytes)])]
        return FetchRequest(wait_ms, min_bytes, max_bytes, isolation, wanted)

    def fetch(self, offset: int, **how: int) -> Fetched:
        """Read from an offset on."""
        return fetched(self.wire.ask(self.fetch_request(offset, **how)))

    def offset(self, timestamp: int, isolation: int = READ_UNCOMMITTED) -> tuple[int, int]:
        """Look an offset up by time, or `EARLIEST`, or `LATEST`; returns the error code and the offset."""
        request = OffsetRequest(-1, isolation, [(self.topic, [(self.partition, timestamp)])])
        _partition, code, *_timestamp, offset = self.wire.ask(request).topics[0][1][0]
        return code, offset

    def end(self, isolation: int = READ_UNCOMMITTED) -> int:
        """The offset after the last record that a reader of this isolation may see."""
        return self.offset(LATEST, isolation)[1]


class Fetched:
    """One partition's part of a fetch answer."""

    def __init__(self, part: dict[str, Any]) -> None:
        self.code: int = part["error_code"]
        self.high_watermark: int = part["highwater_offset"]
        self.last_stable_offset: int = part["last_stable_offset"]
        self.log_start: int = part["log_start_offset"]
        self.data: bytes = part["message_set"] or b""
        self.aborted: list[tuple[int, int]] = [tuple(one) for one in part["aborted_transactions"] or []]

    @property
    def values(self) -> list[bytes | None]:
        return values(self.data)


def fetched(answer: Any) -> Fetched:
    """The only partition of a fetch answer."""
    names = dict(zip(answer.SCHEMA.names, answer.SCHEMA.fields, strict=True))["topics"].array_of.fields[1]
    return Fetched(dict(zip(names.array_of.names, answer.topics[0][1][0], strict=True)))


def create_topic(
    wire: Wire, name: str, partitions: int = 1, config: dict[str, str] | None = None, replication: int = 1
) -> int:
    """Create a topic; returns the error code."""
    settings = list((config or {}).items())
    wanted: Any = (name, partitions, replication, [], settings)
    answer = wire.ask(CreateTopicsRequest([wanted], 10_000, False))
    if answer.topic_errors[0][1] == Code.NONE:
        wait_for_topic(wire, name)
    return int(answer.topic_errors[0][1])


def delete_topic(wire: Wire, name: str) -> int:
    """Delete a topic; returns the error code."""
    answer = wire.ask(DeleteTopicsRequest([name], 10_000))
    return int(answer.topic_error_codes[0][1])


def topic_metadata(wire: Wire, names: list[str] | None) -> dict[str, tuple[int, list[int]]]:
    """Error code and partitions by topic; None asks for all topics."""
    answer = wire.ask(MetadataRequest(names, False))
    topics = answer.to_object()["topics"]
    return {
        topic["topic"]: (topic["error_code"], sorted(part["partition"] for part in topic["partitions"]))
        for topic in topics
    }


def wait_for_topic(wire: Wire, name: str) -> None:
    """Wait until every partition is led: Apache Kafka answers the creation before that, and clients try again."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        code, partitions = topic_metadata(wire, [name])[name]
        if code == Code.NONE and all(
            Log(wire, name, one).offset(LATEST)[0] == Code.NONE for one in partitions
        ):
            return
        time.sleep(0.01)
    raise TimeoutError(f"topic {name} has no leader")


def find_coordinator(wire: Wire, key: str, kind: int) -> None:
    """Wait for the coordinator of a group or a transactional id, whose topic may have to be made first."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = wire.ask(FindCoordinatorRequest(key, kind)).error_code == Code.NONE
        if found and (kind != GROUP_COORDINATOR or group_description(wire, key)[0] == Code.NONE):
            return
        time.sleep(0.02)
    raise TimeoutError(f"no coordinator for {key}")


def group_description(wire: Wire, group: str) -> tuple[Any, ...]:
    """Error code, id, state, protocol type, protocol and members of a group."""
    return tuple(wire.ask(DescribeGroupsRequest([group])).groups[0])
