"""Parses states, transitions and constraints."""

from __future__ import annotations

from typing import Final

from strabo_runtime.engine.machine import FinalOutcome, Phase
from strabo_runtime.expressions.suggestion import nearest
from strabo_runtime.language.action_syntax import (
    FailSyntax,
    RaiseSyntax,
    RejectSyntax,
    ReplaceSilentSyntax,
    SkipSyntax,
    WarnSyntax,
)
from strabo_runtime.language.definition import (
    ChildTriggerSyntax,
    ConstraintDefinition,
    DebtEffectSyntax,
    EventTriggerSyntax,
    ExpectationDefinition,
    MessageTriggerSyntax,
    ReminderDefinition,
    StateDefinition,
    TransitionDefinition,
    TriggerSyntax,
    ViolationSyntax,
)
from strabo_runtime.language.nodes import MappingNode, Name, Node, ScalarNode
from strabo_runtime.language.parse_actions import ActionParser
from strabo_runtime.language.parse_effects import EffectParser
from strabo_runtime.language.shape import LABEL, Fields, Shape

_FINAL: tuple[FinalOutcome, ...] = ("success", "failure")
_KINDS: Final = {"message": "a message", "event": "an event", "child": "a child's end"}
_PHASES: tuple[Phase, ...] = ("before", "after", "always")
ANY_STATE: Final = "*"


