"""Parses what follows when a timer or a debt falls due or a constraint is violated: an event, a state, a failure."""

from __future__ import annotations

from strabo_runtime.language.action_syntax import FailSyntax, GoToSyntax, RaiseSyntax
from strabo_runtime.language.definition import TimerDefinition, TimerEffectSyntax
from strabo_runtime.language.nodes import Node
from strabo_runtime.language.shape import Fields, Shape


class EffectParser:
    """Reads effects; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._reporter = shape.reporter

    def raise_(self, fields: Fields) -> RaiseSyntax | None:
        """`event` and, where its mapping may have one, `payload`."""
        event = self._shape.reference(fields.get("event"), "`event`")
        return None if event is None else RaiseSyntax(event, fields.get("payload"), event.span)

    def raised(self, node: Node, what: str) -> RaiseSyntax | None:
        """`{event: X, payload: {…}}`."""
        fields = self._shape.fields(node, what, ("event", "payload"), required=("event",), empty=("payload",))
        return None if fields is None else self.raise_(fields)

    def go_to(self, fields: Fields) -> GoToSyntax | None:
        """`to: State`."""
        state = self._shape.reference(fields.get("to"), "`to`")
        return None if state is None else GoToSyntax(state)

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
            return self.go_to(fields)
        reason = fields.get("fail")
        return None if self._shape.text(reason, "`fail`") is None else FailSyntax(reason)

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
