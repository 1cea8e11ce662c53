"""The keys of what a protocol declares: participants, types, message types, events, inputs, variables, limits."""

from __future__ import annotations

from typing import Any, get_args

from strabo_runtime.authoring.forms import (
    BOOLEAN,
    IDENTIFIER_TEXT,
    LABEL_TEXT,
    NOTHING,
    TEMPLATE,
    TEXT,
    Key,
    Schema,
    at_most_one,
    integer,
    listed,
    mapping,
    matching,
    named,
    one_or_many,
    reference,
    where,
    words,
)
from strabo_runtime.engine.machine import BUILT_IN_EVENTS, Limits, PlayedBy, Unexpected
from strabo_runtime.expressions.type_text import UNREADABLE_FIELDS
from strabo_runtime.language.parse_declarations import RESERVED_NAMES
from strabo_runtime.language.types import BUILT_IN_TYPES

DESCRIPTION = Key(TEXT, "What it is, for people.", empty=True)
NAMES = one_or_many(TEXT)


def _apart_from(form: Schema, *reserved: str) -> Schema:
    return {"allOf": [form, {"not": {"enum": list(reserved)}}]}


# -- participants -----------------------------------------------------------------------------------------------------

ROLE_KEYS = {
    "name": Key(IDENTIFIER_TEXT, "The role's name.", required=True, examples=("Client", "Solver")),
    "description": DESCRIPTION,
    "played_by": Key(
        words(*get_args(PlayedBy)),
        "Who plays the role: programs (`agent`, the default), the runtime, which sends through actions (`engine`), or "
        "people, whose messages become tasks (`human`).",
    ),
    "count": Key(
        {"anyOf": [integer(1), TEXT]},
        "How many agents are sought: a number, or an expression over inputs and `starting`.",
        examples=(3, "starting.payload.size > 1000 ? 5 : 3"),
    ),
    "min": Key(
        integer(0), "The fewest agents accepted; by default `count`, else 1. `0` makes the role optional."
    ),
    "max": Key(integer(1), "The most agents accepted; by default `count`, else 1."),
    "multiplicity": Key(
        words("multiple", "single"), "`multiple` is short for `min: 1` and no `max`; `single` is the default."
    ),
    "capabilities": Key(
        listed(TEXT),
        "What an agent must be able to do, as it announces it.",
        empty=True,
        examples=(["solve"],),
    ),
    "open": Key(
        BOOLEAN,
        "Whether an agent that sends a message which a transition takes is thereby bound, up to `max`.",
    ),
}
ROLE = mapping(
    "A role of the protocol.",
    ROLE_KEYS,
    where("played_by", "engine", forbidden=("count", "min", "max", "multiplicity", "capabilities", "open")),
    where("played_by", "human", forbidden=("count", "capabilities", "open")),
    where("multiplicity", "multiple", forbidden=("max",)),
)

# -- types ------------------------------------------------------------------------------------------------------------

_WORD = r"[A-Za-z_][A-Za-z0-9_-]*"
_ENUM = rf"enum\s*\(\s*{_WORD}(?:\s*,\s*{_WORD})*\s*\)"
_NAME = r"(?!(?:list|map|enum)(?![A-Za-z0-9_]))[A-Za-z_][A-Za-z0-9_]*"

TYPE_TEXT = {
    **matching(rf"\s*(?:(?:list|map)\s*<\s*)*(?:{_ENUM}|{_NAME})(?:\s*>)*\s*\??\s*"),
    "description": "A type: `string`, `integer`, `number`, `boolean`, `object`, `any`, `timestamp`, `duration`, "
    "`list<T>`, `map<T>`, `enum(a, b)`, or a name from `types` or `message_types`; with `?` for optional.",
    "examples": ["string", "number?", "list<Offer>", "enum(low, high)"],
}
FIELD_MAP: Schema = {
    "type": "object",
    "description": "A field map: a type for each field.",
    "propertyNames": _apart_from(IDENTIFIER_TEXT, *UNREADABLE_FIELDS),
    "properties": {
        "open": {
            "anyOf": [BOOLEAN, reference("type")],
            "description": "`true`: fields that are not named here are accepted. (With a type, a field called `open`.)",
        }
    },
    "additionalProperties": reference("type"),
}
TYPE: Schema = {"anyOf": [TYPE_TEXT, reference("fieldMap")]}

TYPES = named(_apart_from(IDENTIFIER_TEXT, *BUILT_IN_TYPES), reference("type"))

# -- messages and events ----------------------------------------------------------------------------------------------

