"""The names that the runtime itself gives: `message`, `event`, `child`, `starting`, `instance`, `roles`, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any

from strabo_runtime.expressions.code import Frame, Run
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.facts import Context
from strabo_runtime.expressions.reading import Root, RootField, decoded_by
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.time import format_timestamp, instant
from strabo_runtime.expressions.types import (
    ANY,
    INTEGER,
    OBJECT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Type,
)
from strabo_runtime.expressions.values import decode_number, leaf_decoder

CHILD_OUTCOME = EnumOf(("success", "failure"))
CHILD = Record(
    (
        Field("id", STRING),
        Field("status", EnumOf(("running", "success", "failure"))),
        Field("result", OptionalOf(ANY)),
        Field("error", OptionalOf(STRING)),
    )
)
"""One of `children.<as>`."""

ROOT_NAMES = ("message", "event", "child", "starting", "now", "instance", "roles", "pending", "children")
"""Names that no variable or input may have."""

Holder = Callable[[Scope], Any]


class Roots:
    """Makes the roots of each kind of place in a protocol. `everywhere` holds those that all places share."""

    def __init__(
        self,
        named: NamedTypes,
        messages: Mapping[str, Type],
        events: Mapping[str, Type | None],
        roles: Sequence[str],
        starting: Sequence[str],
        children: Sequence[str],
    ) -> None:
        self._named = named
        self._children = tuple(children)
        self._messages = messages
        self._events = events
        self.everywhere = {
            "instance": Root(_instance_fields()),
            "roles": Root({role: _agents(role, lambda scope: scope.roles) for role in roles}),
            "pending": Root({role: _agents(role, lambda scope: scope.pending) for role in roles}),
            "children": Root({name: _children(name) for name in children}),
            "starting": Root(
                self._message_fields(starting, _held("starting", attrgetter("starting"))),
                holder=lambda scope, frame: scope.starting,
            ),
        }

    def of(self, context: Context) -> dict[str, Root]:
        """The roots where the triggers give what `context` says."""
        roots = dict(self.everywhere)
        if context.message_types:
            roots["message"] = Root(
                self._message_fields(context.message_types, attrgetter("message"), direct=True)
            )
        if context.event_names:
            roots["event"] = Root(self._event_fields(context.event_names))
        if context.child_names:
            known = tuple(dict.fromkeys([*self._children, *context.child_names]))
            roots["child"] = Root(_child_fields(known))
        return roots

    def _message_fields(
        self, types: Sequence[str], holder: Holder, *, direct: bool = False
    ) -> dict[str, RootField]:
        """`direct`: the holder is the scope's own message, whose payload is read without a detour."""
        fields = _message_facts(holder)
        payload = self._common([self._messages[name] for name in types if name in self._messages])
        if payload is not None:
            fields["payload"] = self._payload(payload, holder, direct)
        return fields

    def _event_fields(self, names: Sequence[str]) -> dict[str, RootField]:
        holder = attrgetter("event")
        fields = {"name": RootField(STRING, _read(holder, "name"))}
        payloads = [self._events.get(name) for name in names]
        known = [payload for payload in payloads if payload is not None]
        payload = self._common(known) if len(known) == len(payloads) else None
        if payload is not None:
            fields["payload"] = self._payload(payload, holder, False)
        return fields

    def _payload(self, type_: Type, holder: Holder, direct: bool) -> RootField:
        """The payload; one that a JSON Schema describes need not be an object."""
        stored = _read(holder, "payload")
        leaf = leaf_decoder(unwrapped(type_, self._named))
        if leaf is None:
            return RootField(type_, stored, is_payload=direct)
        return RootField(type_, decoded_by(leaf, stored), stored=stored)

    def _common(self, payloads: Sequence[Type]) -> Type | None:
        """The one payload type, or the fields that all have in common."""
        if not payloads:
            return None
        return reduce(self._shared, payloads)

    def _shared(self, left: Type, right: Type) -> Type:
        left, right = unwrapped(left, self._named), unwrapped(right, self._named)
        if left == right:
            return left
        if isinstance(left, Record) and isinstance(right, Record):
            others = {field.name: field.type for field in right.fields}
            shared = [
                field_type
                for field in left.fields
                if field.name in others
                and (field_type := self._shared_field(field, others[field.name])) is not None
            ]
            return Record(tuple(shared), open=True)
        return OBJECT if _is_object(left) and _is_object(right) else ANY

    def _shared_field(self, field: Field, other: Type) -> Field | None:
        left, right = unwrapped(field.type, self._named), unwrapped(other, self._named)
        if left != right:
            return None
        optional = is_optional(field.type, self._named) or is_optional(other, self._named)
        return Field(field.name, OptionalOf(left) if optional else field.type)


