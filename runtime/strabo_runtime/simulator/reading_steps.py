"""Reads the steps of a scenario: what is sent and started, how time passes, what children and operators do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strabo_runtime.engine.machine import BUILT_IN_EVENTS, FinalOutcome
from strabo_runtime.expressions import parse_duration
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import Json
from strabo_runtime.language.nodes import Node
from strabo_runtime.language.shape import Fields
from strabo_runtime.simulator.parts import child_names
from strabo_runtime.simulator.reading_expectations import ExpectationReader
from strabo_runtime.simulator.reading_names import NameReader
from strabo_runtime.simulator.scenario import (
    AdvanceStep,
    BindStep,
    CancelStep,
    ChildEventStep,
    ChildStep,
    ScenarioStep,
    SendStep,
    StartStep,
)

_SEND_KEYS: Final = ("from", "send", "payload", "id", "to", "user", "role")
_CHILD_KEYS: Final = ("child", "outcome", "result", "error", "event", "payload")
_OUTCOMES: Final[tuple[FinalOutcome, ...]] = ("success", "failure")
_FAILED: Final = "failed"
"""The error of a failed child whose step names none."""


class StepReader:
    """Reads steps, each by the key that it is known by."""

    def __init__(self, names: NameReader) -> None:
        self._names = names
        self._shape = names.shape
        self._expectations = ExpectationReader(names)
        self._children = child_names(names.machine)
        self._readers: dict[str, Callable[[Node], ScenarioStep | None]] = {
            "send": self._send,
            "from": self._send,
            "start": self._start,
            "advance": self._advance,
            "child": self._child,
            "bind": self._bind,
            "cancel": self._cancel,
            "expect": self._expectations.read,
        }

    def read(self, node: Node) -> ScenarioStep | None:
        """One step; what is wrong with it is reported."""
        mapping = self._shape.mapping(node, "a step", "a mapping: a send, `advance`, `start` or `expect`")
        if mapping is None:
            return None
        keys = [key.text for key, _ in mapping]
        for known, reader in self._readers.items():
            if known in keys:
                return reader(node)
        first = next(iter(keys), "")
        self._names.reporter.error(
            "unknown-key",
            mapping.span,
            "this is no step" + (f": it has the key `{first}`" if first else ""),
            expected="`from` and `send`, `start`, `advance`, `child`, `bind`, `cancel` or `expect`",
            hint=did_you_mean(first, self._readers),
        )
        return None

    def _send(self, node: Node) -> SendStep | None:
        fields = self._shape.fields(node, "a send", _SEND_KEYS, required=("from", "send"), empty=("payload",))
        if fields is None:
            return None
        sender = self._shape.text(fields.get("from"), "`from`")
        kind = self._names.message(fields.get("send"))
        payload = fields.get("payload")
        to = fields.get("to")
        user = self._shape.text(fields.get("user"), "`user`")
        place = fields.get("role")
        role = None if place is None else self._names.role(place)
        made_id = self._shape.text(fields.get("id"), "`id`")
        narrowed = None if to is None else self._names.agents(to, "`to`")
        if sender is None or kind is None:
            return None
        content: Json = {} if payload is None else payload.json
        return SendStep(node.span, sender, kind, content, made_id, narrowed, user, role)

    def _start(self, node: Node) -> StartStep | None:
        inner = self._only(node, "a start step", "start")
        if inner is None:
            return None
        fields = self._shape.fields(
            inner, "`start`", ("message", "inputs", "roles"), empty=("roles", "inputs")
        )
        if fields is None:
            return None
        message = fields.get("message")
        place = fields.get("inputs")
        # What is wrong with the values is for the engine to say: that a start is refused may be what is tested.
        inputs = (
            None if place is None else self._shape.mapping(place, "`inputs`", "a mapping of names to values")
        )
        return StartStep(
            node.span,
            None if message is None else self._send(message),
            self._names.roles(fields.get("roles")),
            {} if inputs is None else {key.text: value.json for key, value in inputs},
        )

    def _advance(self, node: Node) -> AdvanceStep | None:
        value = self._only(node, "an `advance` step", "advance")
        text = self._shape.text(value, "`advance`")
        if value is None or text is None:
            return None
        reporter = self._names.reporter
        try:
            by = parse_duration(text)
        except ValueError as error:
            reporter.error("expression-value", value.span, str(error), expected="a duration such as PT30M")
            return None
        if by < 0:
            reporter.error(
                "bad-value", value.span, "time cannot go back", expected="a duration of at least PT0S"
            )
            return None
        return AdvanceStep(node.span, by)

    def _child(self, node: Node) -> ChildStep | ChildEventStep | None:
        fields = self._shape.fields(
            node, "a `child` step", _CHILD_KEYS, required=("child",), empty=("result", "payload")
        )
        if fields is None:
            return None
        name = self._names.known(fields.get("child"), "child", "unknown-name", self._children)
        if fields.has("event"):
            return self._child_event(node, fields, name)
        outcome = self._shape.choice(fields.get("outcome"), "`outcome`", _OUTCOMES)
        if not fields.has("outcome"):
            self._missing_outcome(node)
        if fields.has("payload"):
            self._excluded(fields, "payload", "a child's end has a `result`, an `event` has a payload")
        result = fields.get("result")
        error = self._shape.text(fields.get("error"), "`error`")
        if outcome == "failure" and fields.has("result"):
            self._excluded(fields, "result", "a failed child has no result, but an `error`")
        if outcome == "success" and fields.has("error"):
            self._excluded(fields, "error", "a child that succeeds has no error, but a `result`")
        if name is None or outcome is None:
            return None
        if outcome == "failure":
            return ChildStep(node.span, name, outcome, None, error or _FAILED)
        return ChildStep(node.span, name, outcome, None if result is None else result.json)

    def _child_event(self, node: Node, fields: Fields, name: str | None) -> ChildEventStep | None:
        place = fields.get("event")
        machine = self._names.machine
        if machine.events:
            known = (*machine.events, *BUILT_IN_EVENTS)
            event = self._names.known(place, "event", "unknown-event", known)
        else:
            event = self._shape.text(place, "`event`")
        for key in ("outcome", "result", "error"):
            if fields.has(key):
                self._excluded(fields, key, f"a child's `event` is not its end, so it has no `{key}`")
        payload = fields.get("payload")
        if name is None or event is None:
            return None
        return ChildEventStep(node.span, name, event, None if payload is None else payload.json)

    def _bind(self, node: Node) -> BindStep | None:
        inner = self._only(node, "a `bind` step", "bind")
        if inner is None:
            return None
        fields = self._shape.fields(inner, "`bind`", ("role", "agents"), required=("role", "agents"))
        if fields is None:
            return None
        role = self._names.role(fields.get("role"))
        place = fields.get("agents")
        agents = () if place is None else self._names.agents(place, "`agents`")
        return None if role is None else BindStep(node.span, role, agents)

    def _cancel(self, node: Node) -> CancelStep | None:
        reason = self._shape.text(self._only(node, "a `cancel` step", "cancel"), "`cancel`")
        return None if reason is None else CancelStep(node.span, reason)

    # -- small parts --------------------------------------------------------------------------------------------------

    def _only(self, node: Node, what: str, key: str) -> Node | None:
        """The value of a step's one key."""
        fields = self._shape.fields(node, what, (key,), required=(key,))
        return None if fields is None else fields.get(key)

    def _missing_outcome(self, node: Node) -> None:
        self._names.reporter.error(
            "missing-key",
            node.span,
            "a `child` step needs `outcome`",
            expected="`outcome: success`, `outcome: failure`, or `event: …`",
        )

    def _excluded(self, fields: Fields, key: str, reason: str) -> None:
        place = fields.key(key)
        if place is not None:
            self._names.reporter.error("bad-combination", place.span, reason, expected=f"no `{key}`")
