"""Compiles timers, expectations, actions and constraints into the engine's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strabo_runtime.engine.machine import (
    BUILT_IN_EVENTS,
    Action,
    AppendToList,
    CancelTimer,
    Constraint,
    DebtEffect,
    Emit,
    Expectation,
    Fail,
    FailInstance,
    GoTo,
    Log,
    RaiseEvent,
    Recipients,
    Reject,
    Reminder,
    Send,
    SetVariable,
    Skip,
    StartTimer,
    TimerSpec,
    Warn,
)
from strabo_runtime.expressions import Context, Template, parse_duration
from strabo_runtime.expressions.resolution import is_optional, resolve
from strabo_runtime.expressions.types import (
    BOOLEAN,
    DURATION,
    STRING,
    TIMESTAMP,
    ListOf,
    NamedTypes,
    Record,
    Reference,
    Type,
)
from strabo_runtime.language.definition import (
    ActionSyntax,
    AppendSyntax,
    CancelTimerSyntax,
    ConstraintDefinition,
    ExpectationDefinition,
    FailSyntax,
    GoToSyntax,
    LogSyntax,
    ProtocolDefinition,
    RaiseSyntax,
    RecipientsSyntax,
    SendSyntax,
    SetVariableSyntax,
    SkipSyntax,
    StartTimerSyntax,
    TimerDefinition,
    WarnSyntax,
)
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.references import owing_roles
from strabo_runtime.language.values import Values

_NOTHING = Context()


class BehaviourCompiler:
    """Compiles what an instance does. Where something has errors, they are reported and it is left out."""

    def __init__(
        self,
        definition: ProtocolDefinition,
        values: Values,
        reporter: Reporter,
        *,
        types: NamedTypes,
        variables: Mapping[str, Type],
        events: Mapping[str, Type | None],
    ) -> None:
        self._definition = definition
        self._values = values
        self._reporter = reporter
        self._types = types
        self._variables = variables
        self._events = events
        self._addressed = {
            message.name.text: [addressee.role.text for addressee in message.to]
            for message in definition.messages
        }

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
                return TimerSpec(self._raised(timer.effect, _NOTHING), after, at)

    def expectation(self, expectation: ExpectationDefinition) -> Expectation | None:
        """An entry of `expects`."""
        listed = owing_roles(self._definition, expectation)
        role = expectation.role.text if expectation.role is not None else listed[0] if listed else None
        effect: DebtEffect | None = None
        match expectation.on_timeout:
            case SkipSyntax():
                effect = Skip()
            case GoToSyntax(state):
                effect = GoTo(state.text)
            case RaiseSyntax():
                effect = self._raised(expectation.on_timeout, _NOTHING)
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

    def _raised(self, raised: RaiseSyntax, context: Context | None) -> RaiseEvent:
        name = raised.event.text
        if name in BUILT_IN_EVENTS:
            return RaiseEvent(name)
        type_ = self._events.get(name)
        if name in self._events and type_ is None and raised.payload is not None:
            self._reporter.error(
                "unexpected-payload",
                raised.payload.span,
                f"the event `{name}` has no payload",
                expected="no `payload`, or the event's fields under `events`",
            )
            return RaiseEvent(name)
        if raised.payload is None and type_ is not None:
            required = self._required_fields(type_)
            if required:
                self._reporter.error(
                    "missing-field",
                    raised.span,
                    f"the event `{name}` needs a payload with {', '.join(f'`{field}`' for field in required)}",
                    expected="`payload: {…}`, where a payload may be given",
                )
            return RaiseEvent(name)
        return RaiseEvent(name, self._values.template(raised.payload, context, type_))

    def _required_fields(self, type_: Type) -> list[str]:
        found = resolve(type_, self._types)
        if not isinstance(found, Record):
            return []
        return [field.name for field in found.fields if not is_optional(field.type, self._types)]

    # -- actions ------------------------------------------------------------------------------------------------

    def actions(self, actions: Iterable[ActionSyntax], context: Context | None) -> tuple[Action, ...]:
        """Actions in order."""
        compiled = (self._action(action, context) for action in actions)
        return tuple(action for action in compiled if action is not None)

    def _action(self, action: ActionSyntax, context: Context | None) -> Action | None:
        match action:
            case SetVariableSyntax(name, value):
                template = self._values.template(value, context, self._variables.get(name.text))
                return None if template is None else SetVariable(name.text, template)
            case AppendSyntax(name, value):
                item = self._item(name.text)
                template = self._values.template(value, context, item)
                return None if template is None else AppendToList(name.text, template)
            case SendSyntax():
                return self.send(action, context)
            case RaiseSyntax():
                raised = self._raised(action, context)
                return Emit(raised.event, raised.payload)
            case StartTimerSyntax():
                duration = self._values.template(action.duration, context, DURATION)
                at = self._values.template(action.at, context, TIMESTAMP)
                return StartTimer(action.name.text, self._raised(action.effect, context), duration, at)
            case CancelTimerSyntax(name):
                return CancelTimer(name.text)
            case FailSyntax(reason):
                template = self._values.template(reason, context)
                return None if template is None else Fail(template)
            case LogSyntax(text):
                template = self._values.template(text, context)
                return None if template is None else Log(template)

    def _item(self, variable: str) -> Type | None:
        if variable not in self._variables:
            return None
        found = resolve(self._variables[variable], self._types)
        return found.item if isinstance(found, ListOf) else None

    def send(self, send: SendSyntax, context: Context | None) -> Send | None:
        """`send` and `broadcast`."""
        message = send.message.text
        recipients = [self._recipients(entry, context) for entry in send.to]
        if send.broadcast and not send.to:
            recipients = [Recipients(role, "all") for role in self._addressed.get(message, [])]
        payload: Template | None
        if send.payload is not None:
            payload = self._values.template(
                send.payload, context, Reference(message) if message in self._addressed else None
            )
        else:
            payload = self._empty_payload(send)
        return None if payload is None else Send(message, payload, tuple(recipients))

    def _empty_payload(self, send: SendSyntax) -> Template | None:
        name = send.message.text
        required = self._required_fields(Reference(name)) if name in self._addressed else []
        if required:
            self._reporter.error(
                "missing-field",
                send.span,
                f"`{name}` needs a payload with {', '.join(f'`{field}`' for field in required)}",
                expected="`payload: {…}`",
            )
            return None
        return self._values.constant({})

    def _recipients(self, entry: RecipientsSyntax, context: Context | None) -> Recipients:
        return Recipients(
            None if entry.role is None else entry.role.text,
            entry.reach,
            self._values.agents(entry.agents, context),
            self._values.agents(entry.except_, context),
        )

    # -- constraints --------------------------------------------------------------------------------------------

    def constraint(self, constraint: ConstraintDefinition) -> Constraint | None:
        """A rule."""
        known = all(name.text in self._addressed for name in constraint.messages)
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
                on_violation = self._raised(constraint.on_violation, context)
            case SendSyntax():
                on_violation = self.send(constraint.on_violation, context)
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
