"""Hostile bytes end their connection, and nothing else."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator

import pytest

from strabo_broker import Broker, BrokerSettings
from strabo_broker.wire import admin, cluster, groups, offsets, records, transactions
from strabo_broker.wire.apis import APIS
from tests.unit.strabo_broker.building import batch
from tests.unit.strabo_broker.wire_client import WireClient, frame_of

GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303"),
    "negative length": struct.pack(">i", -1),
    "too long": struct.pack(">i", (100 << 20) + 1),
    "empty frame": struct.pack(">i", 0),
    "short header": struct.pack(">ihh", 4, 3, 0),
    "unknown api": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "unknown version": struct.pack(">ihhih", 10, 3, 99, 1, -1),
    "endless client id": struct.pack(">ihhih", 10, 3, 0, 1, 32_767),
    "huge array": struct.pack(">ihhihi", 14, 3, 0, 1, -1, 0x7FFFFFFF),
}

VALID = (
    cluster.ApiVersionsRequest("fuzz", "1"),
    cluster.MetadataRequest((cluster.MetadataRequestTopic("t"),)),
    records.ProduceRequest(
        None, -1, 100, (records.ProduceTopic("t", (records.ProducePartition(0, batch((b"k", b"v"))),)),)
    ),
    records.FetchRequest(
        topics=(records.FetchTopic("t", (records.FetchPartition(0, fetch_offset=0, maximum_bytes=1_000),)),)
    ),
    records.ListOffsetsRequest(
        topics=(records.ListOffsetsTopic("t", (records.ListOffsetsPartition(0, timestamp=-1),)),)
    ),
    groups.JoinGroupRequest("g", 10_000, 0, "", None, "consumer", (groups.JoinGroupProtocol("range", b"m"),)),
    groups.SyncGroupRequest("g", 1, "m", None, "consumer", "range", (groups.SyncGroupAssignment("m", b"a"),)),
    groups.LeaveGroupRequest("g", members=(groups.LeavingMember("m", "i"),)),
    offsets.OffsetCommitRequest(
        "g", topics=(offsets.OffsetCommitTopic("t", (offsets.OffsetCommitPartition(0, 1),)),)
    ),
    offsets.OffsetFetchRequest("g", (offsets.OffsetFetchTopic("t", (0, 1)),)),
    transactions.InitProducerIdRequest("x", 1_000),
    transactions.AddPartitionsToTxnRequest("x", 1, 0, (transactions.AddPartitionsToTxnTopic("t", (0,)),)),
    admin.DescribeConfigsRequest((admin.DescribeConfigsResource(2, "t"),)),
    admin.CreateTopicsRequest((admin.CreatableTopic("fuzzed", 1, 1),), 100),
)


@pytest.fixture
async def bystander(own_broker: Broker) -> AsyncIterator[WireClient]:
    """A client that did nothing wrong, and has to be served on."""
    client = await WireClient.connect(own_broker.bootstrap)
    await client.ask(admin.CreateTopicsRequest((admin.CreatableTopic("t", 2, 1),), 1_000))
    yield client
    assert len((await client.ask(cluster.MetadataRequest(None))).topics) >= 1
    await client.close()


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_garbage_ends_its_connection_alone(
    own_broker: Broker, bystander: WireClient, garbage: bytes
) -> None:
    intruder = await WireClient.connect(own_broker.bootstrap)
    intruder.send(garbage)
    async with asyncio.timeout(5):
        assert await intruder.is_closed()


async def test_what_was_answered_before_the_garbage_arrives(
    own_broker: Broker, bystander: WireClient
) -> None:
    client = await WireClient.connect(own_broker.bootstrap)
    assert (await client.ask(cluster.ApiVersionsRequest())).error_code == 0
    client.send(b"\xff" * 100)
    assert await client.is_closed()


async def test_changed_requests_end_at_most_their_connection(
    own_broker: Broker, bystander: WireClient, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(20_26)

    async def intrude(frame: bytes) -> None:
        client = await WireClient.connect(own_broker.bootstrap)
        client.send(frame)
        client._writer.write_eof()
        async with asyncio.timeout(20):
            await client.is_closed()
        await client.close()

    for _ in range(12):
        await asyncio.gather(*(intrude(changed(chance)) for _ in range(40)))
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def changed(chance: random.Random) -> bytes:
    """A valid request in a random version with a few random changes; its length is that of what is left."""
    body = chance.choice(VALID)
    api = next(each for each in APIS.values() if each.request is type(body))
    frame = bytearray(frame_of(body, chance.randint(api.oldest, api.newest))[4:])
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(8, len(frame))
        match chance.randrange(3):
            case 0:
                frame[at] = chance.randrange(256)
            case 1:
                del frame[at:]
            case 2:
                frame[at:at] = chance.randbytes(chance.randint(1, 8))
        if len(frame) <= 9:
            break
    return struct.pack(">i", len(frame)) + bytes(frame)


async def test_requests_sent_together_are_answered_in_order(client: WireClient) -> None:
    for correlation in range(1, 201):
        client.send(frame_of(cluster.ApiVersionsRequest(), correlation_id=correlation))
    for _ in range(200):
        await client.receive(cluster.ApiVersionsRequest)


async def test_what_a_client_sent_before_it_went_is_carried_out(
    own_broker: Broker, bystander: WireClient
) -> None:
    sent = records.ProduceTopic("t", (records.ProducePartition(0, batch()),))
    producer = await WireClient.connect(own_broker.bootstrap)
    for _ in range(300):
        producer.send(frame_of(records.ProduceRequest(None, 0, 1_000, (sent,))))
    await producer.close()
    wanted = records.FetchTopic("t", (records.FetchPartition(0, fetch_offset=0),))
    size = 300 * len(batch())
    answer = await bystander.ask(
        records.FetchRequest(maximum_wait_ms=10_000, minimum_bytes=size, topics=(wanted,))
    )
    assert answer.topics[0].partitions[0].high_watermark == 300


async def test_a_client_that_goes_while_it_waits_leaves_nothing_behind(
    own_broker: Broker, bystander: WireClient
) -> None:
    wanted = records.FetchTopic("t", (records.FetchPartition(0, fetch_offset=0),))
    others = set(own_broker.connections)
    reader = await WireClient.connect(own_broker.bootstrap)
    reader.send(frame_of(records.FetchRequest(maximum_wait_ms=60_000, minimum_bytes=1, topics=(wanted,))))
    while len(own_broker.connections) < 2:
        await asyncio.sleep(0)
    (connection,) = own_broker.connections - others
    await reader.close()
    async with asyncio.timeout(5):
        await connection.gone
    assert own_broker.connections == others


async def test_a_request_in_many_pieces_is_put_together(client: WireClient) -> None:
    for byte in frame_of(cluster.ApiVersionsRequest()):
        client.send(bytes([byte]))
        await asyncio.sleep(0)
    await client.receive(cluster.ApiVersionsRequest)


async def test_a_newer_api_versions_request_is_told_what_is_offered(client: WireClient) -> None:
    client.send(struct.pack(">ihhihB", 11, 18, 99, 1, -1, 0))
    frame = await client.receive_frame()
    correlation, error, count = struct.unpack_from(">ihi", frame)
    assert (correlation, error, count) == (1, 35, len(APIS))


async def test_a_connection_beyond_the_most_allowed_is_ended() -> None:
    broker = Broker(BrokerSettings(maximum_connections=2))
    await broker.start()
    kept = [await WireClient.connect(broker.bootstrap) for _ in range(2)]
    for each in kept:
        await each.ask(cluster.ApiVersionsRequest())
    assert await (await WireClient.connect(broker.bootstrap)).is_closed()
    for each in kept:
        await each.ask(cluster.ApiVersionsRequest())
    await broker.stop()


async def test_an_idle_connection_is_ended() -> None:
    broker = Broker(BrokerSettings(connection_idle_ms=0))
    await broker.start()
    client = await WireClient.connect(broker.bootstrap)
    async with asyncio.timeout(5):
        assert await client.is_closed()
    await broker.stop()


async def test_stopping_ends_connections_that_wait() -> None:
    broker = Broker(BrokerSettings())
    await broker.start()
    client = await WireClient.connect(broker.bootstrap)
    client.send(frame_of(records.FetchRequest(maximum_wait_ms=60_000, minimum_bytes=1)))
    await asyncio.sleep(0.05)
    await broker.stop()
    assert await client.is_closed()
