"""Checks that every name stands for something, and that roles, messages and states are used as they were declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from strabo_runtime.engine.machine import BUILT_IN_EVENTS, QUORUM_LOST
from strabo_runtime.expressions.resolution import is_optional, resolve
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import ANY, ListOf, NamedTypes, Record
from strabo_runtime.language import walk
from strabo_runtime.language.definition import (
    AppendSyntax,
    CancelTimerSyntax,
    EventTriggerSyntax,
    ExpectationDefinition,
    MessageDefinition,
    MessageTriggerSyntax,
    Name,
    ProtocolDefinition,
    SendSyntax,
    SetVariableSyntax,
    StartTimerSyntax,
)
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.types import field_at, known_only

_LATER_EVENTS = {
    "Cancelled": "instances cannot be cancelled",
    "Bound": "binding agents while an instance runs",
    "BindFailed": "binding agents while an instance runs",
}


def check_references(definition: ProtocolDefinition, named: NamedTypes, reporter: Reporter) -> None:
    """Reports every name that stands for nothing, or for something that does not fit its place."""
    checker = _Checker(definition, named, reporter)
    checker.check_messages()
    checker.check_variables()
    checker.check_events()
    checker.check_states()
    checker.check_transitions()
    checker.check_actions()
    checker.check_constraints()


class _Checker:
    def __init__(self, definition: ProtocolDefinition, named: NamedTypes, reporter: Reporter) -> None:
        self._definition = definition
        self._named = named
        self._reporter = reporter
        self._roles = {role.name.text: role for role in definition.roles}
        self._messages = {message.name.text: message for message in definition.messages}
        self._events = None if definition.events is None else {event.name.text for event in definition.events}
        self._states = {state.name.text: state for state in definition.states}
        self._variables = {variable.name.text: variable for variable in definition.variables}

    def _known(self, code: str, kind: str, name: Name, known: Iterable[str]) -> bool:
        listed = list(known)
        if name.text in listed:
            return True
        self._reporter.error(
            code,
            name.span,
            f"there is no {kind} `{name.text}`",
            expected=one_of(listed),
            hint=did_you_mean(name.text, listed),
        )
        return False

    def _known_role(self, name: Name) -> bool:
        return self._known("unknown-role", "role", name, self._roles)

    def _known_message(self, name: Name) -> bool:
        return self._known("unknown-message", "message type", name, self._messages)

    def _known_state(self, name: Name) -> bool:
        return self._known("unknown-state", "state", name, self._states)

    def _is_engine(self, role: str) -> bool:
        return role in self._roles and self._roles[role].played_by == "engine"

    def _senders(self, message: MessageDefinition, wanted: Callable[[str], bool]) -> list[str]:
        return [
            sender.text for sender in message.senders if sender.text in self._roles and wanted(sender.text)
        ]

    def _from_engine_only(self, name: Name) -> bool:
        """Whether a known message can come from no agent."""
        message = self._messages[name.text]
        return bool(self._senders(message, self._is_engine)) and not self._senders(
            message, lambda role: not self._is_engine(role)
        )

    # -- declarations -------------------------------------------------------------------------------------------

    def check_messages(self) -> None:
        for message in self._definition.messages:
            for sender in message.senders:
                self._known_role(sender)
            for addressee in message.to:
                self._known_role(addressee.role)
            payload = known_only(message.payload.type, self._named)
            found = resolve(payload, self._named)
            if not isinstance(found, Record) and found != ANY:
                self._reporter.error(
                    "wrong-type",
                    message.payload.span,
                    f"the payload of the message type `{message.name.text}` is not made of fields",
                    expected="a field map, or the name of one",
                )
                continue
            for path in message.sensitive:
                if not field_at(payload, tuple(path.text.split(".")), self._named):
                    fields = [field.name for field in found.fields] if isinstance(found, Record) else []
                    self._reporter.error(
                        "unknown-field",
                        path.span,
                        f"the payload of `{message.name.text}` has no field `{path.text}`",
                        expected=one_of(fields),
                        hint=did_you_mean(path.text, fields),
                    )

    def check_variables(self) -> None:
        for variable in self._definition.variables:
            type_ = known_only(variable.syntax.type, self._named)
            if (
                variable.initial is None
                and not is_optional(type_, self._named)
                and resolve(type_, self._named) != ANY
            ):
                self._reporter.error(
                    "missing-initial",
                    variable.name.span,
                    f"the variable `{variable.name.text}` has no `initial`, and its type is not optional",
                    expected="`initial: …`, or a type that ends in `?`",
                )

    def check_events(self) -> None:
        for event in self._definition.events or ():
            if event.payload is None:
                continue
            found = resolve(known_only(event.payload.type, self._named), self._named)
            if not isinstance(found, Record) and found != ANY:
                self._reporter.error(
                    "wrong-type",
                    event.payload.span,
                    f"the payload of the event `{event.name.text}` is not made of fields",
                    expected="a field map, or the name of one",
                )
        for raised in walk.raised_events(self._definition):
            if raised.event.text in BUILT_IN_EVENTS:
                self._reporter.error(
                    "reserved-event",
                    raised.event.span,
                    f"`{raised.event.text}` is raised by the runtime alone",
                    expected="an event of the protocol's own",
                )
            elif self._events is not None:
                self._known("unknown-event", "event", raised.event, self._events)

    # -- states and transitions ---------------------------------------------------------------------------------

    def check_states(self) -> None:
        for target in walk.targets(self._definition):
            self._known_state(target)
        for state in self._definition.states:
            for expectation in state.expects:
                self._check_expectation(expectation)

    def _check_expectation(self, expectation: ExpectationDefinition) -> None:
        messages = [name for name in expectation.messages if self._known_message(name)]
        if expectation.role is None:
            self._check_listed(expectation, messages)
            return
        if not self._known_role(expectation.role):
            return
        role = expectation.role
        if self._is_engine(role.text):
            self._reporter.error(
                "wrong-sender",
                role.span,
                f"`{role.text}` is played by the engine, which owes nothing",
                expected=one_of(name for name in self._roles if not self._is_engine(name)),
            )
            return
        for message in messages:
            self._check_sender(self._messages[message.text], role)

    def _check_listed(self, expectation: ExpectationDefinition, messages: list[Name]) -> None:
        if expectation.agents is None or not messages or len(messages) < len(expectation.messages):
            return
        if len(owing_roles(self._definition, expectation)) != 1:
            self._reporter.error(
                "wrong-sender",
                expectation.agents.span,
                "it does not follow which role the listed agents hold",
                expected="messages that agents of exactly one role may send",
                hint="name the role in `from`, or give each role an entry of its own",
            )

    def _check_sender(self, message: MessageDefinition, role: Name) -> None:
        allowed = [sender.text for sender in message.senders]
        if allowed and role.text not in allowed:
            self._reporter.error(
                "wrong-sender",
                role.span,
                f"`{message.name.text}` is not sent by `{role.text}`",
                expected=one_of(allowed),
                hint=did_you_mean(role.text, allowed),
            )

    def check_transitions(self) -> None:
        for transition in self._definition.transitions:
            for source in transition.sources:
                if self._known_state(source) and self._states[source.text].final is not None:
                    self._reporter.error(
                        "final-state",
                        source.span,
                        f"the state `{source.text}` is final, and has no way out",
                        expected="a state that is not final",
                    )
            for trigger in transition.triggers:
                if isinstance(trigger, MessageTriggerSyntax):
                    self._check_message_trigger(trigger)
                else:
                    self._check_event_trigger(trigger)

    def _check_message_trigger(self, trigger: MessageTriggerSyntax) -> None:
        known_role = trigger.role is not None and self._known_role(trigger.role)
        if not self._known_message(trigger.message):
            return
        message = self._messages[trigger.message.text]
        if trigger.role is not None and known_role:
            if self._is_engine(trigger.role.text):
                self._refuse_engine_sender(trigger.role, trigger.message)
            else:
                self._check_sender(message, trigger.role)
        elif trigger.role is None and self._from_engine_only(trigger.message):
            self._refuse_engine_sender(trigger.message, trigger.message)

    def _refuse_engine_sender(self, place: Name, message: Name) -> None:
        self._reporter.error(
            "wrong-sender",
            place.span,
            f"`{message.text}` comes here from a role of the engine, so that no agent's message can trigger this",
            expected=f"a message of an agent; or an agent's role in the `from` of `{message.text}`",
            hint="to go on after a `send`, use an automatic transition or `emit` an event",
        )

    def _check_event_trigger(self, trigger: EventTriggerSyntax) -> None:
        event = trigger.event
        if event.text in _LATER_EVENTS:
            self._reporter.error(
                "not-supported-yet",
                event.span,
                f"the event `{event.text}` is not supported yet: {_LATER_EVENTS[event.text]}",
            )
        elif self._events is not None and event.text not in BUILT_IN_EVENTS:
            self._known("unknown-event", "event", event, (*self._events, QUORUM_LOST))

    # -- actions and constraints --------------------------------------------------------------------------------

    def check_actions(self) -> None:
        timers = {
            action.name.text
            for action in walk.actions(self._definition)
            if isinstance(action, StartTimerSyntax)
        }
        for action in walk.actions(self._definition):
            match action:
                case SetVariableSyntax(name):
                    self._known("unknown-variable", "variable", name, self._variables)
                case AppendSyntax(name):
                    self._check_append(name)
                case SendSyntax():
                    self._check_send(action)
                case CancelTimerSyntax(name):
                    self._known("unknown-timer", "timer", name, timers)
                case _:
                    pass

    def _check_append(self, name: Name) -> None:
        if not self._known("unknown-variable", "variable", name, self._variables):
            return
        type_ = known_only(self._variables[name.text].syntax.type, self._named)
        found = resolve(type_, self._named)
        if not isinstance(found, ListOf) and found != ANY:
            self._reporter.error(
                "no-list",
                name.span,
                f"the variable `{name.text}` is no list",
                expected="a variable of type `list<…>`",
            )

    def _check_send(self, send: SendSyntax) -> None:
        known_roles = [
            recipients.role
            for recipients in send.to
            if recipients.role is not None and self._known_role(recipients.role)
        ]
        if not self._known_message(send.message):
            return
        message = self._messages[send.message.text]
        agents = self._senders(message, lambda role: not self._is_engine(role))
        if agents and not self._senders(message, self._is_engine):
            self._reporter.error(
                "wrong-sender",
                send.message.span,
                f"`{send.message.text}` is sent by {' and '.join(f'`{role}`' for role in agents)}, not by the engine",
                expected="a message type whose `from` names a role with `played_by: engine`",
            )
        addressed = [addressee.role.text for addressee in message.to]
        for role in known_roles:
            if addressed and role.text not in addressed:
                self._reporter.error(
                    "wrong-recipient",
                    role.span,
                    f"`{send.message.text}` is not addressed to `{role.text}`",
                    expected=one_of(addressed),
                    hint=did_you_mean(role.text, addressed),
                )

    def check_constraints(self) -> None:
        for constraint in self._definition.constraints:
            for name in constraint.messages:
                if self._known_message(name) and self._from_engine_only(name):
                    self._reporter.error(
                        "wrong-sender",
                        name.span,
                        f"`{name.text}` is sent by the engine, and constraints are enforced on messages of agents",
                        expected="a message of an agent",
                    )


def owing_roles(definition: ProtocolDefinition, expectation: ExpectationDefinition) -> list[str]:
    """The roles of agents that may send every message of an expectation."""
    played_by: Mapping[str, str] = {role.name.text: role.played_by for role in definition.roles}
    wanted = {name.text for name in expectation.messages}
    senders = [
        {sender.text for sender in message.senders}
        for message in definition.messages
        if message.name.text in wanted
    ]
    common = set[str].intersection(*senders) if senders else set()
    return [role for role, player in played_by.items() if role in common and player != "engine"]
