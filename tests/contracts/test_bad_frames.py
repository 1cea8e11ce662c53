"""Whatever is sent to a broker, it closes that connection at most: all others go on, and so does the data."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from tests.contracts.wire import Code, ConnectionClosedError, Log, Wire, batch

Connect = Callable[[], Wire]
METADATA, FETCH, PRODUCE = 3, 1, 0
MIB = 1 << 20


@pytest.fixture
def bystander(wire: Wire, topic: str) -> Log:
    """A connection that was there before, and its data."""
    log = Log(wire, topic)
    assert log.produce(batch([b"kept"])) == (Code.NONE, 0)
    return log


def assert_goes_on(bystander: Log) -> None:
    assert bystander.fetch(0).values == [b"kept"]


def assert_closed(wire: Wire) -> None:
    with pytest.raises(ConnectionClosedError):
        while True:
            wire.receive_frame()


@pytest.mark.parametrize("size", [-1, -(2**31), 101 * MIB, 2**31 - 1])
def test_a_frame_of_an_impossible_size_closes_its_connection(
    connect: Connect, bystander: Log, size: int
) -> None:
    wire = connect()
    wire.send_bytes(struct.pack(">i", size))
    assert_closed(wire)
    assert_goes_on(bystander)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        b"\0\x03\0",
        struct.pack(">hhi", METADATA, 1, 1),
        struct.pack(">hhih", METADATA, 1, 1, 500) + b"short",
        struct.pack(">hhih", METADATA, 1, 1, -5),
        struct.pack(">hhih", 999, 0, 1, -1),
        struct.pack(">hhih", -1, 0, 1, -1),
        struct.pack(">hhih", METADATA, 99, 1, -1),
        struct.pack(">hhih", FETCH, -1, 1, -1),
        struct.pack(">hhih", METADATA, 1, 1, -1) + struct.pack(">i", 2**31 - 1),
        struct.pack(">hhih", METADATA, 1, 1, -1) + struct.pack(">ih", 1, 2**15 - 1),
        struct.pack(">hhih", METADATA, 1, 1, -1) + struct.pack(">ih", 1, 2) + b"\xff\xfe",
        struct.pack(">hhih", PRODUCE, 3, 1, -1) + b"\xff" * 30,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        bytes(1_000),
        b"\xff" * 1_000,
    ],
    ids=[
        "nothing",
        "one byte",
        "half a header",
        "no client id",
        "client id cut short",
        "negative client id",
        "unknown api",
        "negative api",
        "unknown version",
        "negative version",
        "endless array",
        "string cut short",
        "string that is no text",
        "produce of ones",
        "http",
        "zeroes",
        "ones",
    ],
)
def test_a_frame_that_is_no_request_closes_its_connection(
    connect: Connect, bystander: Log, frame: bytes
) -> None:
    wire = connect()
    wire.send_frame(frame)
    if frame not in FORGIVEN:
        assert_closed(wire)
    assert_goes_on(bystander)


# Apache Kafka reads any bytes as a topic's name and answers that there is none such.
FORGIVEN = {struct.pack(">hhih", METADATA, 1, 1, -1) + struct.pack(">ih", 1, 2) + b"\xff\xfe"}


def test_a_browser_that_takes_the_port_for_http_is_closed(connect: Connect, bystander: Log) -> None:
    wire = connect()
    wire.send_bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert_closed(wire)
    assert_goes_on(bystander)


def test_a_connection_that_ends_within_a_frame_disturbs_nobody(connect: Connect, bystander: Log) -> None:
    for sent in (b"\0", b"\0\0\0\x20", b"\0\0\0\x20half"):
        wire = connect()
        wire.send_bytes(sent)
        wire.close()
    assert_goes_on(bystander)


def test_connections_that_never_finish_their_frame_hold_up_nobody(connect: Connect, bystander: Log) -> None:
    for _ in range(20):
        connect().send_bytes(struct.pack(">i", MIB) + b"a beginning")
    assert_goes_on(bystander)


def test_what_was_asked_before_a_bad_frame_is_answered(connect: Connect, bystander: Log) -> None:
    wire = connect()
    log = Log(wire, bystander.topic)
    wire.begin(log.fetch_request(0))
    wire.send_bytes(struct.pack(">i", -1))
    assert wire.receive_frame()
    assert_closed(wire)
    assert_goes_on(bystander)


def requests(wire: Wire, name: str) -> list[Any]:
    """One valid request of each kind, about names that no other test has."""
    log = Log(wire, name)
    topics = [(name, [(0, 5, "note")])]
    producer_id, epoch = 7, 0
    return [
        log.produce_request(batch([b"a", b"b"])),
        log.produce_request(batch([b"a"], producer_id=producer_id, epoch=epoch, sequence=0)),
        log.fetch_request(0),
        OffsetRequest(-1, 0, [(name, [(0, -1)])]),
        MetadataRequest([name], False),
        FindCoordinatorRequest(name, 0),
        JoinGroupRequest(name, 6_000, 1_000, "", None, "consumer", [("range", b"subscription")]),
        SyncGroupRequest(name, 1, "member", None, [("member", b"share")]),
        HeartbeatRequest(name, 1, "member"),
        LeaveGroupRequest(name, "member"),
        OffsetCommitRequest(name, -1, "", -1, topics),
        OffsetFetchRequest(name, [(name, [0])]),
        DescribeGroupsRequest([name]),
        ListGroupsRequest(),
        CreateTopicsRequest([(f"{name}-new", 1, 1, [], [("retention.ms", "1000")])], 1_000, True),
        DescribeConfigsRequest([(2, name, None)], False),
        InitProducerIdRequest(name, 1_000),
        AddPartitionsToTxnRequest(name, producer_id, epoch, [(name, [0])]),
        AddOffsetsToTxnRequest(name, producer_id, epoch, name),
        TxnOffsetCommitRequest(name, name, producer_id, epoch, topics),
        EndTxnRequest(name, producer_id, epoch, True),
    ]


def damaged(frame: bytes, chance: random.Random) -> bytes:
    """A frame with something wrong: bytes changed, cut off, doubled, or a number made extreme."""
    data = bytearray(frame)
    kind = chance.randrange(4)
    if kind == 0:
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif kind == 1:
        del data[chance.randrange(len(data)) :]
    elif kind == 2:
        position = chance.randrange(len(data))
        data[position:position] = data[chance.randrange(len(data)) :]
    else:
        position = chance.randrange(8, max(9, len(data) - 4))
        data[position : position + 4] = struct.pack(">i", chance.choice([-1, -2, 2**31 - 1, -(2**31), 2**24]))
    return bytes(data)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_requests_disturb_nobody(connect: Connect, bystander: Log, unique: str, seed: int) -> None:
    chance = random.Random(seed)
    valid = [
        prepared.build_request_header(1, "contract").encode() + prepared.encode()
        for request in requests(bystander.wire, f"{unique}-damaged")
        for prepared in [request.prepare(bystander.wire.versions)]
    ]
    for frame in valid * 3:
        with_damage = damaged(frame, chance)
        wire = connect()
        wire.send_frame(with_damage)
        wire.has_answer(within_s=0.005)
        wire.close()
    assert_goes_on(bystander)


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes_disturb_nobody(connect: Connect, bystander: Log, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        wire = connect()
        key, version = chance.randrange(50), chance.randrange(12)
        noise = chance.randbytes(chance.randrange(200))
        wire.send_frame(struct.pack(">hhih", key, version, 1, -1) + noise)
        wire.has_answer(within_s=0.005)
        wire.close()
    assert_goes_on(bystander)
