"""The keys of what an instance does: states, transitions, actions, constraints and their timers."""

from __future__ import annotations

from strabo_runtime.authoring.declarations import DESCRIPTION, NAMES
from strabo_runtime.authoring.forms import (
    BOOLEAN,
    DURATION,
    EXPRESSION,
    IDENTIFIER_TEXT,
    LABEL_TEXT,
    NOTHING,
    TEMPLATE,
    TEXT,
    TIMESTAMP,
    Key,
    Schema,
    exactly_one,
    integer,
    listed,
    mapping,
    matching,
    named,
    needs,
    one_or_many,
    reference,
    words,
)
from strabo_runtime.expressions.type_text import UNREADABLE_FIELDS
from strabo_runtime.language.shape import PROTOCOL_NAME, VERSION

ACTIONS = listed(reference("action"))
EVENT = Key(TEXT, "The event that is raised, in the same step.")
PAYLOAD = Key(TEMPLATE, "The fields of the payload; text may hold `${ cel }`.", empty=True)
OUTCOMES = words("success", "failure")

# -- timers and debts -------------------------------------------------------------------------------------------------

TIMER_KEYS = {
    "after": Key(
        DURATION, "How long after the entry (for the deadline: the start).", examples=("PT30M", "1h30m")
    ),
    "at": Key(TIMESTAMP, "When, as RFC 3339 text.", examples=("2030-01-01T00:00:00Z", "$task.deadline")),
    "event": EVENT,
    "to": Key(TEXT, "The state that is gone to."),
    "fail": Key(TEXT, "The reason with which the instance ends as failed."),
}
TIMER = mapping(
    "A timer: when it falls due, and what it does.",
    TIMER_KEYS,
    exactly_one("after", "at"),
    exactly_one("event", "to", "fail"),
)

REMIND_KEYS = {
    "every": Key(DURATION, "The time between two reminders.", required=True, examples=("PT10M",)),
    "times": Key(integer(1), "How many reminders at most.", required=True),
}
LAPSE_KEYS = {"event": EVENT, "to": TIMER_KEYS["to"]}
EXPECTATION_KEYS = {
    "message": Key(NAMES, "The message that is owed; of a list, one settles the debt.", required=True),
    "from": Key(
        TEXT,
        "Who owes it: a role, or `${ a list of bound ids }`.",
        required=True,
        examples=("Solver", "${ asked }"),
    ),
    "within": Key(
        DURATION, "How long the agent may take; without it the debt never lapses.", examples=("PT30M",)
    ),
    "remind": Key(
        mapping("Reminders to the silent agent.", REMIND_KEYS),
        "Sends a silent agent the last message again, marked as a reminder.",
    ),
    "on_timeout": Key(
        {
            "anyOf": [
                words("skip", "replace"),
                mapping("What happens when the debt lapses.", LAPSE_KEYS, exactly_one("event", "to")),
            ]
        },
        "What happens when the debt lapses: `skip` drops the silent agents from the role, `replace` binds others and "
        "asks them, `event` raises an event, `to` goes to a state.",
    ),
}
EXPECTATION = mapping(
    "Agents that owe a message while the state lasts.", EXPECTATION_KEYS, needs("on_timeout", "within")
)

# -- states -----------------------------------------------------------------------------------------------------------

STATE_KEYS = {
    "name": Key(LABEL_TEXT, "The state's name.", required=True),
    "description": DESCRIPTION,
    "final": Key(OUTCOMES, "The instance ends here, with this outcome."),
    "timeout": Key(reference("timer"), "A timer that runs while the state lasts."),
    "expects": Key(
        listed(reference("expectation")), "Who owes which message while the state lasts.", empty=True
    ),
    "on_entry": Key(ACTIONS, "Actions on entering the state.", empty=True),
    "on_exit": Key(ACTIONS, "Actions on leaving the state.", empty=True),
}
_FINAL_RULE: Schema = {
    "if": {"properties": {"final": OUTCOMES}, "required": ["final"]},
    "then": {"properties": dict.fromkeys(("timeout", "expects", "on_exit"), False)},
}
STATE: Schema = {
    "anyOf": [
        {**LABEL_TEXT, "description": "A state's name: short for `{name: …}`."},
        mapping("A state.", STATE_KEYS, _FINAL_RULE),
    ]
}

