"""Compiles timers, expectations and constraints into the engine's values."""

from __future__ import annotations

from strabo_runtime.engine.machine import (
    Constraint,
    DebtEffect,
    Expectation,
    FailInstance,
    GoTo,
    RaiseEvent,
    Reject,
    Reminder,
    ReplaceSilent,
    Send,
    Skip,
    TimerSpec,
    Warn,
)
from strabo_runtime.expressions import Context, parse_duration
from strabo_runtime.expressions.types import BOOLEAN, DURATION, STRING, TIMESTAMP, ListOf
from strabo_runtime.language.action_syntax import (
    FailSyntax,
    GoToSyntax,
    RaiseSyntax,
    ReplaceSilentSyntax,
    SendSyntax,
    SkipSyntax,
    WarnSyntax,
)
from strabo_runtime.language.compile_actions import ActionCompiler
from strabo_runtime.language.definition import (
    ConstraintDefinition,
    ExpectationDefinition,
    ProtocolDefinition,
    TimerDefinition,
)
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.references import owing_roles
from strabo_runtime.language.values import Values

_NOTHING = Context()


class BehaviourCompiler:
    """Compiles what an instance waits for and keeps to. Where something has errors, it is reported and left out."""

    def __init__(
        self, definition: ProtocolDefinition, values: Values, actions: ActionCompiler, reporter: Reporter
    ) -> None:
        self._definition = definition
        self._values = values
        self._actions = actions
        self._reporter = reporter
        self._messages = {message.name.text for message in definition.messages}

    # -- timers and debts ---------------------------------------------------------------------------------------

    def timer(self, timer: TimerDefinition | None) -> TimerSpec | None:
        """A `timeout` or the `deadline`."""
        if timer is None:
            return None
        after = self._values.template(timer.after, _NOTHING, DURATION)
        at = self._values.template(timer.at, _NOTHING, TIMESTAMP)
        match timer.effect:
            case GoToSyntax(state):
                return TimerSpec(GoTo(state.text), after, at)
            case FailSyntax(reason):
                text = self._values.template(reason, _NOTHING)
                return None if text is None else TimerSpec(FailInstance(text), after, at)
            case RaiseSyntax():
                return TimerSpec(self._actions.raised(timer.effect, _NOTHING), after, at)

    def expectation(self, expectation: ExpectationDefinition) -> Expectation | None:
        """An entry of `expects`."""
        listed = owing_roles(self._definition, expectation)
        role = expectation.role.text if expectation.role is not None else listed[0] if listed else None
        effect: DebtEffect | None = None
        match expectation.on_timeout:
            case SkipSyntax():
                effect = Skip()
            case ReplaceSilentSyntax():
                effect = ReplaceSilent()
            case GoToSyntax(state):
                effect = GoTo(state.text)
            case RaiseSyntax():
                effect = self._actions.raised(expectation.on_timeout, _NOTHING)
            case None:
                pass
        agents = self._values.template(expectation.agents, _NOTHING, ListOf(STRING))
        within = self._values.template(expectation.within, _NOTHING, DURATION)
        reminder = None
        if expectation.remind is not None:
            every = self._values.template(expectation.remind.every, _NOTHING, DURATION)
            if every is not None and every.constant and parse_duration(str(every.source)) <= 0:
                self._reporter.error(
                    "expression-value",
                    expectation.remind.every.span,
                    "a reminder needs time before it",
                    expected="a duration longer than nothing, such as PT10M",
                )
            reminder = None if every is None else Reminder(every, expectation.remind.times)
        if role is None:
            return None
        return Expectation(
            tuple(name.text for name in expectation.messages), role, agents, within, reminder, effect
        )

    # -- constraints --------------------------------------------------------------------------------------------

    def constraint(self, constraint: ConstraintDefinition) -> Constraint | None:
        """A rule."""
        known = all(name.text in self._messages for name in constraint.messages)
        context = Context(message_types=tuple(name.text for name in constraint.messages)) if known else None
        description = self._values.template(constraint.description, context)
        expression = self._values.expression(constraint.expression, context, BOOLEAN)
        on_violation: Reject | Warn | FailInstance | RaiseEvent | Send | None = Reject()
        match constraint.on_violation:
            case WarnSyntax():
                on_violation = Warn()
            case FailSyntax(None):
                reason = description or self._values.constant(
                    f"the constraint {constraint.name.text} does not hold"
                )
                on_violation = FailInstance(reason)
            case FailSyntax(reason):
                text = self._values.template(reason, context)
                on_violation = None if text is None else FailInstance(text)
            case RaiseSyntax():
                on_violation = self._actions.raised(constraint.on_violation, context)
            case SendSyntax():
                on_violation = self._actions.send(constraint.on_violation, context)
            case _:
                pass
        if expression is None or on_violation is None:
            return None
        return Constraint(
            constraint.name.text,
            description,
            expression,
            tuple(name.text for name in constraint.messages),
            constraint.phase,
            on_violation,
        )
