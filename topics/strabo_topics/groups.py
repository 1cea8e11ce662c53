"""Consumer groups of a namespace: find and delete them, which aiokafka's admin client cannot."""

from __future__ import annotations

import asyncio
import time

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.protocol.types import Array, Int16, Int32, Schema, String

from strabo_topics.clients import admin_client
from strabo_topics.settings import KafkaSettings

NO_ERROR = 0
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
RETRY_S = 0.2


class _DeleteGroupsResponse(Response):  # type: ignore[misc]
    API_KEY = 42
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("results", Array(("group", String("utf-8")), ("error_code", Int16))),
    )


class _DeleteGroupsRequestV1(RequestStruct):  # type: ignore[misc]
    API_KEY = 42
    API_VERSION = 1
    RESPONSE_TYPE = _DeleteGroupsResponse
    SCHEMA = Schema(("groups", Array(String("utf-8"))))


class _DeleteGroupsRequest(Request[_DeleteGroupsRequestV1]):  # type: ignore[misc]
    API_KEY = 42

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: type[_DeleteGroupsRequestV1]) -> _DeleteGroupsRequestV1:
        return request_struct_class([self._group])


async def delete_groups(settings: KafkaSettings, *, patience_s: float = 10.0) -> tuple[str, ...]:
    """Delete the namespace's consumer groups; returns those that are left.

    Members that are still there are put out: a static member stays, long after its process has ended, until its
    session times out. A broker that does not know the request keeps its groups.
    """
    async with admin_client(settings) as admin:
        prefix = f"{settings.namespace}."
        left = {name for name, _ in await admin.list_consumer_groups() if name.startswith(prefix)}
        deadline = time.monotonic() + patience_s
        try:
            while left:
                for group in sorted(left):
                    if await _delete(admin, group) in (NO_ERROR, GROUP_ID_NOT_FOUND):
                        left.discard(group)
                if not left or time.monotonic() > deadline:
                    break
                await asyncio.sleep(RETRY_S)
        except IncompatibleBrokerVersion:
            pass
        return tuple(sorted(left))


async def _delete(admin: AIOKafkaAdminClient, group: str) -> int:
    coordinator = await admin.find_coordinator(group)
    code = await _ask_to_delete(admin, coordinator, group)
    if code == NON_EMPTY_GROUP:
        for member in await _members(admin, coordinator, group):
            await admin._send_request_to_node(coordinator, LeaveGroupRequest(group, member))
        code = await _ask_to_delete(admin, coordinator, group)
    return code


async def _ask_to_delete(admin: AIOKafkaAdminClient, coordinator: int, group: str) -> int:
    response = await admin._send_request_to_node(coordinator, _DeleteGroupsRequest(group))
    ((_, code),) = response.results
    return int(code)


async def _members(admin: AIOKafkaAdminClient, coordinator: int, group: str) -> list[str]:
    (response,) = await admin.describe_consumer_groups([group], coordinator)
    ((_code, _group, _state, _kind, _protocol, members, *_),) = response.groups
    return [member[0] for member in members]
