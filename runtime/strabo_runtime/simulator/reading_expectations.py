"""Reads what a scenario expects: the keys of an `expect` step."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, get_args

from strabo_runtime.engine.rejection import RefusedBy
from strabo_runtime.expressions.types import Json
from strabo_runtime.language.diagnostics import Span
from strabo_runtime.language.nodes import Node, SequenceNode
from strabo_runtime.simulator.parts import timer_names
from strabo_runtime.simulator.reading_names import NameReader
from strabo_runtime.simulator.scenario import START_WITHOUT_MESSAGE, ExpectStep, Refusal, Wanted

_STATUSES: Final = ("running", "success", "failure")
_REFUSED_BY: Final[tuple[RefusedBy, ...]] = get_args(RefusedBy)
_KEYS: Final = (
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


class ExpectationReader:
    """Reads `expect` steps."""

    def __init__(self, names: NameReader) -> None:
        self._names = names
        self._shape = names.shape
        machine = names.machine
        self._variables = (*machine.variables, *machine.inputs)
        self._timers = timer_names(machine)
        self._constraints = tuple(constraint.name for constraint in machine.constraints)

    def read(self, node: Node) -> ExpectStep | None:
        """One step; what is wrong with it is reported."""
        outer = self._shape.fields(node, "an `expect` step", ("expect",), required=("expect",))
        inner = None if outer is None else outer.get("expect")
        if inner is None:
            return None
        fields = self._shape.fields(inner, "`expect`", _KEYS)
        if fields is None:
            return None
        state = fields.get("state")
        if state is not None:
            self._names.known(state, "state", "unknown-state", self._names.machine.states)
        status = fields.get("status")
        if status is not None:
            self._shape.choice(status, "`status`", _STATUSES)
        incidents = fields.get("incidents")
        self._shape.integer(incidents, "`incidents`", 0)
        return ExpectStep(
            node.span,
            _wanted(state),
            _wanted(status),
            self._paths(fields.get("variables"), "variables", "variable or input", self._variables),
            self._paths(fields.get("result"), "result", "result", self._names.machine.result),
            self._pending(fields.get("pending")),
            self._timer_names(fields.get("timers")),
            _wanted(incidents),
            self._received(fields.get("received")),
            self._rejected(fields.get("rejected")),
        )

    def _paths(
        self, node: Node | None, key: str, what: str, known: Collection[str]
    ) -> dict[str, Wanted] | None:
        if node is None:
            return None
        mapping = self._shape.mapping(node, f"`{key}`", "a mapping of paths to values")
        if mapping is None:
            return None
        found: dict[str, Wanted] = {}
        for place, value in mapping:
            root = place.text.partition(".")[0].partition("[")[0]
            if root not in known:
                code = "unknown-variable" if key == "variables" else "unknown-name"
                self._names.unknown(code, place, what, root, known)
            found[place.text] = Wanted(place.span, value.json)
        return found

    def _pending(self, node: Node | None) -> dict[str, Wanted] | None:
        if node is None:
            return None
        roles = self._names.roles(node)
        return {role: Wanted(node.span, list(agents)) for role, agents in roles.items()}

    def _timer_names(self, node: Node | None) -> Wanted | None:
        if node is None:
            return None
        items = node.items if isinstance(node, SequenceNode) else (node,)
        names = [self._names.known(item, "timer", "unknown-timer", self._timers) for item in items]
        return Wanted(node.span, [name for name in names if name is not None])

    def _received(self, node: Node | None) -> dict[str, Wanted] | None:
        if node is None:
            return None
        mapping = self._shape.mapping(node, "`received`", "a mapping of agents to lists of message types")
        if mapping is None:
            return None
        found: dict[str, Wanted] = {}
        for key, value in mapping:
            items = self._shape.items(value, f"what {key.text} received")
            kinds: list[Json] = [self._names.message(item) for item in items]
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
        known = (*self._names.machine.messages, START_WITHOUT_MESSAGE)
        kind = self._names.known(fields.get("message"), "message type", "unknown-message", known)
        by = self._shape.choice(fields.get("by"), "`by`", _REFUSED_BY)
        place = fields.get("constraint")
        constraint = self._names.known(place, "constraint", "unknown-name", self._constraints)
        if place is not None and by is not None and by != "constraint" and constraint in self._constraints:
            self._names.reporter.error(
                "bad-combination",
                place.span,
                f"a refusal by `{by}` names no constraint",
                expected="by: constraint",
            )
        if sender is None or kind is None or by is None:
            return None
        return Refusal(sender, kind, by, constraint)


def _wanted(node: Node | None) -> Wanted | None:
    return None if node is None else Wanted(node.span, node.json)
