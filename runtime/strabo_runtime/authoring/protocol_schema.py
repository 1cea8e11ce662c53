"""The JSON Schema of protocol files."""

from __future__ import annotations

from strabo_runtime.authoring import behaviour, declarations
from strabo_runtime.authoring.forms import DIALECT, Key, Schema, listed, mapping, matching, reference
from strabo_runtime.language.shape import PROTOCOL_NAME, VERSION

PROTOCOL_KEYS = {
    "protocol": Key(
        matching(PROTOCOL_NAME.pattern),
        "The protocol's name.",
        required=True,
        examples=("DistributedTaskAuction",),
    ),
    "version": Key(
        matching(VERSION.pattern),
        "The version, as text. A published name@version never changes its content.",
        required=True,
        examples=("1.0",),
    ),
    "description": declarations.DESCRIPTION,
    "participants": Key(
        listed(reference("participant"), at_least=1), "Who takes part: the roles.", required=True
    ),
    "types": Key(declarations.TYPES, "Named payload types, or aliases.", empty=True),
    "message_types": Key(declarations.MESSAGES, "What may be said.", required=True),
    "events": Key(
        declarations.EVENTS,
        "What may happen inside. With this section, every event but the built-in ones is declared here.",
        empty=True,
    ),
    "inputs": Key(declarations.INPUTS, "Values that the starter passes in.", empty=True),
    "variables": Key(declarations.VARIABLES, "What an instance remembers.", empty=True),
    "labels": Key(declarations.VALUES, "Values by which operators find instances; indexed.", empty=True),
    "states": Key(
        listed(reference("state"), at_least=1),
        "The stages; the first is where an instance begins.",
        required=True,
    ),
    "transitions": Key(
        listed(reference("transition")),
        "What moves it on; the order is the priority.",
        required=True,
    ),
    "constraints": Key(listed(reference("constraint")), "The rules that must hold.", empty=True),
    "deadline": Key(reference("timer"), "A timer for the whole instance."),
    "result": Key(declarations.VALUES, "The outcome, for the starter and a parent.", empty=True),
    "unexpected": Key(
        declarations.UNEXPECTED,
        "What a message gets that no transition takes: `reject` (the default), `ignore`, or `defer` until the state "
        "has changed.",
    ),
    "limits": Key(declarations.LIMITS, "The bounds of one instance.", empty=True),
}


def protocol_schema() -> Schema:
    """The schema of a protocol file (JSON Schema 2020-12).

    It says what a file may look like: every key, form and word. What names refer to, and what expressions mean, is for
    `strabo verify`.
    """
    return {
        "$schema": DIALECT,
        "title": "Strabo protocol",
        **mapping("An interaction protocol: who takes part, what they say, and what follows.", PROTOCOL_KEYS),
        "$defs": {**declarations.DEFINITIONS, **behaviour.DEFINITIONS},
    }