_ADDRESSEE = {
    **matching(r"\s*[^\s\[\]]+(?:\[(?:all|any)\])?\s*"),
    "examples": ["Desk", "Solver[all]", "Solver[any]"],
}
UNEXPECTED = words(*get_args(Unexpected))
MESSAGE_KEYS = {
    "description": DESCRIPTION,
    "from": Key(NAMES, "Who may send it: a role, or a list of roles.", required=True),
    "to": Key(
        one_or_many(_ADDRESSEE),
        "Whom it is for: `Role`, `Role[all]`, `Role[any]` (one of them, in turn), or a list of these.",
        required=True,
    ),
    "payload": Key(reference("type"), "The fields of the message, or the name of a type.", empty=True),
    "schema": Key(
        {"type": "object"},
        "JSON Schema 2020-12 of the payload, instead of `payload`.",
        examples=({"type": "object", "properties": {"size": {"type": "integer"}}},),
    ),
    "open": Key(BOOLEAN, "Whether fields that `payload` does not name are accepted too."),
    "unexpected": Key(
        UNEXPECTED,
        "What this message gets where no transition takes it; it overrides the protocol's `unexpected`.",
    ),
    "sensitive": Key(
        NAMES,
        "Fields, with dots, that are masked in logs, traces, console and exports.",
        empty=True,
        examples=(["customer.name"],),
    ),
}
MESSAGE = mapping(
    "A message type: who may send it to whom, and what it holds.",
    MESSAGE_KEYS,
    at_most_one("payload", "schema"),
    at_most_one("open", "schema"),
    {
        "if": {"properties": {"open": {"const": True}}, "required": ["open"]},
        "then": {"properties": {"payload": {"type": ["object", "null"]}}},
    },
)
MESSAGES = named(_apart_from(IDENTIFIER_TEXT, *BUILT_IN_TYPES), reference("messageType"))

EVENTS = named(
    _apart_from(LABEL_TEXT, *BUILT_IN_EVENTS),
    {
        "anyOf": [NOTHING, reference("type")],
        "description": "The fields of the event's payload; nothing: it has none.",
    },
)

# -- inputs, variables and values -------------------------------------------------------------------------------------

INPUT_KEYS = {
    "type": Key(reference("type"), "The input's type.", required=True),
    "default": Key(
        TEMPLATE,
        "The value where the starter gives none. It sees `starting`, `now` and `instance`.",
        empty=True,
    ),
    "description": DESCRIPTION,
}
INPUTS = named(
    _apart_from(IDENTIFIER_TEXT, *RESERVED_NAMES),
    {"anyOf": [TYPE_TEXT, mapping("An input: a value that the starter passes in.", INPUT_KEYS)]},
)

VARIABLE_KEYS = {
    "type": Key(reference("type"), "The variable's type.", required=True),
    "initial": Key(
        TEMPLATE,
        "The value at the start; required unless the type is optional. It sees inputs, `starting`, `now`, `instance` "
        "and `roles`.",
        empty=True,
    ),
    "description": DESCRIPTION,
}
VARIABLES = named(
    _apart_from(IDENTIFIER_TEXT, *RESERVED_NAMES),
    {"anyOf": [TYPE_TEXT, mapping("A variable: what an instance remembers.", VARIABLE_KEYS)]},
)

VALUES = named(LABEL_TEXT, TEMPLATE)

# -- limits -----------------------------------------------------------------------------------------------------------

_DEFAULTS = Limits()


def _limit(schema: Schema, description: str, default: Any) -> Key:
    return Key({**schema, "default": default}, description)


LIMIT_KEYS = {
    "steps": _limit(integer(1), "Steps of one instance; at this number it fails.", _DEFAULTS.steps),
    "state_bytes": _limit(
        {"anyOf": [integer(1024), matching(r"\d+ ?(?:KiB|MiB)")]},
        "Bytes of an instance's stored state, such as `64 KiB`.",
        f"{_DEFAULTS.state_bytes // 1024} KiB",
    ),
    "deferred": _limit(integer(1), "Messages that wait to be tried again.", _DEFAULTS.deferred),
    "microsteps": _limit(integer(1), "Transitions within one step.", _DEFAULTS.microsteps),
}
LIMITS = mapping("The bounds of one instance.", LIMIT_KEYS)

DEFINITIONS: dict[str, Schema] = {
    "participant": ROLE,
    "type": TYPE,
    "fieldMap": FIELD_MAP,
    "messageType": MESSAGE,
}
