"""A broker says which requests it understands, and in which versions."""

from __future__ import annotations

import struct

import pytest

from tests.contracts.wire import Code, Wire

NEEDED = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "InitProducerId": 22,
    "AddPartitionsToTxn": 24,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "TxnOffsetCommit": 28,
    "DescribeConfigs": 32,
    "AlterConfigs": 33,
    "IncrementalAlterConfigs": 44,
}


@pytest.mark.parametrize("name", NEEDED)
def test_every_api_that_clients_need_is_listed(wire: Wire, name: str) -> None:
    least, most = wire.versions[NEEDED[name]]
    assert 0 <= least <= most


def test_an_unknown_version_of_api_versions_is_answered_in_version_0_with_the_range(wire: Wire) -> None:
    # KIP-511: a newer client must be able to fall back, so this one request is never refused by closing.
    wire.send_frame(struct.pack(">hhih", 18, 99, 7, -1) + b"\0")
    answer = wire.receive_frame()
    correlation, code, count = struct.unpack(">ihi", answer[:10])
    assert (correlation, code) == (7, Code.UNSUPPORTED_VERSION)
    listed = [struct.unpack(">hhh", answer[10 + 6 * index :][:6]) for index in range(count)]
    assert 18 in [key for key, _least, _most in listed]


def test_requests_of_one_connection_are_answered_in_their_order(wire: Wire) -> None:
    for correlation in range(50):
        wire.send_frame(struct.pack(">hhih", 18, 0, correlation, -1))
    got = [struct.unpack(">i", wire.receive_frame()[:4])[0] for _ in range(50)]
    assert got == list(range(50))
