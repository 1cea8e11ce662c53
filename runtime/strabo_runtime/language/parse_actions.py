"""Parses actions, and the effects of timers, debts and violated constraints."""

from __future__ import annotations

import re
from typing import Final

from strabo_runtime.engine.machine import Reach
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language.definition import (
    ActionSyntax,
    AppendSyntax,
    CancelTimerSyntax,
    FailSyntax,
    GoToSyntax,
    LogSyntax,
    Name,
    RaiseSyntax,
    RecipientsSyntax,
    SendSyntax,
    SetVariableSyntax,
    StartTimerSyntax,
    TimerDefinition,
    TimerEffectSyntax,
)
from strabo_runtime.language.diagnostics import one_of
from strabo_runtime.language.nodes import Fragment, MappingNode, Node, ScalarNode
from strabo_runtime.language.shape import LABEL, Fields, Shape

ACTIONS: Final = (
    "set_variable",
    "append_to_list",
    "send",
    "broadcast",
    "emit",
    "start_timer",
    "cancel_timer",
    "fail",
    "log",
)
LATER_ACTIONS: Final = {
    "start_protocol": "child protocols",
    "cancel_protocol": "child protocols",
    "bind": "binding agents while an instance runs",
    "unbind": "unbinding agents while an instance runs",
    "replace": "replacing agents while an instance runs",
    "compensate": "no step is compensated",
}
_LATER_FIELDS: Final = {"for_each": "an action runs once", "into": "registered functions"}

_EXPRESSION = r"\$\{.*\}|\$[A-Za-z_][A-Za-z0-9_.]*"
_AGENTS = re.compile(rf"\s*(?:{_EXPRESSION})\s*", re.DOTALL)
_RECIPIENTS = re.compile(
    rf"\s*(?P<role>[^\s\[\]$]+)(?:\[(?P<reach>[^\]]*)\])?(?:\s+except\s+(?P<except>{_EXPRESSION}))?\s*",
    re.DOTALL,
)
_RECIPIENT_FORMS = "`Role`, `Role[all]`, `Role[any]`, `Role[all] except ${ id }` or `${ id or list of ids }`"