# -- transitions ------------------------------------------------------------------------------------------------------

TRIGGER_KEYS = {
    "message": Key(TEXT, "A message of this type."),
    "from": Key(TEXT, "Only from this role."),
    "event": Key(TEXT, "An event of this name."),
    "child": Key(TEXT, "The end of a child started under this name (its `as`)."),
    "outcome": Key(OUTCOMES, "Only with this outcome."),
}
TRIGGER = mapping(
    "What the transition waits for.",
    TRIGGER_KEYS,
    exactly_one("message", "event", "child"),
    needs("from", "message"),
    needs("outcome", "child"),
)
TRANSITION_KEYS = {
    "from": Key(
        {
            "anyOf": [
                TEXT,
                {
                    "type": "array",
                    "items": {**TEXT, "not": {"const": "*"}},
                    "minItems": 1,
                    "uniqueItems": True,
                },
                {"type": "array", "items": {"const": "*"}, "minItems": 1, "maxItems": 1},
            ]
        },
        'The state that it leaves, a list of states, or `"*"`: every state that is not final.',
        required=True,
    ),
    "to": Key(TEXT, "The state that it enters; without it the instance stays."),
    "trigger": Key(
        {
            "anyOf": [
                reference("trigger"),
                {"type": "array", "items": reference("trigger"), "minItems": 1},
            ]
        },
        "What it waits for, or a list of alternatives; without it the transition is automatic.",
    ),
    "condition": Key(EXPRESSION, "An expression that must hold.", examples=("received_bids.size() > 0",)),
    "actions": Key(ACTIONS, "What is done, in order.", empty=True),
    "compensation": Key(ACTIONS, "What undoes it, kept until `compensate` or a failure.", empty=True),
    "reenter": Key(
        BOOLEAN, "On a transition to the same state: leave and enter it, so that its timers begin again."
    ),
    "description": DESCRIPTION,
}
TRANSITION = mapping("A way from a state to a state. The order is the priority.", TRANSITION_KEYS)

# -- actions ----------------------------------------------------------------------------------------------------------

FOR_EACH = Key(
    EXPRESSION,
    "A list: the action is done once for each of its values, which is `each`.",
    examples=("${ winners }",),
)
_EVALUATED = r"\$\{[\s\S]*\}|\$[A-Za-z_][A-Za-z0-9_.]*"
_RECIPIENT = matching(
    rf"\s*(?:{_EVALUATED})\s*|\s*[^\s\[\]$]+(?:\[(?:all|any)\])?\s*|\s*[^\s\[\]$]+\[all\]\s+except\s+(?:{_EVALUATED})\s*"
)
_BROADCAST_RECIPIENT = matching(rf"\s*[^\s\[\]$]+(?:\[all\])?(?:\s+except\s+(?:{_EVALUATED}))?\s*")
_AGENTS = Key(
    {"anyOf": [TEXT, {"type": "array", "minItems": 1}]},
    "Which agents: an id, a list of ids, or `${ either }`.",
    examples=("${ message.from }",),
)
_COUNT = Key(
    {"anyOf": [integer(1), TEXT]}, "How many agents the directory is asked for: a number or an expression."
)
_ROLE = Key(TEXT, "The role.", required=True)
_TIMER_NAME = "The timer's name; starting it again restarts it."


def _send(recipient: Schema, to: str) -> dict[str, Key]:
    return {
        "message": Key(TEXT, "The message type.", required=True),
        "payload": PAYLOAD,
        "to": Key(
            one_or_many(recipient, distinct=False),
            to,
            examples=("Solver[all]", "${ winner }", "Solver[all] except ${ winner }"),
        ),
    }


