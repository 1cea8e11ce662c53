"""Checks that every name stands for something, and that roles, messages and states are used as they were declared."""

from __future__ import annotations

from collections.abc import Mapping

from strabo_runtime.engine.machine import BUILT_IN_EVENTS
from strabo_runtime.expressions.resolution import is_optional, resolve
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import ANY, OBJECT, MapOf, NamedTypes, Record, Type
from strabo_runtime.language import walk
from strabo_runtime.language.action_references import check_actions
from strabo_runtime.language.action_syntax import TellParentSyntax
from strabo_runtime.language.declared import Declared
from strabo_runtime.language.definition import (
    ChildTriggerSyntax,
    EventTriggerSyntax,
    ExpectationDefinition,
    MessageDefinition,
    MessageTriggerSyntax,
    ProtocolDefinition,
)
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.nodes import Name
from strabo_runtime.language.registered import Registered
from strabo_runtime.language.types import field_at, known_only


def check_references(
    definition: ProtocolDefinition,
    named: NamedTypes,
    registered: Registered,
    reporter: Reporter,
) -> None:
    """Reports every name that stands for nothing, or for something that does not fit its place."""
    declared = Declared(definition, reporter)
    checker = _Checker(definition, declared, named, reporter)
    checker.check_messages()
    checker.check_variables()
    checker.check_events()
    checker.check_states()
    checker.check_transitions()
    check_actions(definition, declared, named, registered, reporter)
    checker.check_constraints()


class _Checker:
    def __init__(
        self, definition: ProtocolDefinition, declared: Declared, named: NamedTypes, reporter: Reporter
    ) -> None:
        self._definition = definition
        self._declared = declared
        self._named = named
        self._reporter = reporter

    # -- declarations -------------------------------------------------------------------------------------------

    def check_messages(self) -> None:
        for message in self._definition.messages:
            for sender in message.senders:
                self._declared.known_role(sender)
            for addressee in message.to:
                self._declared.known_role(addressee.role)
            payload = known_only(message.payload.type, self._named)
            found = resolve(payload, self._named)
            if not _is_payload(message, found):
                self._reporter.error(
                    "wrong-type",
                    message.payload.span,
                    f"the payload of the message type `{message.name.text}` is not made of fields",
                    expected="a field map, or the name of one"
                    if message.schema is None
                    else "a schema with `type: object`",
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
            if self._is_free(raised.event) and self._declared.events is not None:
                self._declared.known("unknown-event", "event", raised.event, self._declared.events)
        for action in walk.actions(self._definition):
            # What the event means is the parent's to say: it need not be declared here.
            if isinstance(action, TellParentSyntax):
                self._is_free(action.event)

    def _is_free(self, event: Name) -> bool:
        """Whether a protocol may raise the event itself."""
        if event.text not in BUILT_IN_EVENTS:
            return True
        self._reporter.error(
            "reserved-event",
            event.span,
            f"`{event.text}` is raised by the runtime alone",
            expected="an event of the protocol's own",
        )
        return False

    # -- states and transitions ---------------------------------------------------------------------------------

    def check_states(self) -> None:
        for target in walk.targets(self._definition):
            self._declared.known_state(target)
        for state in self._definition.states:
            for expectation in state.expects:
                self._check_expectation(expectation)

    def _check_expectation(self, expectation: ExpectationDefinition) -> None:
        messages = [name for name in expectation.messages if self._declared.known_message(name)]
        if expectation.role is None:
            self._check_listed(expectation, messages)
            return
        if not self._declared.known_role(expectation.role):
            return
        role = expectation.role
        if self._declared.is_engine(role.text):
            self._reporter.error(
                "wrong-sender",
                role.span,
                f"`{role.text}` is played by the engine, which owes nothing",
                expected=one_of(name for name in self._declared.roles if not self._declared.is_engine(name)),
            )
            return
        for message in messages:
            self._check_sender(self._declared.messages[message.text], role)

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
                if (
                    self._declared.known_state(source)
                    and self._declared.states[source.text].final is not None
                ):
                    self._reporter.error(
                        "final-state",
                        source.span,
                        f"the state `{source.text}` is final, and has no way out",
                        expected="a state that is not final",
                    )
            for trigger in transition.triggers:
                match trigger:
                    case MessageTriggerSyntax():
                        self._check_message_trigger(trigger)
                    case EventTriggerSyntax(event):
                        self._check_event_trigger(event)
                    case ChildTriggerSyntax(child):
                        self._declared.known_child(child)

    def _check_message_trigger(self, trigger: MessageTriggerSyntax) -> None:
        known_role = trigger.role is not None and self._declared.known_role(trigger.role)
        if not self._declared.known_message(trigger.message):
            return
        message = self._declared.messages[trigger.message.text]
        if trigger.role is not None and known_role:
            if self._declared.is_engine(trigger.role.text):
                self._refuse_engine_sender(trigger.role, trigger.message)
            else:
                self._check_sender(message, trigger.role)
        elif trigger.role is None and self._declared.from_engine_only(trigger.message):
            self._refuse_engine_sender(trigger.message, trigger.message)

    def _refuse_engine_sender(self, place: Name, message: Name) -> None:
        self._reporter.error(
            "wrong-sender",
            place.span,
            f"`{message.text}` comes here from a role of the engine, so that no agent's message can trigger this",
            expected=f"a message of an agent; or an agent's role in the `from` of `{message.text}`",
            hint="to go on after a `send`, use an automatic transition or `emit` an event",
        )

    def _check_event_trigger(self, event: Name) -> None:
        if self._declared.events is not None:
            known = (*sorted(self._declared.events), *BUILT_IN_EVENTS)
            self._declared.known("unknown-event", "event", event, known)

    # -- constraints --------------------------------------------------------------------------------------------

    def check_constraints(self) -> None:
        for constraint in self._definition.constraints:
            for name in constraint.messages:
                if self._declared.known_message(name) and self._declared.from_engine_only(name):
                    self._reporter.error(
                        "wrong-sender",
                        name.span,
                        f"`{name.text}` is sent by the engine, and constraints are enforced on messages of agents",
                        expected="a message of an agent",
                    )


def _is_payload(message: MessageDefinition, found: Type) -> bool:
    """Whether a payload has fields, or may have them: a JSON Schema need not say which."""
    if isinstance(found, Record) or found == ANY:
        return True
    return message.schema is not None and (isinstance(found, MapOf) or found == OBJECT)


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