def _is_object(type_: Type) -> bool:
    return type_ == OBJECT or isinstance(type_, (Record, MapOf))


def _child_fields(names: tuple[str, ...]) -> dict[str, RootField]:
    """The child whose end the step takes. Presence is a field's: a failed one has no result."""
    result = _read(attrgetter("child"), "result")
    return {
        "name": RootField(EnumOf(names), _read(attrgetter("child"), "name")),
        "id": RootField(STRING, _read(attrgetter("child"), "id")),
        "outcome": RootField(CHILD_OUTCOME, _read(attrgetter("child"), "outcome")),
        "result": RootField(ANY, decoded_by(decode_number, result), optional=True, stored=result),
        "error": RootField(STRING, _read(attrgetter("child"), "error"), optional=True),
    }


def _children(name: str) -> RootField:
    """The children of one name in start order; none were started where the scope has no such name."""

    def held(scope: Scope, frame: Frame) -> Any:
        return scope.children.get(name, [])

    return RootField(ListOf(CHILD), held)


def _instance_fields() -> dict[str, RootField]:
    return {
        "id": RootField(STRING, lambda scope, frame: scope.instance.id),
        "protocol": RootField(STRING, lambda scope, frame: scope.instance.protocol),
        "version": RootField(STRING, lambda scope, frame: scope.instance.version),
        "state": RootField(STRING, lambda scope, frame: scope.instance.state),
        "started_at": RootField(
            TIMESTAMP,
            lambda scope, frame: instant(scope.instance.started_at),
            stored=lambda scope, frame: format_timestamp(scope.instance.started_at),
        ),
        "parent": RootField(STRING, lambda scope, frame: scope.instance.parent, optional=True),
        "steps": RootField(INTEGER, lambda scope, frame: scope.instance.steps),
    }


def _message_facts(holder: Holder) -> dict[str, RootField]:
    def time(name: str) -> RootField:
        milliseconds = _read(holder, name)
        return RootField(
            TIMESTAMP,
            lambda scope, frame: instant(milliseconds(scope, frame)),
            stored=lambda scope, frame: format_timestamp(milliseconds(scope, frame)),
        )

    recipients = _read(holder, "to")
    return {
        "type": RootField(STRING, _read(holder, "type")),
        "id": RootField(STRING, _read(holder, "id")),
        "from": RootField(STRING, _read(holder, "sender")),
        "to": RootField(
            ListOf(STRING), recipients, stored=lambda scope, frame: list(recipients(scope, frame))
        ),
        "role": RootField(STRING, _read(holder, "role")),
        "user": RootField(STRING, _read(holder, "user"), optional=True),
        "in_reply_to": RootField(STRING, _read(holder, "in_reply_to"), optional=True),
        "sent_at": time("sent_at"),
        "received_at": time("received_at"),
    }


def _agents(role: str, mapping: Callable[[Scope], Mapping[str, Sequence[str]]]) -> RootField:
    """Agent ids are kept as a tuple, and leave an expression as a list."""

    def held(scope: Scope, frame: Frame) -> Any:
        return mapping(scope).get(role, ())

    return RootField(ListOf(STRING), held, stored=lambda scope, frame: list(held(scope, frame)))


def _held(name: str, read: Holder) -> Holder:
    """What the scope may lack by rights: reading through it is then an error of the step."""

    def checked(scope: Scope) -> Any:
        facts = read(scope)
        if facts is None:
            raise EvaluationError(f"`{name}` is null")
        return facts

    return checked


def _read(holder: Holder, name: str) -> Run:
    field = attrgetter(name)
    return lambda scope, frame: field(holder(scope))
