"""Parses actions: which there are, which fields each has, and `for_each` around any of them."""

from __future__ import annotations

from typing import Final, NamedTuple

from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language.action_syntax import (
    ActionSyntax,
    AppendSyntax,
    CallSyntax,
    CancelTimerSyntax,
    CompensateSyntax,
    FailSyntax,
    ForEachSyntax,
    LogSyntax,
    SendSyntax,
    SetVariableSyntax,
    StartTimerSyntax,
    TellParentSyntax,
)
from strabo_runtime.language.nodes import MappingNode, Name, Node, ScalarNode
from strabo_runtime.language.parse_effects import EffectParser
from strabo_runtime.language.parse_others import OthersParser
from strabo_runtime.language.parse_sending import SendingParser
from strabo_runtime.language.shape import LABEL, Fields, Shape

FOR_EACH, INTO = "for_each", "into"


class _Keys(NamedTuple):
    """The fields of an action, and those that it needs."""

    allowed: tuple[str, ...]
    required: tuple[str, ...] = ()


_SEND = _Keys(("message", "payload", "to"), ("message",))
_KEYS: Final = {
    "set_variable": _Keys(("name", "value"), ("name",)),
    "append_to_list": _Keys(("list_name", "value"), ("list_name",)),
    "send": _SEND,
    "broadcast": _SEND,
    "emit": _Keys(("event", "payload", "to"), ("event",)),
    "start_timer": _Keys(("name", "duration", "at", "on_timeout"), ("name", "on_timeout")),
    "cancel_timer": _Keys(("name",), ("name",)),
    "start_protocol": _Keys(("protocol", "version", "as", "inputs", "roles", "detach"), ("protocol",)),
    "cancel_protocol": _Keys(("as", "protocol")),
    "bind": _Keys(("role", "agents", "count"), ("role",)),
    "unbind": _Keys(("role", "agents"), ("role",)),
    "replace": _Keys(("role", "agents", "count"), ("role",)),
    "compensate": _Keys(()),
    "fail": _Keys(("reason",), ("reason",)),
    "log": _Keys(("text",), ("text",)),
}
_EMPTY: Final = ("value", "payload", "inputs", "roles")
ACTIONS: Final = tuple(_KEYS)
"""The language's own actions; any other name is that of a registered function."""


