"""Compiles actions, and the events they raise, into the engine's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from strabo_runtime.engine.machine import (
    BUILT_IN_EVENTS,
    Action,
    AppendToList,
    Bind,
    CallFunction,
    CancelProtocol,
    CancelTimer,
    ChildAgents,
    Compensate,
    Emit,
    Fail,
    ForEach,
    Log,
    RaiseEvent,
    Recipients,
    Replace,
    Send,
    SetVariable,
    StartProtocol,
    StartTimer,
    Unbind,
)
from strabo_runtime.expressions import Context, Expression, Function, Template
from strabo_runtime.expressions.resolution import is_optional, resolve
from strabo_runtime.expressions.types import (
    ANY,
    DURATION,
    INTEGER,
    OBJECT,
    TIMESTAMP,
    ListOf,
    NamedTypes,
    Record,
    Reference,
    Type,
)
from strabo_runtime.language.action_syntax import (
    ActionSyntax,
    AppendSyntax,
    BindSyntax,
    CallSyntax,
    CancelProtocolSyntax,
    CancelTimerSyntax,
    ChildAgentsSyntax,
    CompensateSyntax,
    FailSyntax,
    ForEachSyntax,
    LogSyntax,
    RaiseSyntax,
    RecipientsSyntax,
    ReplaceSyntax,
    SendSyntax,
    SetVariableSyntax,
    StartProtocolSyntax,
    StartTimerSyntax,
    TellParentSyntax,
    UnbindSyntax,
)
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import ScalarNode
from strabo_runtime.language.values import Values


class ActionCompiler:
    """Compiles what a step does. Where something has errors, they are reported and it is left out."""

    def __init__(
        self,
        definition: ProtocolDefinition,
        values: Values,
        reporter: Reporter,
        *,
        types: NamedTypes,
        variables: Mapping[str, Type],
        events: Mapping[str, Type | None],
        functions: Mapping[str, Function],
    ) -> None:
        self._values = values
        self._reporter = reporter
        self._types = types
        self._variables = variables
        self._events = events
        self._functions = functions
        self._declared_events = {event.name.text for event in definition.events or ()}
        self._addressed = {
            message.name.text: [addressee.role.text for addressee in message.to]
            for message in definition.messages
        }

    # -- events -------------------------------------------------------------------------------------------------

    def raised(self, raised: RaiseSyntax, context: Context | None) -> RaiseEvent:
        """An event with its payload."""
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
            case ForEachSyntax():
                return self._for_each(action, context)
            case SetVariableSyntax(name, value):
                template = self._values.template(value, context, self._variables.get(name.text))
                return None if template is None else SetVariable(name.text, template)
            case AppendSyntax(name, value):
                template = self._values.template(value, context, self._item(name.text))
                return None if template is None else AppendToList(name.text, template)
            case SendSyntax():
                return self.send(action, context)
            case RaiseSyntax():
                raised = self.raised(action, context)
                return Emit(raised.event, raised.payload)
            case TellParentSyntax(event, payload, span):
                if event.text in self._declared_events:
                    raised = self.raised(RaiseSyntax(event, payload, span), context)
                    return Emit(raised.event, raised.payload, to_parent=True)
                return Emit(event.text, self._values.template(payload, context, OBJECT), to_parent=True)
            case StartTimerSyntax():
                duration = self._values.template(action.duration, context, DURATION)
                at = self._values.template(action.at, context, TIMESTAMP)
                return StartTimer(action.name.text, self.raised(action.effect, context), duration, at)
            case CancelTimerSyntax(name):
                return CancelTimer(name.text)
            case FailSyntax(reason):
                template = self._values.template(reason, context)
                return None if template is None else Fail(template)
            case LogSyntax(text):
                template = self._values.template(text, context)
                return None if template is None else Log(template)
            case CallSyntax():
                return self._call(action, context)
            case CompensateSyntax():
                return Compensate()
            case _:
                return self._on_others(action, context)

    def _on_others(
        self,
        action: StartProtocolSyntax | CancelProtocolSyntax | BindSyntax | UnbindSyntax | ReplaceSyntax,
        context: Context | None,
    ) -> Action:
        match action:
            case StartProtocolSyntax():
                return StartProtocol(
                    action.protocol.text,
                    None if action.version is None else action.version.text,
                    action.name.text,
                    self._values.template(action.inputs, context, OBJECT),
                    tuple(self._child_agents(given, context) for given in action.roles),
                    action.detach,
                )
            case CancelProtocolSyntax(name):
                return CancelProtocol(name.text)
            case BindSyntax(role):
                agents = self._values.agents(action.agents, context)
                return Bind(role.text, agents, self._count(action.count, context))
            case UnbindSyntax(role):
                return Unbind(role.text, self._values.agents(action.agents, context))
            case ReplaceSyntax(role):
                agents = self._values.agents(action.agents, context)
                return Replace(role.text, agents, self._count(action.count, context))

    def _child_agents(self, given: ChildAgentsSyntax, context: Context | None) -> ChildAgents:
        role = None if given.role is None else given.role.text
        return ChildAgents(given.child_role.text, role, self._values.agents(given.agents, context))

    def _count(self, count: ScalarNode | None, context: Context | None) -> int | Expression | None:
        if count is not None and isinstance(count.value, int):
            return count.value
        return self._values.expression(count, context, INTEGER)

    def _for_each(self, repeated: ForEachSyntax, context: Context | None) -> Action | None:
        items = self._values.expression(repeated.items, context, ListOf(ANY))
        # Where the list has errors, what its items are is unknown: then nothing inside is checked.
        inner = None if context is None or items is None else replace(context, each=items.item_type or ANY)
        action = self._action(repeated.action, inner)
        return None if action is None or items is None else ForEach(items, action)

    def _call(self, call: CallSyntax, context: Context | None) -> Action | None:
        function = self._functions.get(call.function.text)
        types = {} if function is None else {field.name: field.type for field in function.parameters}
        arguments = [
            (name.text, self._values.template(value, context, types[name.text]))
            for name, value in call.arguments or ()
            if name.text in types
        ]
        given = tuple((name, template) for name, template in arguments if template is not None)
        if function is None:
            return None
        return CallFunction(function, given, None if call.into is None else call.into.text)

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
