"""How a stable or empty group is written down, so that its members go on after the broker started again."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from strabo_broker.groups import Group, GroupState, Member


def encode_group(group: Group) -> str:
    """The group as text; what its members wait for is not part of it."""
    return json.dumps(
        {
            "state": group.state,
            "generation": group.generation,
            "protocol_type": group.protocol_type,
            "protocol": group.protocol,
            "leader": group.leader,
            "members": [_encode_member(each) for each in group.members.values()],
        },
        separators=(",", ":"),
    )


def decode_group(
    group_id: str, encoded: str, initial_delay: float, keep: Callable[[Group], None], now: float
) -> Group:
    """The group as it was kept; each member has a whole session to show that it lives."""
    kept = json.loads(encoded)
    members = [_decode_member(each, now) for each in kept["members"]]
    return Group(
        group_id,
        initial_delay,
        keep,
        GroupState(kept["state"]),
        kept["generation"],
        kept["protocol_type"],
        kept["protocol"],
        kept["leader"],
        {each.id: each for each in members},
        {each.instance_id: each.id for each in members if each.instance_id is not None},
    )


def _encode_member(member: Member) -> dict[str, Any]:
    return {
        "id": member.id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "session_timeout": member.session_timeout,
        "rebalance_timeout": member.rebalance_timeout,
        "protocols": [(name, _text(metadata)) for name, metadata in member.protocols],
        "assignment": _text(member.assignment),
    }


def _decode_member(kept: dict[str, Any], now: float) -> Member:
    return Member(
        kept["id"],
        kept["instance_id"],
        kept["client_id"],
        kept["client_host"],
        kept["session_timeout"],
        kept["rebalance_timeout"],
        tuple((name, base64.b64decode(metadata)) for name, metadata in kept["protocols"]),
        now + kept["session_timeout"],
        base64.b64decode(kept["assignment"]),
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
