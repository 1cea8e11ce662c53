"""Framing: headers old and flexible, and what is not offered."""

from __future__ import annotations

import struct

import pytest

from strabo_broker.errors import MalformedRequest
from strabo_broker.wire.apis import API_VERSIONS, APIS, read_request, write_response
from strabo_broker.wire.cluster import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataRequestTopic,
)
from tests.unit.strabo_broker.wire_client import frame_of


def test_a_request_is_read_with_its_header() -> None:
    body = MetadataRequest((MetadataRequestTopic("orders"),))
    request = read_request(frame_of(body, 4, correlation_id=9)[4:])
    assert (request.version, request.correlation_id, request.client_id, request.body) == (4, 9, "test", body)


def test_an_api_that_is_not_offered_is_refused() -> None:
    with pytest.raises(MalformedRequest, match="API 999"):
        read_request(struct.pack(">hhih", 999, 0, 1, -1))


def test_a_version_that_is_not_offered_is_refused() -> None:
    with pytest.raises(MalformedRequest, match="version 99 of API 3"):
        read_request(struct.pack(">hhih", 3, 99, 1, -1))


def test_a_newer_api_versions_request_is_let_through_without_a_body() -> None:
    assert read_request(struct.pack(">hhih", 18, 99, 1, -1)).body is None


def test_a_flexible_api_versions_response_keeps_the_oldest_header() -> None:
    framed = write_response(API_VERSIONS, 3, 7, ApiVersionsResponse())
    assert framed[4:10] == struct.pack(">ih", 7, 0)


def test_the_newest_versions_know_neither_topic_ids_nor_implicit_transactions() -> None:
    newest = {key: APIS[key].newest for key in (0, 1, 3, 24)}
    assert newest[0] < 12 and newest[1] < 13 and newest[3] < 10 and newest[24] < 4


def test_the_frame_length_counts_what_follows_it() -> None:
    framed = frame_of(ApiVersionsRequest("client", "1"))
    assert struct.unpack_from(">i", framed)[0] == len(framed) - 4