class BehaviourParser:
    """Reads what an instance does; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._reporter = shape.reporter
        self.effects = EffectParser(shape)
        self._actions = ActionParser(shape, self.effects)

    # -- states -------------------------------------------------------------------------------------------------

    def states(self, node: Node | None) -> tuple[StateDefinition, ...]:
        """`states`."""
        seen: dict[str, Name] = {}
        states: list[StateDefinition] = []
        for item in self._shape.items(node, "`states`", empty=False):
            state = self._state(item)
            if state is not None and self._shape.unique(state.name, seen, "state"):
                states.append(state)
        return tuple(states)

    def _state(self, node: Node) -> StateDefinition | None:
        if not isinstance(node, MappingNode):
            name = self._shape.name(node, "the name of a state", LABEL)
            return None if name is None else StateDefinition(name, "", None, None, (), (), ())
        fields = self._shape.fields(
            node,
            "a state",
            ("name", "description", "final", "timeout", "expects", "on_entry", "on_exit"),
            required=("name",),
            empty=("expects", "on_entry", "on_exit"),
        )
        if fields is None:
            return None
        # What has no name is read all the same, so that its other errors are told in one go.
        name = self._shape.name(fields.get("name"), "the name of a state", LABEL)
        final = self._shape.choice(fields.get("final"), "`final`", _FINAL)
        if fields.get("final") is not None:
            for key in ("timeout", "expects", "on_exit"):
                place = fields.key(key)
                if place is not None:
                    self._reporter.error(
                        "final-state",
                        place.span,
                        f"the final state{'' if name is None else f' `{name.text}`'} has `{key}`, and nothing"
                        " happens after it",
                        expected="no `timeout`, `expects` or `on_exit` in a final state",
                    )
        expectations = (
            self._expectation(item) for item in self._shape.items(fields.get("expects"), "`expects`")
        )
        state = StateDefinition(
            name or Name("", fields.node.span),
            self._shape.text(fields.get("description"), "`description`") or "",
            final,
            self.effects.timer(fields.get("timeout"), "`timeout`"),
            tuple(expectation for expectation in expectations if expectation is not None),
            self._actions.actions(fields.get("on_entry"), "`on_entry`"),
            self._actions.actions(fields.get("on_exit"), "`on_exit`"),
        )
        return None if name is None else state

    def _expectation(self, node: Node) -> ExpectationDefinition | None:
        fields = self._shape.fields(
            node,
            "an entry of `expects`",
            ("message", "from", "within", "remind", "on_timeout"),
            required=("message", "from"),
        )
        if fields is None:
            return None
        messages = self._shape.references(fields.get("message"), "`message`")
        sender = fields.get("from")
        text = self._shape.text(sender, "`from`")
        on_timeout = self._debt_effect(fields)
        reminder = self._reminder(fields)
        if sender is None or text is None or not messages:
            return None
        listed = text.lstrip().startswith("$")
        return ExpectationDefinition(
            messages,
            None if listed else Name(text, sender.span),
            sender if listed else None,
            fields.get("within"),
            reminder,
            on_timeout,
            fields.node.span,
        )

    def _reminder(self, fields: Fields) -> ReminderDefinition | None:
        node = fields.get("remind")
        if node is None:
            return None
        inner = self._shape.fields(node, "`remind`", ("every", "times"), required=("every", "times"))
        if inner is None:
            return None
        every, times = inner.get("every"), self._shape.integer(inner.get("times"), "`times`", 1)
        return None if every is None else ReminderDefinition(every, times or 1)

    def _debt_effect(self, fields: Fields) -> DebtEffectSyntax | None:
        node = fields.get("on_timeout")
        if node is None:
            return None
        if fields.get("within") is None:
            key = fields.key("on_timeout")
            self._reporter.error(
                "bad-combination",
                node.span if key is None else key.span,
                "`on_timeout` without `within`: the debt never lapses",
                expected="`within: …` beside it",
            )
        if not isinstance(node, MappingNode):
            match self._shape.choice(node, "`on_timeout`", ("skip", "replace")):
                case "skip":
                    return SkipSyntax()
                case "replace":
                    return ReplaceSilentSyntax()
                case _:
                    return None
        inner = self._shape.fields(node, "`on_timeout`", ("event", "to"))
        kind = None if inner is None else self.effects.exactly_one(inner, ("event", "to"))
        if inner is None or kind is None:
            return None
        if kind == "event":
            event = self._shape.reference(inner.get("event"), "`event`")
            return None if event is None else RaiseSyntax(event, None, event.span)
        return self.effects.go_to(inner)

    # -- transitions --------------------------------------------------------------------------------------------

    def transitions(self, node: Node | None) -> tuple[TransitionDefinition, ...]:
        """`transitions`."""
        found = (
            self._transition(item, index)
            for index, item in enumerate(self._shape.items(node, "`transitions`"))
        )
        return tuple(transition for transition in found if transition is not None)

    def _transition(self, node: Node, index: int) -> TransitionDefinition | None:
        fields = self._shape.fields(
            node,
            "a transition",
            ("from", "to", "trigger", "condition", "actions", "compensation", "reenter", "description"),
            required=("from",),
            empty=("actions", "compensation"),
        )
        if fields is None:
            return None
        sources = self._sources(fields.get("from"))
        trigger = fields.get("trigger")
        written = () if trigger is None else self._shape.one_or_many(trigger, "`trigger`")
        triggers = tuple(found for item in written if (found := self._trigger(item)) is not None)
        return TransitionDefinition(
            index,
            sources or (),
            self._shape.reference(fields.get("to"), "`to`"),
            triggers,
            len(triggers) == len(written)
            and (bool(triggers) if trigger is not None else not _misspelt(fields)),
            self._shape.scalar(fields.get("condition"), "`condition`", "an expression"),
            self._actions.actions(fields.get("actions"), "`actions`"),
            self._shape.boolean(fields.get("reenter"), "`reenter`") or False,
            self._actions.actions(fields.get("compensation"), "`compensation`"),
            self._shape.text(fields.get("description"), "`description`") or "",
            fields.node.span,
        )

    def _sources(self, node: Node | None) -> tuple[Name, ...] | None:
        if node is None:
            return None
        names = self._shape.references(node, "`from`")
        if len(names) == 1 and names[0].text == ANY_STATE:
            return ()
        for name in names:
            if name.text == ANY_STATE:
                self._reporter.error(
                    "bad-combination",
                    name.span,
                    '`"*"` covers every state',
                    expected='`"*"` alone, or named states',
                )
        return tuple(name for name in names if name.text != ANY_STATE)

    def _trigger(self, node: Node) -> TriggerSyntax | None:
        fields = self._shape.fields(node, "a trigger", ("message", "from", "event", "child", "outcome"))
        kind = None if fields is None else self.effects.exactly_one(fields, tuple(_KINDS))
        if fields is None or kind is None:
            return None
        for holder, companion in (("message", "from"), ("child", "outcome")):
            place = fields.key(companion)
            if place is not None and holder != kind and fields.get(holder) is None:
                self._reporter.error(
                    "bad-combination",
                    place.span,
                    f"`{companion}` belongs to a {holder}, and this trigger is {_KINDS[kind]}",
                    expected=f"`{companion}` beside `{holder}` only",
                )
        name = self._shape.reference(fields.get(kind), f"`{kind}`")
        role = self._shape.reference(fields.get("from"), "`from`")
        outcome = self._shape.choice(fields.get("outcome"), "`outcome`", _FINAL)
        if name is None:
            return None
        match kind:
            case "message":
                return MessageTriggerSyntax(name, role, name.span)
            case "child":
                return ChildTriggerSyntax(name, outcome, name.span)
            case _:
                return EventTriggerSyntax(name, name.span)

    # -- constraints --------------------------------------------------------------------------------------------

    def constraints(self, node: Node | None) -> tuple[ConstraintDefinition, ...]:
        """`constraints`."""
        seen: dict[str, Name] = {}
        constraints: list[ConstraintDefinition] = []
        for item in self._shape.items(node, "`constraints`"):
            constraint = self._constraint(item, seen)
            if constraint is not None:
                constraints.append(constraint)
        return tuple(constraints)

    def _constraint(self, node: Node, seen: dict[str, Name]) -> ConstraintDefinition | None:
        fields = self._shape.fields(
            node,
            "a constraint",
            ("name", "description", "expression", "enforced_on", "phase", "on_violation"),
            required=("name", "expression"),
        )
        if fields is None:
            return None
        name = self._shape.name(fields.get("name"), "the name of a constraint", LABEL)
        if name is not None:
            self._shape.unique(name, seen, "constraint")
        description = fields.get("description")
        self._shape.text(description, "`description`")
        expression = self._shape.scalar(fields.get("expression"), "`expression`", "an expression")
        messages = self._shape.references(fields.get("enforced_on"), "`enforced_on`")
        phase = self._shape.choice(fields.get("phase"), "`phase`", _PHASES) or "before"
        on_violation = self._violation(fields.get("on_violation"), phase)
        if expression is None:
            return None
        return ConstraintDefinition(
            name or Name("", fields.node.span),
            description if isinstance(description, ScalarNode) else None,
            expression,
            messages,
            phase,
            on_violation or RejectSyntax(),
        )

    def _violation(self, node: Node | None, phase: Phase) -> ViolationSyntax | None:
        if node is None:
            return None
        if not isinstance(node, MappingNode):
            match self._shape.choice(node, "`on_violation`", ("reject", "warn", "fail")):
                case "warn":
                    return WarnSyntax()
                case "fail":
                    return FailSyntax(None)
                case _:
                    return None
        fields = self._shape.fields(
            node, "`on_violation`", ("event", "payload", "send", "fail"), empty=("payload",)
        )
        kind = None if fields is None else self.effects.exactly_one(fields, ("event", "send", "fail"))
        if fields is None or kind is None:
            return None
        payload = fields.key("payload")
        if payload is not None and fields.get("event") is None:
            self._reporter.error(
                "bad-combination",
                payload.span,
                "`payload` belongs to `event`",
                expected="`event: …` beside it",
            )
        if kind == "event":
            key = fields.key("event")
            if phase == "always" and key is not None:
                self._reporter.error(
                    "bad-combination",
                    key.span,
                    "a constraint of the phase `always` raises no event, for its step has settled",
                    expected="`reject`, `warn`, `fail` or `send`; or the phase `after`",
                )
            return self.effects.raise_(fields)
        send = fields.get("send")
        if kind == "send" and send is not None:
            return self._actions.send(send)
        reason = fields.get("fail")
        return None if self._shape.text(reason, "`fail`") is None else FailSyntax(reason)


def _misspelt(fields: Fields) -> bool:
    """Whether a key that means nothing was meant to be `trigger`: that is reported once, not at every expression."""
    odd = (key.text for key, _ in fields.node if key.text not in fields.values)
    return any(nearest(name, ("trigger",)) is not None for name in odd)
