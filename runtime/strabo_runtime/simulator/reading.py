"""Reads scenario files against the protocol that they test, reporting every error with its position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.rejection import RefusedBy
from strabo_runtime.expressions import parse_duration
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import Json
from strabo_runtime.language.diagnostics import Reporter, Span, one_of
from strabo_runtime.language.nodes import Node, SequenceNode
from strabo_runtime.language.shape import Shape
from strabo_runtime.language.source import read
from strabo_runtime.simulator.scenario import (
    AdvanceStep,
    ExpectStep,
    Refusal,
    Scenario,
    Scenarios,
    ScenarioStep,
    SendStep,
    StartStep,
    Wanted,
)

_STATUSES: Final = ("running", "success", "failure")
_REFUSED_BY: Final[tuple[RefusedBy, ...]] = get_args(RefusedBy)
_SEND_KEYS: Final = ("from", "send", "payload", "id", "to", "user", "role")
_EXPECT_KEYS: Final = (
    "state",
    "status",
    "variables",
    "result",
    "pending",
    "timers",
    "incidents",
    "received",
    "rejected",
)
_LATER: Final = {
    "child": "child protocols do not run in this version",
    "bind": "agents are bound at the start alone in this version",
    "cancel": "commands of operators come with a later version",
}


def read_scenarios(source: str, machine: Machine, *, filename: str) -> Scenarios:
    """The scenarios in a text. Never raises for bad text."""
    reporter = Reporter()
    root = read(source, filename=filename, reporter=reporter)
    scenarios = () if root is None else _Reader(reporter, machine).file(root)
    return Scenarios(() if reporter.failed else scenarios, reporter.diagnostics, source)


class _Reader:
    def __init__(self, reporter: Reporter, machine: Machine) -> None:
        self._reporter = reporter
        self._shape = Shape(reporter)
        self._machine = machine

    def file(self, root: Node) -> tuple[Scenario, ...]:
        fields = self._shape.fields(
            root,
            "a scenario file",
            ("protocol", "description", "roles", "scenarios"),
            required=("protocol", "scenarios"),
            empty=("roles",),
        )
        if fields is None:
            return ()
        protocol = fields.get("protocol")
        name = self._shape.text(protocol, "`protocol`")
        if protocol is not None and name is not None and name != self._machine.name:
            self._reporter.error(
                "bad-value",
                protocol.span,
                f"the protocol beside this file is not `{name}`",
                expected=self._machine.name,
            )
        roles = self._roles(fields.get("roles"))
        scenarios: list[Scenario] = []
        seen: dict[str, Node] = {}
        for node in self._shape.items(fields.get("scenarios"), "`scenarios`", empty=False):
            scenario = self._scenario(node, roles)
            if scenario is None:
                continue
            first = seen.setdefault(scenario.name, node)
            if first is not node:
                self._reporter.error(
                    "duplicate-name",
                    scenario.span,
                    f"`{scenario.name}` stands here a second time; the first is in line {first.span.line}",
                    expected="each name once",
                )
            scenarios.append(scenario)
        return tuple(scenarios)

    def _scenario(self, node: Node, roles: Mapping[str, Agents]) -> Scenario | None:
        fields = self._shape.fields(
            node,
            "a scenario",
            ("name", "description", "roles", "steps"),
            required=("name", "steps"),
            empty=("roles",),
        )
        if fields is None:
            return None
        name = self._shape.text(fields.get("name"), "the scenario's name")
        own = self._roles(fields.get("roles"))
        steps = [self._step(item) for item in self._shape.items(fields.get("steps"), "`steps`", empty=False)]
        return Scenario(
            name or "", node.span, {**roles, **own}, tuple(found for found in steps if found is not None)
        )

    # -- steps --------------------------------------------------------------------------------------------------------

    def _step(self, node: Node) -> ScenarioStep | None:
        mapping = self._shape.mapping(node, "a step", "a mapping: a send, `advance`, `start` or `expect`")
        if mapping is None:
            return None
        keys = {key.text for key, _ in mapping}
        for key, _ in mapping:
            if key.text in _LATER:
                self._reporter.error(
                    "not-supported-yet",
                    key.span,
                    f"the step `{key.text}` is not supported yet: {_LATER[key.text]}",
                )
                return None
        if "send" in keys or "from" in keys:
            return self._send(node)
        if "advance" in keys:
            return self._advance(node)
        if "expect" in keys:
            return self._expect(node)
        if "start" in keys:
            return self._start(node)
        known = ("from", "send", "advance", "expect", "start")
        first = next(iter(keys), "")
        self._reporter.error(
            "unknown-key",
            mapping.span,
            "this is no step" + (f": it has the key `{first}`" if first else ""),
            expected="`from` and `send`, `advance`, `expect` or `start`",
            hint=did_you_mean(first, known),
        )
        return None

    def _send(self, node: Node) -> SendStep | None:
        fields = self._shape.fields(node, "a send", _SEND_KEYS, required=("from", "send"), empty=("payload",))
        if fields is None:
            return None
        sender = self._shape.text(fields.get("from"), "`from`")
        kind = self._shape.text(fields.get("send"), "`send`")
        send = fields.get("send")
        if kind is not None and send is not None and kind not in self._machine.messages:
            self._unknown("unknown-message", send, "message type", kind, self._machine.messages)
        payload = fields.get("payload")
        to = fields.get("to")
        if sender is None or kind is None:
            return None
        return SendStep(
            node.span,
            sender,
            kind,
            {} if payload is None else payload.json,
            self._shape.text(fields.get("id"), "`id`"),
            None if to is None else self._agents(to, "`to`"),
            self._shape.text(fields.get("user"), "`user`"),
            self._shape.text(fields.get("role"), "`role`"),
        )

    def _start(self, node: Node) -> StartStep | None:
        outer = self._shape.fields(node, "a start step", ("start",), required=("start",))
        inner = None if outer is None else outer.get("start")
        if inner is None:
            return None
        fields = self._shape.fields(
            inner,
            "`start`",
            ("message", "roles"),
            empty=("roles",),
            unsupported={"inputs": "inputs are passed in a later version"},
        )
        if fields is None:
            return None
        message = fields.get("message")
        return StartStep(
            node.span, None if message is None else self._send(message), self._roles(fields.get("roles"))
        )

    def _advance(self, node: Node) -> AdvanceStep | None:
        fields = self._shape.fields(node, "an `advance` step", ("advance",), required=("advance",))
        value = None if fields is None else fields.get("advance")
        text = self._shape.text(value, "`advance`")
        if value is None or text is None:
            return None
        try:
            by = parse_duration(text)
        except ValueError as error:
            self._reporter.error(
                "expression-value", value.span, str(error), expected="a duration such as PT30M"
            )
            return None
        if by < 0:
            self._reporter.error(
                "bad-value", value.span, "time cannot go back", expected="a duration of at least PT0S"
            )
            return None
        return AdvanceStep(node.span, by)

    def _expect(self, node: Node) -> ExpectStep | None:
        outer = self._shape.fields(node, "an `expect` step", ("expect",), required=("expect",))
        inner = None if outer is None else outer.get("expect")
        if inner is None:
            return None
        fields = self._shape.fields(inner, "`expect`", _EXPECT_KEYS)
        if fields is None:
            return None
        state = fields.get("state")
        if state is not None:
            text = self._shape.text(state, "`state`")
            if text is not None and text not in self._machine.states:
                self._unknown("unknown-state", state, "state", text, self._machine.states)
        status = fields.get("status")
        if status is not None:
            self._shape.choice(status, "`status`", _STATUSES)
        incidents = fields.get("incidents")
        self._shape.integer(incidents, "`incidents`", 0)
        timers = fields.get("timers")
        return ExpectStep(
            node.span,
            None if state is None else Wanted(state.span, state.json),
            None if status is None else Wanted(status.span, status.json),
            self._paths(fields.get("variables"), "variable", self._machine.variables),
            self._paths(fields.get("result"), "result", self._machine.result),
            self._pending(fields.get("pending")),
            None if timers is None else Wanted(timers.span, list(self._agents(timers, "`timers`"))),
            None if incidents is None else Wanted(incidents.span, incidents.json),
            self._received(fields.get("received")),
            self._rejected(fields.get("rejected")),
        )

    def _paths(self, node: Node | None, what: str, known: Iterable[str]) -> dict[str, Wanted] | None:
        if node is None:
            return None
        mapping = self._shape.mapping(node, f"`{what}`", "a mapping of paths to values")
        if mapping is None:
            return None
        found: dict[str, Wanted] = {}
        for key, value in mapping:
            root = key.text.partition(".")[0].partition("[")[0]
            if root not in known:
                self._unknown(
                    "unknown-variable" if what == "variable" else "unknown-name", key, what, root, known
                )
            found[key.text] = Wanted(key.span, value.json)
        return found

    def _pending(self, node: Node | None) -> dict[str, Wanted] | None:
        if node is None:
            return None
        return {
            role: Wanted(node.span, list(agents))
            for role, agents in self._roles(node, allow_empty=True).items()
        }

    def _received(self, node: Node | None) -> dict[str, Wanted] | None:
        if node is None:
            return None
        mapping = self._shape.mapping(node, "`received`", "a mapping of agents to lists of message types")
        if mapping is None:
            return None
        found: dict[str, Wanted] = {}
        for key, value in mapping:
            kinds: list[Json] = []
            for item in self._shape.items(value, f"what {key.text} received"):
                kind = self._shape.text(item, "a message type")
                if kind is not None and kind not in self._machine.messages:
                    self._unknown("unknown-message", item, "message type", kind, self._machine.messages)
                kinds.append(kind)
            found[key.text] = Wanted(key.span, kinds)
        return found

    def _rejected(self, node: Node | None) -> tuple[Span, tuple[Refusal, ...]] | None:
        if node is None:
            return None
        refusals = [self._refusal(item) for item in self._shape.items(node, "`rejected`")]
        return node.span, tuple(refusal for refusal in refusals if refusal is not None)

    def _refusal(self, node: Node) -> Refusal | None:
        fields = self._shape.fields(
            node, "a refusal", ("from", "message", "by", "constraint"), required=("from", "message", "by")
        )
        if fields is None:
            return None
        sender = self._shape.text(fields.get("from"), "`from`")
        kind = self._shape.text(fields.get("message"), "`message`")
        by = self._shape.choice(fields.get("by"), "`by`", _REFUSED_BY)
        place = fields.get("constraint")
        constraint = self._shape.text(place, "`constraint`")
        names = [known.name for known in self._machine.constraints]
        if place is not None and constraint is not None:
            if constraint not in names:
                self._unknown("unknown-name", place, "constraint", constraint, names)
            elif by is not None and by != "constraint":
                self._reporter.error(
                    "bad-combination",
                    place.span,
                    f"a refusal by `{by}` names no constraint",
                    expected="by: constraint",
                )
        if sender is None or kind is None or by is None:
            return None
        return Refusal(sender, kind, by, constraint)

    # -- small parts --------------------------------------------------------------------------------------------------

    def _roles(self, node: Node | None, *, allow_empty: bool = False) -> dict[str, Agents]:
        if node is None:
            return {}
        mapping = self._shape.mapping(node, "`roles`", "a mapping of roles to agent ids")
        roles: dict[str, Agents] = {}
        for key, value in mapping or ():
            role = self._machine.roles.get(key.text)
            if role is None:
                self._unknown("unknown-role", key, "role", key.text, self._machine.roles)
            elif role.played_by == "engine":
                self._reporter.error("bad-value", key.span, f"the role `{key.text}` is played by the engine")
            agents = self._agents(value, f"the agents of `{key.text}`")
            if not agents and not allow_empty:
                self._reporter.error(
                    "bad-value", value.span, f"`{key.text}` names nobody", expected="agent ids"
                )
            roles[key.text] = agents
        return roles

    def _agents(self, node: Node, what: str) -> Agents:
        items = node.items if isinstance(node, SequenceNode) else (node,)
        texts = (self._shape.text(item, what) for item in items)
        return tuple(text for text in texts if text is not None)

    def _unknown(self, code: str, node: Node, what: str, name: str, known: Iterable[str]) -> None:
        self._reporter.error(
            code,
            node.span,
            f"{self._machine.name} has no {what} `{name}`",
            expected=one_of(known),
            hint=did_you_mean(name, known),
        )