class ActionParser:
    """Reads actions; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._reporter = shape.reporter

    def actions(self, node: Node | None, what: str) -> tuple[ActionSyntax, ...]:
        """A list of actions."""
        found = (self.action(item) for item in self._shape.items(node, what))
        return tuple(action for action in found if action is not None)

    def action(self, node: Node) -> ActionSyntax | None:
        """One action: a mapping of its name to its fields."""
        mapping = self._shape.mapping(node, "an action", "a mapping such as `log: text`")
        if mapping is None:
            return None
        if len(mapping.entries) != 1:
            beside = mapping.key("for_each")
            if beside is not None:
                self._reporter.error(
                    "not-supported-yet",
                    beside.span,
                    f"`for_each` is not supported yet: {_LATER_FIELDS['for_each']}",
                )
                return None
            self._reporter.error(
                "bad-combination",
                mapping.span,
                f"this entry has {len(mapping.entries)} keys",
                expected="one action an entry, its fields indented below it or in `{ }`",
            )
            return None
        key, body = mapping.entries[0]
        if key.text in LATER_ACTIONS:
            self._reporter.error(
                "not-supported-yet", key.span, f"`{key.text}` is not supported yet: {LATER_ACTIONS[key.text]}"
            )
            return None
        match key.text:
            case "set_variable":
                return self._set_variable(body)
            case "append_to_list":
                return self._append_to_list(body)
            case "send" | "broadcast":
                return self.send(body, broadcast=key.text == "broadcast")
            case "emit":
                return self._emit(body)
            case "start_timer":
                return self._start_timer(body)
            case "cancel_timer":
                return self._cancel_timer(body)
            case "fail":
                reason = self._text_or_field(body, "`fail`", "reason")
                return None if reason is None else FailSyntax(reason)
            case "log":
                text = self._text_or_field(body, "`log`", "text")
                return None if text is None else LogSyntax(text)
            case _:
                self._unknown_action(key)
                return None

    def _unknown_action(self, key: ScalarNode) -> None:
        near = did_you_mean(key.text, (*ACTIONS, *LATER_ACTIONS))
        if near is not None:
            self._reporter.error(
                "unknown-action",
                key.span,
                f"there is no action `{key.text}`",
                expected=one_of(ACTIONS),
                hint=near,
            )
        else:
            self._reporter.error(
                "not-supported-yet",
                key.span,
                f"`{key.text}` is none of the language's actions, and registered ones are not supported yet",
                expected=one_of(ACTIONS),
            )

    def _fields(
        self, body: Node, action: str, allowed: tuple[str, ...], required: tuple[str, ...]
    ) -> Fields | None:
        return self._shape.fields(
            body,
            f"`{action}`",
            allowed,
            required=required,
            empty=("value", "payload"),
            unsupported=_LATER_FIELDS,
        )

    def _set_variable(self, body: Node) -> ActionSyntax | None:
        fields = self._fields(body, "set_variable", ("name", "value"), ("name",))
        if fields is None:
            return None
        name = self._shape.reference(fields.get("name"), "`name`")
        value = self._written(fields, "value")
        return None if name is None or value is None else SetVariableSyntax(name, value)

    def _append_to_list(self, body: Node) -> ActionSyntax | None:
        fields = self._fields(body, "append_to_list", ("list_name", "value"), ("list_name",))
        if fields is None:
            return None
        name = self._shape.reference(fields.get("list_name"), "`list_name`")
        value = self._written(fields, "value")
        return None if name is None or value is None else AppendSyntax(name, value)

    def _written(self, fields: Fields, key: str) -> Node | None:
        """A value that may be null, and must be written."""
        if not fields.has(key):
            self._reporter.error(
                "missing-key", fields.node.span, f"{fields.what} needs `{key}`", expected=f"`{key}: …`"
            )
        return fields.values.get(key)

    def send(self, body: Node, *, broadcast: bool = False) -> SendSyntax | None:
        """The fields of `send` or `broadcast`."""
        what = "broadcast" if broadcast else "send"
        fields = self._fields(body, what, ("message", "payload", "to"), ("message",))
        if fields is None:
            return None
        message = self._shape.reference(fields.get("message"), "`message`")
        found = [
            self._recipients(item, broadcast=broadcast)
            for item in self._shape.one_or_many(fields.get("to"), "`to`")
        ]
        if message is None or None in found:
            return None
        to = tuple(recipients for recipients in found if recipients is not None)
        return SendSyntax(message, fields.get("payload"), to, broadcast, message.span)

    def _recipients(self, node: Node, *, broadcast: bool) -> RecipientsSyntax | None:
        text = self._shape.text(node, "a recipient")
        if text is None or not isinstance(node, ScalarNode):
            return None
        if _AGENTS.fullmatch(text) and not broadcast:
            return RecipientsSyntax(None, "one", node, None, node.span)
        match = _RECIPIENTS.fullmatch(text)
        reach: Reach | None = None
        if match is not None:
            written = match["reach"]
            if written is None:
                reach = "all" if broadcast else "one"
            elif written == "all" or (written == "any" and not broadcast):
                reach = "all" if written == "all" else "any"
        if match is None or reach is None or (match["except"] is not None and reach != "all"):
            self._reporter.error(
                "bad-value",
                node.span,
                f"`{text}` does not say who gets the message",
                expected="`Role`, `Role[all]` or `Role[all] except ${ id }`"
                if broadcast
                else _RECIPIENT_FORMS,
            )
            return None
        role = Name(match["role"], node.span_at(match.start("role"), len(match["role"])))
        left_out = match["except"]
        except_ = None if left_out is None else Fragment(node, match.start("except"), left_out)
        return RecipientsSyntax(role, reach, None, except_, node.span)

    def _emit(self, body: Node) -> ActionSyntax | None:
        fields = self._fields(body, "emit", ("event", "payload", "to"), ("event",))
        if fields is None:
            return None
        key = fields.key("to")
        if key is not None:
            self._reporter.error(
                "not-supported-yet", key.span, "`to: parent` is not supported yet: child protocols"
            )
        return self.raise_(fields)

    def raise_(self, fields: Fields) -> RaiseSyntax | None:
        """`event` and, where its mapping may have one, `payload`."""
        event = self._shape.reference(fields.get("event"), "`event`")
        return None if event is None else RaiseSyntax(event, fields.get("payload"), event.span)

    def _start_timer(self, body: Node) -> ActionSyntax | None:
        fields = self._fields(
            body, "start_timer", ("name", "duration", "at", "on_timeout"), ("name", "on_timeout")
        )
        if fields is None:
            return None
        name = self._shape.name(fields.get("name"), "the name of a timer", LABEL)
        self.exactly_one(fields, ("duration", "at"))
        on_timeout = fields.get("on_timeout")
        effect = None if on_timeout is None else self.raised(on_timeout, "`on_timeout`")
        if name is None or effect is None:
            return None
        return StartTimerSyntax(name, fields.get("duration"), fields.get("at"), effect)

    def raised(self, node: Node, what: str) -> RaiseSyntax | None:
        """`{event: X, payload: {…}}`."""
        fields = self._shape.fields(node, what, ("event", "payload"), required=("event",), empty=("payload",))
        return None if fields is None else self.raise_(fields)

    def _cancel_timer(self, body: Node) -> ActionSyntax | None:
        fields = self._fields(body, "cancel_timer", ("name",), ("name",))
        name = None if fields is None else self._shape.reference(fields.get("name"), "`name`")
        return None if name is None else CancelTimerSyntax(name)

    def _text_or_field(self, body: Node, what: str, field: str) -> Node | None:
        if not isinstance(body, MappingNode):
            return None if self._shape.text(body, what) is None else body
        fields = self._fields(body, what.strip("`"), (field,), (field,))
        node = None if fields is None else fields.get(field)
        return None if self._shape.text(node, f"`{field}`") is None else node

    def exactly_one(self, fields: Fields, keys: tuple[str, ...]) -> str | None:
        """The one of the keys that is given. None, and more than one, are reported; checking goes on with the first."""
        given = [key for key in keys if fields.get(key) is not None]
        expected = f"exactly one of {', '.join(f'`{key}`' for key in keys)}"
        if not given:
            self._reporter.error(
                "missing-key", fields.node.span, f"{fields.what} needs {expected}", expected=expected
            )
            return None
        for key in given[1:]:
            place = fields.key(key)
            span = fields.node.span if place is None else place.span
            self._reporter.error(
                "bad-combination", span, f"`{key}` and `{given[0]}` exclude each other", expected=expected
            )
        return given[0]

    def timer(self, node: Node | None, what: str) -> TimerDefinition | None:
        """A `timeout` or `deadline`."""
        if node is None:
            return None
        fields = self._shape.fields(node, what, ("after", "at", "event", "to", "fail"))
        if fields is None:
            return None
        self.exactly_one(fields, ("after", "at"))
        kind = self.exactly_one(fields, ("event", "to", "fail"))
        effect = None if kind is None else self._timer_effect(fields, kind)
        return TimerDefinition(
            fields.get("after"), fields.get("at"), effect or FailSyntax(None), fields.node.span
        )

    def _timer_effect(self, fields: Fields, kind: str) -> TimerEffectSyntax | None:
        if kind == "event":
            return self.raise_(fields)
        if kind == "to":
            state = self._shape.reference(fields.get("to"), "`to`")
            return None if state is None else GoToSyntax(state)
        reason = fields.get("fail")
        return None if self._shape.text(reason, "`fail`") is None else FailSyntax(reason)
