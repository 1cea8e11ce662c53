"""Ids and fingerprints: every outgoing id and every remembered input is a function of what is recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from sys import intern
from typing import Literal

import orjson

from strabo_runtime.engine.inputs import Agents, Message, Start
from strabo_runtime.expressions.types import Json

_CHILD_ID = re.compile(r":\d+:child:\d+\Z", re.ASCII)


class NotJson(ValueError):
    """A payload that no record can hold: not JSON, nested too deeply, or with an integer beyond 64 bits."""


def delivery_id(instance: str, revision: int, position: int) -> str:
    """The id of the `position`-th delivery of the step that made this revision."""
    return f"{instance}:{revision}:{position}"


def reply_id(instance: str, input_id: str, kind: Literal["accepted", "rejected", "failed"]) -> str:
    """The id of an answer: a repeated input is answered under the same id."""
    return f"{instance}:{input_id}:{kind}"


def outcome_id(instance: str) -> str:
    """The id of the instance's end, of which there is one."""
    return f"{instance}:outcome"


def child_id(parent: str, revision: int, position: int) -> str:
    """The instance id of the `position`-th child that the step of this revision starts."""
    return f"{parent}:{revision}:child:{position}"


def is_child_id(instance: str) -> bool:
    """Whether an instance id has the form of a child's, which nobody may give to another instance."""
    return _CHILD_ID.search(instance) is not None


def child_start_id(child: str) -> str:
    """The id of the start of a child."""
    return f"{child}:start"


def child_cancel_id(child: str) -> str:
    """The id of the cancellation of a child by its parent, of which there is one at most."""
    return f"{child}:cancel"


def parent_event_id(instance: str, revision: int, position: int) -> str:
    """The id of the `position`-th event that the step of this revision has for the parent."""
    return f"{instance}:{revision}:parent:{position}"


def bind_request_id(instance: str, revision: int, position: int) -> str:
    """The id of the `position`-th question to the directory of the step that made this revision."""
    return f"{instance}:{revision}:bind:{position}"


def found_id(request: str) -> str:
    """The id of the answer to a question to the directory, of which there is one."""
    return f"{request}:found"


def retry_id(instance: str, revision: int, message: str) -> str:
    """The id of a deferred message's turn: after each step that entered a state it has one at most."""
    return f"{instance}:{revision}:retry:{message}"


def timer_id(instance: str, revision: int, key: str, due: int) -> str:
    """The id of the input that a due timer is."""
    return f"{instance}:{revision}:{key}@{due}"


_ENGINE = "engine:"


@lru_cache(maxsize=1024)
def engine_agent(role: str) -> str:
    """The id under which an engine role is bound, and sends."""
    return f"{_ENGINE}{role}"


def unfit(agent: str) -> str | None:
    """Why nobody can have this id, None where an agent or a person may."""
    if not agent:
        return "an agent's id is empty"
    return f"{agent!r} is the id of an engine role, which no agent has" if agent.startswith(_ENGINE) else None


@lru_cache(maxsize=1024)
def timer_key(name: str) -> str:
    """The key of a timer that an action starts."""
    return f"timer:{name}"


@lru_cache(maxsize=1024)
def human_agent(role: str) -> str:
    """The id under which a human role is bound when the starter names nobody."""
    return f"human:{role}"


@lru_cache(maxsize=4096)
def shared_roles(roles: tuple[tuple[str, Agents], ...]) -> Mapping[str, Agents]:
    """The same bindings as one mapping, never changed: all instances in which the same agents meet share it."""
    return {role: tuple(intern(agent) for agent in agents) for role, agents in roles}


def _digest(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big")


def _canonical(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def input_key(input_id: str) -> int:
    """Eight bytes for an input's id."""
    return _digest(input_id.encode("utf-8", "surrogatepass"))


def outside_key(input_id: str) -> int:
    """Eight bytes for the id of an input that is neither a start nor a message.

    Nobody can take such an id away by sending a message under it: the two kinds of id never meet.
    """
    content = input_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8, person=b"outside").digest(), "big")


@lru_cache(maxsize=8192)
def sender_key(sender: str) -> int:
    """Eight bytes for a sender's id."""
    return _digest(sender.encode("utf-8", "surrogatepass"))


def message_digest(message: Message) -> int:
    """Eight bytes for an id and its content; times are no content, so a message sent again is the same.

    Raises NotJson.
    """
    return _digest(
        _canonical(
            (
                message.id,
                message.sender,
                message.type,
                message.payload,
                message.role,
                message.to,
                message.in_reply_to,
                message.user,
            )
        )
    )


def content_digest(*content: Json) -> int:
    """Eight bytes for the content of an input that is neither a start nor a message. Raises NotJson."""
    return _digest(_canonical(content))


def start_digest(start: Start) -> int:
    """Eight bytes for a start's id and content; what the directory answered is no content. Raises NotJson."""
    message = start.message
    content = (
        None if message is None else (message.sender, message.type, message.payload, message.role, message.to)
    )
    return _digest(_canonical((start.id, start.starter, content, dict(start.named), dict(start.inputs))))