class ActionParser:
    """Reads actions; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape, effects: EffectParser) -> None:
        self._shape = shape
        self._reporter = shape.reporter
        self._effects = effects
        self._sending = SendingParser(shape)
        self._others = OthersParser(shape, effects)

    def actions(self, node: Node | None, what: str) -> tuple[ActionSyntax, ...]:
        """A list of actions."""
        found = (self.action(item) for item in self._shape.items(node, what))
        return tuple(action for action in found if action is not None)

    def action(self, node: Node) -> ActionSyntax | None:
        """One action: a mapping of its name to its fields."""
        if isinstance(node, ScalarNode) and node.value == "compensate":
            return CompensateSyntax(node.span)
        if not isinstance(node, MappingNode):
            near = did_you_mean(node.text, ("compensate",)) if isinstance(node, ScalarNode) else None
            self._shape.wrong(node, "an action", "a mapping such as `log: text`", near)
            return None
        if len(node.entries) != 1:
            beside = node.key(FOR_EACH)
            self._reporter.error(
                "bad-combination",
                node.span if beside is None else beside.span,
                f"this entry has {len(node.entries)} keys",
                expected="one action an entry, its fields indented below it or in `{ }`",
                hint=None if beside is None else "`for_each` stands among the fields of its action",
            )
            return None
        key, body = node.entries[0]
        repeated = body.get(FOR_EACH) if isinstance(body, MappingNode) else None
        if repeated is None or not isinstance(body, MappingNode):
            return self._single(key, body)
        rest = tuple(entry for entry in body.entries if entry[0].text != FOR_EACH)
        action = self._single(key, MappingNode(rest, body.origin, body.start, body.end))
        items = self._shape.scalar(repeated, f"`{FOR_EACH}`", "an expression that gives a list")
        return None if action is None or items is None else ForEachSyntax(items, action)

    def _single(self, key: ScalarNode, body: Node) -> ActionSyntax | None:
        """The action that `key` names, its `for_each` put aside."""
        name = key.text
        if name not in _KEYS:
            return self._call(key, body)
        if name in ("fail", "log") and not isinstance(body, MappingNode):
            text = None if self._shape.text(body, f"`{name}`") is None else body
            return self._text(name, text)
        if name == "compensate" and not isinstance(body, MappingNode):
            if not isinstance(body, ScalarNode) or body.value is not None:
                self._shape.wrong(body, f"`{name}`", "no value: it runs all that is kept")
            return CompensateSyntax(key.span)
        fields = self._fields(name, body)
        return None if fields is None else self._of_fields(key, fields)

    def _fields(self, name: str, body: Node) -> Fields | None:
        allowed, required = _KEYS[name]
        # Its `for_each` is not here any more, and is named all the same where a key is misspelt.
        return self._shape.fields(body, f"`{name}`", (*allowed, FOR_EACH), required=required, empty=_EMPTY)

    def _of_fields(self, key: ScalarNode, fields: Fields) -> ActionSyntax | None:
        name = key.text
        match name:
            case "set_variable":
                return self._set_variable(fields)
            case "append_to_list":
                return self._append_to_list(fields)
            case "send" | "broadcast":
                return self._sending.send(fields, broadcast=name == "broadcast")
            case "emit":
                return self._emit(fields)
            case "start_timer":
                return self._start_timer(fields)
            case "cancel_timer":
                timer = self._shape.reference(fields.get("name"), "`name`")
                return None if timer is None else CancelTimerSyntax(timer)
            case "start_protocol":
                return self._others.start_protocol(fields)
            case "cancel_protocol":
                return self._others.cancel_protocol(fields)
            case "bind":
                return self._others.bind(fields)
            case "unbind":
                return self._others.unbind(fields)
            case "replace":
                return self._others.replace(fields)
            case "compensate":
                return CompensateSyntax(key.span)
            case _:
                field = "reason" if name == "fail" else "text"
                node = fields.get(field)
                return self._text(name, None if self._shape.text(node, f"`{field}`") is None else node)

    def _text(self, name: str, text: Node | None) -> ActionSyntax | None:
        if text is None:
            return None
        return FailSyntax(text) if name == "fail" else LogSyntax(text)

    def _call(self, key: ScalarNode, body: Node) -> CallSyntax:
        """A registered function. Whether there is one of this name is looked up with all other names."""
        function = Name(key.text, key.span)
        if isinstance(body, ScalarNode) and body.value is None:
            return CallSyntax(function, (), None, body)
        if not isinstance(body, MappingNode):
            return CallSyntax(function, None, None, body)
        into = self._shape.reference(body.get(INTO), f"`{INTO}`")
        arguments = tuple(
            (Name(field.text, field.span), value) for field, value in body if field.text != INTO
        )
        return CallSyntax(function, arguments, into, body)

    def _set_variable(self, fields: Fields) -> ActionSyntax | None:
        name = self._shape.reference(fields.get("name"), "`name`")
        value = self._written(fields, "value")
        return None if name is None or value is None else SetVariableSyntax(name, value)

    def _append_to_list(self, fields: Fields) -> ActionSyntax | None:
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

    def send(self, node: Node) -> SendSyntax | None:
        """The fields of a `send` that stands outside a list of actions."""
        allowed, required = _SEND
        fields = self._shape.fields(node, "`send`", allowed, required=required, empty=("payload",))
        return None if fields is None else self._sending.send(fields)

    def _emit(self, fields: Fields) -> ActionSyntax | None:
        to = fields.get("to")
        raised = self._effects.raise_(fields)
        if to is None:
            return raised
        whom = self._shape.choice(to, "`to`", ("parent",))
        if raised is None or whom is None:
            return None
        return TellParentSyntax(raised.event, raised.payload, raised.span)

    def _start_timer(self, fields: Fields) -> ActionSyntax | None:
        name = self._shape.name(fields.get("name"), "the name of a timer", LABEL)
        self._effects.exactly_one(fields, ("duration", "at"))
        on_timeout = fields.get("on_timeout")
        effect = None if on_timeout is None else self._effects.raised(on_timeout, "`on_timeout`")
        if name is None or effect is None:
            return None
        return StartTimerSyntax(name, fields.get("duration"), fields.get("at"), effect)
