"""Turns nodes into a protocol definition: which keys there are, and what shape each has."""

from __future__ import annotations

from typing import Final

from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import Name, Node
from strabo_runtime.language.parse_behaviour import BehaviourParser
from strabo_runtime.language.parse_declarations import DeclarationParser
from strabo_runtime.language.parse_participants import ParticipantParser
from strabo_runtime.language.shape import PROTOCOL_NAME, VERSION, Shape

REQUIRED_KEYS: Final = ("protocol", "version", "participants", "message_types", "states", "transitions")
SECTIONS: Final = (
    "types",
    "events",
    "inputs",
    "variables",
    "labels",
    "constraints",
    "result",
    "limits",
)
"""What may be left empty, being lists and mappings."""
KEYS: Final = (*REQUIRED_KEYS, *SECTIONS, "description", "deadline", "unexpected")


def parse(root: Node, *, source: str, filename: str, reporter: Reporter) -> ProtocolDefinition | None:
    """The definition, with what could not be read left out and reported; None where the file is no protocol at all."""
    shape = Shape(reporter)
    fields = shape.fields(root, "the protocol", KEYS, required=REQUIRED_KEYS, empty=SECTIONS)
    if fields is None:
        return None
    declarations, behaviour = DeclarationParser(shape), BehaviourParser(shape)
    type_names: dict[str, Name] = {}
    value_names: dict[str, Name] = {}
    nowhere = Name("", fields.node.span)
    definition = ProtocolDefinition(
        source=source,
        filename=filename,
        name=shape.name(fields.get("protocol"), "the name of a protocol", PROTOCOL_NAME) or nowhere,
        version=shape.name(fields.get("version"), "a version", VERSION) or nowhere,
        description=shape.text(fields.get("description"), "`description`") or "",
        roles=ParticipantParser(shape).participants(fields.get("participants")),
        types=declarations.types(fields.get("types"), type_names),
        messages=declarations.messages(fields.get("message_types"), type_names),
        events=declarations.events(fields.get("events")) if fields.has("events") else None,
        inputs=declarations.inputs(fields.get("inputs"), value_names),
        variables=declarations.variables(fields.get("variables"), value_names),
        labels=declarations.values(fields.get("labels"), "labels"),
        states=behaviour.states(fields.get("states")),
        transitions=behaviour.transitions(fields.get("transitions")),
        constraints=behaviour.constraints(fields.get("constraints")),
        deadline=behaviour.effects.timer(fields.get("deadline"), "`deadline`"),
        result=declarations.values(fields.get("result"), "result"),
        unexpected=declarations.unexpected(fields.get("unexpected")) or "reject",
        limits=declarations.limits(fields.get("limits")),
    )
    if definition.states and definition.states[0].final is not None:
        first = definition.states[0].name
        reporter.error(
            "final-state",
            first.span,
            f"`{first.text}` is the initial state, and final: nothing could ever happen",
            expected="a first state that is not final",
        )
    return definition