ACTION_KEYS: dict[str, dict[str, Key]] = {
    "set_variable": {
        "name": Key(TEXT, "The variable.", required=True),
        "value": Key(TEMPLATE, "Its new value.", required=True),
    },
    "append_to_list": {
        "list_name": Key(TEXT, "The variable, a list.", required=True),
        "value": Key(TEMPLATE, "What is appended.", required=True),
    },
    "send": _send(_RECIPIENT, "Whom it is for; by default as the message type says."),
    "broadcast": _send(_BROADCAST_RECIPIENT, "The role, all of whose agents get it."),
    "emit": {
        "event": Key(TEXT, "The event.", required=True),
        "payload": PAYLOAD,
        "to": Key(words("parent"), "`parent`: the event reaches the parent of this child instance."),
    },
    "start_timer": {
        "name": Key(LABEL_TEXT, _TIMER_NAME, required=True),
        "duration": Key(DURATION, "How long from now.", examples=("PT5M",)),
        "at": Key(TIMESTAMP, "When, as RFC 3339 text."),
        "on_timeout": Key(
            mapping(
                "The event that falls due.",
                {"event": Key(TEXT, "The event.", required=True), "payload": PAYLOAD},
            ),
            "The event that falls due.",
            required=True,
        ),
    },
    "cancel_timer": {"name": Key(TEXT, "The timer's name.", required=True)},
    "start_protocol": {
        "protocol": Key(matching(PROTOCOL_NAME.pattern), "The child's protocol.", required=True),
        "version": Key(
            matching(VERSION.pattern),
            "Its version; without it the one published when the parent is published.",
        ),
        "as": Key(
            {"allOf": [IDENTIFIER_TEXT, {"not": {"enum": list(UNREADABLE_FIELDS)}}]},
            "The name of such children here; by default the protocol's.",
        ),
        "inputs": Key(
            {"anyOf": [{"type": "object"}, EXPRESSION]},
            "The child's inputs; text may hold `${ cel }`.",
            empty=True,
        ),
        "roles": Key(
            named(IDENTIFIER_TEXT, {"anyOf": [TEXT, {"type": "array", "minItems": 1}]}),
            "The child's roles: a role of this protocol, ids, or `${ an id or a list of ids }`.",
            empty=True,
            examples=({"Author": "Client", "Reviewer": "${ reviewers }"},),
        ),
        "detach": Key(BOOLEAN, "Whether the child lives on when the parent ends."),
    },
    "cancel_protocol": {
        "as": Key(TEXT, "The name of the children that are cancelled."),
        "protocol": Key(TEXT, "Their protocol, where they have no name of their own."),
    },
    "bind": {"role": _ROLE, "agents": _AGENTS, "count": _COUNT},
    "unbind": {"role": _ROLE, "agents": _AGENTS},
    "replace": {"role": _ROLE, "agents": _AGENTS, "count": _COUNT},
    "compensate": {},
    "fail": {"reason": Key(TEXT, "Why the instance ends as failed.", required=True)},
    "log": {"text": Key(TEXT, "What is written into the history and the log.", required=True)},
}
_MEANINGS = {
    "set_variable": "Sets a variable.",
    "append_to_list": "Appends to a variable that is a list.",
    "send": "Sends a message of a role that the engine plays.",
    "broadcast": "Sends a message to all agents of a role.",
    "emit": "Raises an event, handled in this step; `to: parent` reaches the parent.",
    "start_timer": "Starts a timer, which outlives states.",
    "cancel_timer": "Cancels a timer.",
    "start_protocol": "Starts a child: an instance of another protocol, or of this one.",
    "cancel_protocol": "Cancels the running children of a name.",
    "bind": "Binds agents to a role: these at once, or as many as the directory finds.",
    "unbind": "Takes agents out of a role; without `agents`, all of them.",
    "replace": "Puts others in the place of agents, as the directory finds them.",
    "compensate": "Runs the kept compensations, the newest first.",
    "fail": "Ends the instance as failed; the actions after it are skipped.",
    "log": "Writes text into the history and the log.",
}
_RULES: dict[str, tuple[Schema, ...]] = {
    "start_timer": (exactly_one("duration", "at"),),
    "cancel_protocol": (exactly_one("as", "protocol"),),
    "bind": (exactly_one("agents", "count"),),
}
_SHORT_FORMS: dict[str, Schema] = {"fail": TEXT, "log": TEXT, "compensate": NOTHING}


