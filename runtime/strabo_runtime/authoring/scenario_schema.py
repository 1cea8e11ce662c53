"""The JSON Schema of scenario files."""

from __future__ import annotations

from typing import get_args

from strabo_runtime.authoring.declarations import DESCRIPTION
from strabo_runtime.authoring.forms import (
    DIALECT,
    TEMPLATE,
    TEXT,
    Key,
    Schema,
    exactly_one,
    integer,
    listed,
    mapping,
    matching,
    named,
    reference,
    where,
    words,
)
from strabo_runtime.engine.rejection import RefusedBy

AGENTS: Schema = {"anyOf": [TEXT, listed(TEXT)]}
ROLES = Key(
    named(TEXT, AGENTS),
    "Which agents play a role.",
    empty=True,
    examples=({"Client": ["c1"]},),
)

SEND_KEYS = {
    "from": Key(TEXT, "The agent that sends.", required=True),
    "send": Key(TEXT, "The message type.", required=True),
    "payload": Key(TEMPLATE, "The message's fields.", empty=True),
    "id": Key(TEXT, "The message's id; the same again has no second effect."),
    "to": Key(AGENTS, "Only to these agents of those that the type reaches."),
    "user": Key(TEXT, "The person who acts, for a human role."),
    "role": Key(TEXT, "The role that is meant, when the sender has several."),
}
START_KEYS = {
    "message": Key(reference("send"), "The starting message."),
    "inputs": Key({"type": "object"}, "The instance's inputs.", empty=True),
    "roles": ROLES,
}
CHILD_KEYS = {
    "child": Key(TEXT, "A child of this name: the oldest one that runs.", required=True),
    "outcome": Key(words("success", "failure"), "It ends so."),
    "result": Key(TEMPLATE, "Its result, with `outcome: success`.", empty=True),
    "error": Key(TEXT, "Its error, with `outcome: failure`."),
    "event": Key(TEXT, "It raises this event of its parent, and goes on."),
    "payload": Key(TEMPLATE, "The payload of `event`.", empty=True),
}
_CHILD_RULES: tuple[Schema, ...] = (
    exactly_one("outcome", "event"),
    {"if": {"required": ["event"]}, "then": {"properties": {"result": False, "error": False}}},
    {"if": {"required": ["outcome"]}, "then": {"properties": {"payload": False}}},
    where("outcome", "failure", forbidden=("result",)),
    where("outcome", "success", forbidden=("error",)),
)
BIND_KEYS = {
    "role": Key(TEXT, "The role that agents are sought for.", required=True),
    "agents": Key(AGENTS, "Whom the directory finds.", required=True),
}
REFUSAL_KEYS = {
    "from": Key(TEXT, "Who sent it.", required=True),
    "message": Key(TEXT, "Its type.", required=True),
    "by": Key(words(*get_args(RefusedBy)), "Why it was refused.", required=True),
    "constraint": Key(TEXT, "The constraint that refused it."),
}
EXPECT_KEYS = {
    "state": Key(TEXT, "The state that the instance stands in."),
    "status": Key(words("running", "success", "failure"), "How it stands."),
    "variables": Key(
        named(TEXT, TEMPLATE),
        "Values of variables and inputs; a key may be a path.",
        examples=({"bid.cost": 80},),
    ),
    "result": Key(named(TEXT, TEMPLATE), "Values of the result; a key may be a path."),
    "pending": Key(named(TEXT, AGENTS), "By role, the agents that still owe a message."),
    "timers": Key(AGENTS, "The names of the timers that run."),
    "incidents": Key(integer(0), "How many steps have failed."),
    "received": Key(
        named(TEXT, listed(TEXT)),
        "By agent, the message types delivered to it since the last `expect`.",
    ),
    "rejected": Key(
        listed(
            mapping(
                "A refusal.",
                REFUSAL_KEYS,
                {
                    "if": {"required": ["constraint"]},
                    "then": {"properties": {"by": {"const": "constraint"}}},
                },
            )
        ),
        "What was refused since the last `expect`.",
    ),
}
_DURATION_TEXT = matching(
    r"P(?=.)(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:[.,]\d+)?S)?)?|(?:\d+(?:\.\d+)?(?:ms|[wdhms]))+"
)


def _step(key: str, schema: Schema, description: str, *examples: str) -> Schema:
    """A step that is one key."""
    return mapping(description, {key: Key(schema, description, required=True, examples=examples)})


STEP: Schema = {
    "anyOf": [
        reference("send"),
        _step("start", mapping("A start.", START_KEYS), "A start, written out."),
        _step(
            "advance",
            _DURATION_TEXT,
            "So much time passes; timers fire up to and including its end.",
            "PT5M",
        ),
        mapping("A child ends, or raises an event of its parent.", CHILD_KEYS, *_CHILD_RULES),
        _step(
            "bind", mapping("An answer of the agent directory.", BIND_KEYS), "The agent directory answers."
        ),
        _step("cancel", TEXT, "The instance is cancelled, for this reason."),
        _step("expect", mapping("What must be so now.", EXPECT_KEYS), "What must be so now."),
    ]
}
SCENARIO_KEYS = {
    "name": Key(TEXT, "What the scenario shows.", required=True),
    "description": DESCRIPTION,
    "roles": ROLES,
    "steps": Key(listed(reference("step"), at_least=1), "What happens, in order.", required=True),
}
FILE_KEYS = {
    "protocol": Key(TEXT, "The protocol that is tested: that of the file beside this one.", required=True),
    "description": DESCRIPTION,
    "roles": ROLES,
    "scenarios": Key(listed(reference("scenario"), at_least=1), "The scenarios.", required=True),
}


def scenario_schema() -> Schema:
    """The schema of a scenario file (JSON Schema 2020-12): `X.test.yaml` beside `X.yaml`."""
    return {
        "$schema": DIALECT,
        "title": "Strabo scenarios",
        **mapping("Unit tests of a protocol.", FILE_KEYS),
        "$defs": {
            "send": mapping("An agent sends a message; the first one starts the instance.", SEND_KEYS),
            "step": STEP,
            "scenario": mapping("A scenario.", SCENARIO_KEYS),
        },
    }
