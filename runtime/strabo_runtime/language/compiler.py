"""Compiles a definition into the engine's machine, checking every name, type and expression on the way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from strabo_runtime.engine.machine import (
    QUORUM_LOST,
    Addressee,
    EventTrigger,
    EventType,
    Machine,
    MessageTrigger,
    MessageType,
    Role,
    State,
    Transition,
    Trigger,
    Variable,
)
from strabo_runtime.expressions import Context, Environment, Expression, PayloadValidator
from strabo_runtime.expressions.suggestion import nearest
from strabo_runtime.expressions.types import BOOLEAN, INTEGER, OBJECT, STRING, Field, NamedTypes, Record, Type
from strabo_runtime.language import walk
from strabo_runtime.language.behaviour import BehaviourCompiler
from strabo_runtime.language.definition import (
    MessageTriggerSyntax,
    ProtocolDefinition,
    StateDefinition,
    TransitionDefinition,
    TriggerSyntax,
    TypeSyntax,
)
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.errors import DefinitionError
from strabo_runtime.language.nodes import ScalarNode
from strabo_runtime.language.references import check_references
from strabo_runtime.language.types import check_types, known_only
from strabo_runtime.language.values import Values

MAXIMUM_CANDIDATES: Final = 100_000
_WORD = re.compile(r"\w+")
QUORUM_LOST_PAYLOAD = Record((Field("role", STRING),))


def compile_protocol(definition: ProtocolDefinition) -> Machine:
    """The machine of a definition that loaded without errors. Raises DefinitionError for one that has some."""
    reporter = Reporter()
    machine = check_and_compile(definition, reporter)
    if machine is None:
        raise DefinitionError(reporter.diagnostics)
    return machine


def check_and_compile(definition: ProtocolDefinition, reporter: Reporter) -> Machine | None:
    """The machine, or None where `reporter` holds an error, of this or of an earlier pass."""
    types = check_types(_named_types(definition), _used_types(definition), reporter)
    check_references(definition, types, reporter)
    compilation = _Compilation(definition, types, reporter)
    machine = compilation.machine()
    return None if reporter.failed else machine


def _named_types(definition: ProtocolDefinition) -> dict[str, TypeSyntax]:
    named = {declared.name.text: declared.syntax for declared in definition.types}
    return named | {message.name.text: message.payload for message in definition.messages}


def _used_types(definition: ProtocolDefinition) -> tuple[TypeSyntax, ...]:
    variables = [variable.syntax for variable in definition.variables]
    events = [event.payload for event in definition.events or () if event.payload is not None]
    return (*variables, *events)


def _event_types(definition: ProtocolDefinition, types: NamedTypes) -> dict[str, Type | None]:
    """The payload type of every event. Without an `events` section, one raised with a payload has an untyped one."""
    events: dict[str, Type | None] = {}
    if definition.events is not None:
        for event in definition.events:
            events[event.name.text] = None if event.payload is None else known_only(event.payload.type, types)
    else:
        for raised in walk.raised_events(definition):
            known = events.setdefault(raised.event.text, None)
            events[raised.event.text] = OBJECT if raised.payload is not None else known
        for transition in definition.transitions:
            for trigger in transition.triggers:
                if not isinstance(trigger, MessageTriggerSyntax):
                    events.setdefault(trigger.event.text, None)
    events[QUORUM_LOST] = QUORUM_LOST_PAYLOAD
    return events


class _Compilation:
    def __init__(self, definition: ProtocolDefinition, types: NamedTypes, reporter: Reporter) -> None:
        self._definition = definition
        self._types = types
        self._reporter = reporter
        self._messages = {message.name.text: types[message.name.text] for message in definition.messages}
        self._events = _event_types(definition, types)
        self._variables = {
            variable.name.text: known_only(variable.syntax.type, types) for variable in definition.variables
        }
        self._starting = self._starting_messages()
        self._environment = self._make_environment(
            self._variables, [role.name.text for role in definition.roles]
        )
        self._values = Values(self._environment, reporter)
        self._behaviour = BehaviourCompiler(
            definition,
            self._values,
            reporter,
            types=types,
            variables=self._variables,
            events=self._events,
        )

    def _make_environment(self, variables: Mapping[str, Type], roles: Sequence[str]) -> Environment:
        return Environment(
            types=self._types,
            messages=self._messages,
            events=self._events,
            variables=variables,
            roles=roles,
            starting=self._starting,
        )

    def _starting_messages(self) -> list[str]:
        """The message types that may start an instance: what the first state takes."""
        if not self._definition.states:
            return []
        first = self._definition.states[0].name.text
        found: dict[str, None] = {}
        for transition in self._definition.transitions:
            if transition.sources and first not in [source.text for source in transition.sources]:
                continue
            for trigger in transition.triggers:
                if isinstance(trigger, MessageTriggerSyntax) and trigger.message.text in self._messages:
                    found[trigger.message.text] = None
        return list(found)

    def machine(self) -> Machine | None:
        """Compiles everything, so that every error is reported; None where there is no state to begin in."""
        definition = self._definition
        roles = {role.name: role for role in self._roles()}
        messages = {message.name: message for message in self._message_types()}
        variables = {variable.name: variable for variable in self._compiled_variables()}
        labels = {
            label.name.text: template
            for label in definition.labels
            if (template := self._values.template(label.value, Context())) is not None
        }
        states = {state.name.text: self._state(state) for state in definition.states}
        transitions = tuple(self._transition(transition) for transition in definition.transitions)
        constraints = tuple(
            compiled
            for constraint in definition.constraints
            if (compiled := self._behaviour.constraint(constraint)) is not None
        )
        deadline = self._behaviour.timer(definition.deadline)
        result = {
            entry.name.text: template
            for entry in definition.result
            if (template := self._values.template(entry.value, Context())) is not None
        }
        self._check_size(states, transitions)
        if not states or self._reporter.failed:
            return None
        return Machine(
            name=definition.name.text,
            version=definition.version.text,
            hash=definition.hash,
            description=definition.description,
            roles=roles,
            messages=messages,
            events={name: EventType(name, payload) for name, payload in self._events.items()},
            variables=variables,
            states=states,
            initial=next(iter(states)),
            transitions=transitions,
            table=_table(states, transitions),
            constraints=constraints,
            deadline=deadline,
            labels=labels,
            result=result,
            unexpected=definition.unexpected,
            limits=definition.limits,
            environment=self._environment,
            types=self._types,
        )

    def _check_size(self, states: Mapping[str, State], transitions: Sequence[Transition]) -> None:
        """Bounds the table of candidates: `*` in thousands of transitions of thousands of states is millions."""
        candidates = sum(
            (len(transition.sources) or len(states)) * (len(transition.triggers) or 1)
            for transition in transitions
        )
        if candidates > MAXIMUM_CANDIDATES:
            self._reporter.error(
                "yaml-limit",
                self._definition.transitions[0].span,
                f"the transitions, each counted for every state and trigger that it names, are {candidates}",
                expected=f"at most {MAXIMUM_CANDIDATES}",
            )

    def _roles(self) -> list[Role]:
        roles: list[Role] = []
        for role in self._definition.roles:
            count: int | Expression | None = None
            if isinstance(role.count, ScalarNode):
                count = self._values_of_count(role.count).expression(role.count, Context(), INTEGER)
            else:
                count = role.count
            roles.append(
                Role(
                    name=role.name.text,
                    played_by=role.played_by,
                    minimum=role.minimum,
                    maximum=role.maximum,
                    count=count,
                    capabilities=role.capabilities,
                    description=role.description,
                )
            )
        return roles

    def _values_of_count(self, count: ScalarNode) -> Values:
        """Where a `count` is compiled: an instance has no variables and no agents yet when its agents are sought.

        An environment of its own costs milliseconds, so it is made only for a text that holds such a name at all.
        """
        unseen = {*self._variables, "roles", "pending"}
        if unseen.isdisjoint(_WORD.findall(count.text)):
            return self._values
        return Values(self._make_environment({}, roles=()), self._reporter)

    def _message_types(self) -> list[MessageType]:
        return [
            MessageType(
                name=message.name.text,
                senders=tuple(sender.text for sender in message.senders),
                to=tuple(Addressee(addressee.role.text, addressee.reach) for addressee in message.to),
                payload=self._types[message.name.text],
                validator=PayloadValidator(self._types[message.name.text], self._types),
                unexpected=message.unexpected,
                sensitive=tuple(path.text for path in message.sensitive),
                description=message.description,
            )
            for message in self._definition.messages
        ]

    def _compiled_variables(self) -> list[Variable]:
        variables: list[Variable] = []
        for variable in self._definition.variables:
            type_ = self._variables[variable.name.text]
            initial = (
                self._values.constant(None)
                if variable.initial is None
                else self._values.template(variable.initial, Context(), type_)
            )
            if initial is not None:
                variables.append(Variable(variable.name.text, type_, initial))
        return variables

    def _state(self, state: StateDefinition) -> State:
        nothing = Context()
        expects = (self._behaviour.expectation(expectation) for expectation in state.expects)
        return State(
            name=state.name.text,
            final=state.final,
            timeout=self._behaviour.timer(state.timeout),
            expects=tuple(expectation for expectation in expects if expectation is not None),
            on_entry=self._behaviour.actions(state.on_entry, nothing),
            on_exit=self._behaviour.actions(state.on_exit, nothing),
            description=state.description,
        )

    def _transition(self, transition: TransitionDefinition) -> Transition:
        context = self._context(transition)
        return Transition(
            index=transition.index,
            sources=tuple(source.text for source in transition.sources),
            target=None if transition.target is None else transition.target.text,
            triggers=tuple(_trigger(trigger) for trigger in transition.triggers),
            condition=self._values.expression(transition.condition, context, BOOLEAN),
            actions=self._behaviour.actions(transition.actions, context),
            reenter=transition.reenter,
            description=transition.description,
        )

    def _context(self, transition: TransitionDefinition) -> Context | None:
        """What the triggers give; None where one of them could not be read, or names nothing near."""
        if not transition.triggers_known:
            return None
        messages: list[str] = []
        events: list[str] = []
        for trigger in transition.triggers:
            if isinstance(trigger, MessageTriggerSyntax):
                found = _known_or_nearest(trigger.message.text, self._messages)
                messages.append(found or "")
            else:
                found = _known_or_nearest(trigger.event.text, self._events)
                events.append(found or "")
            if found is None:
                return None
        if messages and events:
            return Context()
        return Context(message_types=tuple(dict.fromkeys(messages)), event_names=tuple(dict.fromkeys(events)))


def _trigger(trigger: TriggerSyntax) -> Trigger:
    if isinstance(trigger, MessageTriggerSyntax):
        return MessageTrigger(trigger.message.text, None if trigger.role is None else trigger.role.text)
    return EventTrigger(trigger.event.text)


def _known_or_nearest(name: str, known: Mapping[str, object]) -> str | None:
    """The name, or the one that a misspelt name is reported to stand for."""
    return name if name in known else nearest(name, known)


def _table(
    states: Mapping[str, State], transitions: Sequence[Transition]
) -> dict[tuple[str, str | None], tuple[Transition, ...]]:
    """Candidates by state and trigger, in the order they are tried: those of a named state before those of `*`."""
    table: dict[tuple[str, str | None], list[Transition]] = {}
    for named in (True, False):
        for transition in transitions:
            if bool(transition.sources) is not named:
                continue
            sources = transition.sources or [name for name, state in states.items() if state.final is None]
            keys: list[str | None] = [
                trigger.message if isinstance(trigger, MessageTrigger) else f"!{trigger.event}"
                for trigger in transition.triggers
            ]
            for source in sources:
                for key in dict.fromkeys(keys) if keys else (None,):
                    table.setdefault((source, key), []).append(transition)
    return {place: tuple(candidates) for place, candidates in table.items()}
