"""What a protocol's expressions may name: payloads of events, starting messages, children, what triggers give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strabo_runtime.engine.machine import BIND_FAILED, BOUND, CANCELLED, QUORUM_LOST
from strabo_runtime.expressions import Context
from strabo_runtime.expressions.suggestion import nearest
from strabo_runtime.expressions.types import OBJECT, STRING, Field, ListOf, NamedTypes, Record, Type
from strabo_runtime.language import walk
from strabo_runtime.language.definition import (
    ChildTriggerSyntax,
    EventTriggerSyntax,
    MessageTriggerSyntax,
    ProtocolDefinition,
    TransitionDefinition,
)
from strabo_runtime.language.types import known_only

_ASKED_FOR = Record((Field("role", STRING), Field("agents", ListOf(STRING))))
BUILT_IN_PAYLOADS: Mapping[str, Type | None] = {
    QUORUM_LOST: Record((Field("role", STRING),)),
    CANCELLED: Record((Field("reason", STRING),)),
    BOUND: _ASKED_FOR,
    BIND_FAILED: _ASKED_FOR,
}


def event_types(definition: ProtocolDefinition, types: NamedTypes) -> dict[str, Type | None]:
    """The payload type of every event; None: it has none.

    Without an `events` section, an event that is raised with a payload has an untyped one, and so has one that only a
    child can raise.
    """
    events: dict[str, Type | None] = {}
    if definition.events is not None:
        for event in definition.events:
            events[event.name.text] = None if event.payload is None else known_only(event.payload.type, types)
    else:
        for raised in walk.raised_events(definition):
            known = events.setdefault(raised.event.text, None)
            events[raised.event.text] = OBJECT if raised.payload is not None else known
        from_children = OBJECT if any(walk.started_children(definition)) else None
        for transition in definition.transitions:
            for trigger in transition.triggers:
                if isinstance(trigger, EventTriggerSyntax):
                    events.setdefault(trigger.event.text, from_children)
    return {**events, **BUILT_IN_PAYLOADS}


def starting_messages(definition: ProtocolDefinition) -> list[str]:
    """The message types that may start an instance: what the first state takes."""
    if not definition.states:
        return []
    first = definition.states[0].name.text
    declared = {message.name.text for message in definition.messages}
    found: dict[str, None] = {}
    for transition in definition.transitions:
        if transition.sources and first not in [source.text for source in transition.sources]:
            continue
        for trigger in transition.triggers:
            if isinstance(trigger, MessageTriggerSyntax) and trigger.message.text in declared:
                found[trigger.message.text] = None
    return list(found)


def child_names(definition: ProtocolDefinition) -> list[str]:
    """The names (`as`) under which children are started."""
    return list(dict.fromkeys(start.name.text for start in walk.started_children(definition)))


def trigger_context(
    transition: TransitionDefinition,
    messages: Iterable[str],
    events: Iterable[str],
    children: Iterable[str],
) -> Context | None:
    """What a transition's triggers give; None where one of them could not be read, or names nothing near."""
    if not transition.triggers_known:
        return None
    message_types: dict[str, None] = {}
    event_names: dict[str, None] = {}
    child_names: dict[str, None] = {}
    for trigger in transition.triggers:
        match trigger:
            case MessageTriggerSyntax(message):
                known, name, kind = messages, message.text, message_types
            case EventTriggerSyntax(event):
                known, name, kind = events, event.text, event_names
            case ChildTriggerSyntax(child):
                known, name, kind = children, child.text, child_names
        found = _known_or_nearest(name, list(known))
        if found is None:
            return None
        kind[found] = None
    if sum(bool(kind) for kind in (message_types, event_names, child_names)) > 1:
        return Context()
    # `child` is the same whichever it is, so that all places with one share what is compiled for them.
    return Context(tuple(message_types), tuple(event_names), tuple(children) if child_names else ())


def _known_or_nearest(name: str, known: list[str]) -> str | None:
    """The name, or the one that a misspelt name is reported to stand for."""
    return name if name in known else nearest(name, known)
