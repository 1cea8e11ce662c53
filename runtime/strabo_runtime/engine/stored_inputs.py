"""The stored form of inputs: everything that re-executing a step needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from strabo_runtime.engine.errors import UnreadableState
from strabo_runtime.engine.inputs import (
    Agents,
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Input,
    Message,
    Parent,
    Retry,
    Start,
    TimerDue,
)
from strabo_runtime.expressions.types import Json

_PLAIN: Mapping[str, type] = {
    "timer": TimerDue,
    "retry": Retry,
    "child_finished": ChildFinished,
    "child_event": ChildEvent,
    "cancel": Cancel,
}
"""Kinds of input whose fields are JSON as they stand."""


def encode_input(given: Input) -> dict[str, Json]:
    """The stored form of an input: everything that re-executing it needs."""
    match given:
        case Message():
            return {"kind": "message", **encode_message(given)}
        case Start():
            stored: dict[str, Json] = {
                "kind": "start",
                "id": given.id,
                "instance_id": given.instance_id,
                "starter": given.starter,
                "received_at": given.received_at,
                "now": given.now,
                "message": None if given.message is None else encode_message(given.message),
                "named": {role: list(agents) for role, agents in given.named.items()},
                "bound": {role: list(agents) for role, agents in given.bound.items()},
                "or_send": given.or_send,
            }
            if given.inputs:
                stored["inputs"] = dict(given.inputs)
            if given.parent is not None:
                stored["parent"] = encode_parent(given.parent)
            return stored
        case TimerDue():
            return {"kind": "timer", "id": given.id, "key": given.key, "due": given.due, "now": given.now}
        case AgentsFound():
            return {"kind": "agents_found", **_fields(given), "agents": list(given.agents)}
        case Retry():
            return {"kind": "retry", **_fields(given)}
        case ChildFinished():
            return {"kind": "child_finished", **_fields(given)}
        case ChildEvent():
            return {"kind": "child_event", **_fields(given)}
        case Cancel():
            return {"kind": "cancel", **_fields(given)}


def decode_input(stored: Mapping[str, Json]) -> Input:
    """The input of a stored form. Raises UnreadableState."""
    try:
        return _checked(_decode_input(cast("dict[str, Any]", stored)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableState(f"a recorded input cannot be read: {type(error).__name__}: {error}") from error


def _decode_input(stored: dict[str, Any]) -> Input:
    given = dict(stored)
    kind = given.pop("kind")
    if kind == "message":
        return decode_message(given)
    if kind == "agents_found":
        return AgentsFound(**{**given, "agents": _ids(given["agents"])})
    plain = _PLAIN.get(kind)
    if plain is not None:
        return cast("Input", plain(**given))
    if kind == "start":
        given["message"] = None if given["message"] is None else decode_message(given["message"])
        given["named"] = {role: _ids(agents) for role, agents in given["named"].items()}
        given["bound"] = {role: _ids(agents) for role, agents in given["bound"].items()}
        if "parent" in given:
            given["parent"] = decode_parent(given["parent"])
        return Start(**given)
    raise ValueError(f"{kind!r} is no kind of input")


def _checked(given: Input) -> Input:
    """The input, whose numbers and texts are such: what is damaged must not reach a step. Raises ValueError."""
    parts: list[object] = [given]
    if isinstance(given, Start):
        parts += [part for part in (given.message, given.parent) if part is not None]
    for part in parts:
        for name, kinds in _KINDS[type(part)].items():
            value = getattr(part, name)
            if type(value) not in kinds:
                raise ValueError(f"{name} is {type(value).__name__}")
    return given


def _ids(stored: Any) -> Agents:
    if not isinstance(stored, list) or not all(isinstance(agent, str) for agent in stored):
        raise TypeError("what should be agents' ids is not")
    return tuple(stored)


def _kinds(cls: type) -> dict[str, tuple[type, ...]]:
    """Field → the types that its value may have, for the fields that are numbers, truths, texts or ids."""
    found: dict[str, tuple[type, ...]] = {}
    for name, hint in get_type_hints(cls).items():
        options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        plain = tuple(_PLAIN_KINDS.get(get_origin(option) or option, object) for option in options)
        if object not in plain:
            found[name] = plain
    return found


_PLAIN_KINDS: Mapping[Any, type] = {
    int: int,
    bool: bool,
    str: str,
    NoneType: NoneType,
    tuple: tuple,
    Literal: str,
}
_KINDS: Mapping[type, Mapping[str, tuple[type, ...]]] = {
    cls: _kinds(cls)
    for cls in (Start, Message, Parent, TimerDue, Retry, ChildFinished, ChildEvent, AgentsFound, Cancel)
}


def _fields(given: Retry | ChildFinished | ChildEvent | AgentsFound | Cancel) -> dict[str, Json]:
    return {field.name: getattr(given, field.name) for field in fields(given)}


def encode_message(message: Message) -> dict[str, Json]:
    """A message as an object."""
    return {
        "id": message.id,
        "sender": message.sender,
        "type": message.type,
        "payload": message.payload,
        "received_at": message.received_at,
        "now": message.now,
        "sent_at": message.sent_at,
        "role": message.role,
        "to": None if message.to is None else list(message.to),
        "in_reply_to": message.in_reply_to,
        "user": message.user,
    }


def decode_message(stored: Mapping[str, Any]) -> Message:
    """A message from an object."""
    return Message(**{**stored, "to": None if stored["to"] is None else _ids(stored["to"])})


def encode_parent(parent: Parent) -> list[Json]:
    """Who started a child, as a row."""
    return [parent.instance_id, parent.name, parent.depth, parent.detached]


def decode_parent(row: Any) -> Parent:
    """Who started a child, from a row."""
    return Parent(*row)