def _action(name: str) -> Schema:
    fields = {**ACTION_KEYS[name], "for_each": FOR_EACH}
    body = mapping(_MEANINGS[name], fields, *_RULES.get(name, ()))
    short = _SHORT_FORMS.get(name)
    return body if short is None else {"anyOf": [short, body], "description": _MEANINGS[name]}


_CALL: Schema = {
    "type": ["object", "null"],
    "description": "A registered function, with a value for each of its parameters.",
    "properties": {
        "into": Key(TEXT, "The variable that keeps the result.").json_schema(),
        "for_each": FOR_EACH.json_schema(),
    },
    "additionalProperties": TEMPLATE,
}
ACTION: Schema = {
    "anyOf": [
        {
            "type": "object",
            "description": "One action: its name, and its fields below it.",
            "properties": {name: _action(name) for name in ACTION_KEYS},
            "propertyNames": IDENTIFIER_TEXT,
            "additionalProperties": _CALL,
            "minProperties": 1,
            "maxProperties": 1,
        },
        {"const": "compensate", "description": _MEANINGS["compensate"]},
    ]
}

# -- constraints ------------------------------------------------------------------------------------------------------

VIOLATION_KEYS = {
    "event": EVENT,
    "payload": PAYLOAD,
    "send": Key(
        mapping("The message that is sent.", ACTION_KEYS["send"]),
        "A message that is sent, as a step of its own.",
    ),
    "fail": TIMER_KEYS["fail"],
}
CONSTRAINT_KEYS = {
    "name": Key(LABEL_TEXT, "The rule's name, told to whoever violates it.", required=True),
    "description": Key(
        TEXT, "The rule in words, told to whoever violates it; it may hold `${ cel }`.", empty=True
    ),
    "expression": Key(EXPRESSION, "What must hold.", required=True),
    "enforced_on": Key(NAMES, "The message types that it is checked for; without it, every step."),
    "phase": Key(
        words("before", "after", "always"),
        "`before` anything changes (the default), `after` the input's own transition acted, or `always`: when the step "
        "has settled.",
    ),
    "on_violation": Key(
        {
            "anyOf": [
                words("reject", "warn", "fail"),
                mapping(
                    "What a violation does.",
                    VIOLATION_KEYS,
                    exactly_one("event", "send", "fail"),
                    needs("payload", "event"),
                ),
            ]
        },
        "What a violation does: `reject` (the default) refuses the message or undoes the step, `warn` records it, "
        "`fail` ends the instance; or an event, a message, or `fail` with a reason.",
    ),
}
_ALWAYS_RAISES_NOTHING: Schema = {
    "if": {"properties": {"phase": {"const": "always"}}, "required": ["phase"]},
    "then": {"properties": {"on_violation": {"not": {"type": "object", "required": ["event"]}}}},
}
CONSTRAINT = mapping("A rule that must hold.", CONSTRAINT_KEYS, _ALWAYS_RAISES_NOTHING)

DEFINITIONS: dict[str, Schema] = {
    "timer": TIMER,
    "expectation": EXPECTATION,
    "state": STATE,
    "trigger": TRIGGER,
    "transition": TRANSITION,
    "action": ACTION,
    "constraint": CONSTRAINT,
}
