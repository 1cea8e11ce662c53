"""Compiles a definition into the engine's machine, checking every name, type and expression on the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from strabo_runtime.engine.machine import (
    Addressee,
    ChildTrigger,
    EventTrigger,
    EventType,
    InputDeclaration,
    Machine,
    MessageTrigger,
    MessageType,
    Role,
    State,
    Transition,
    Trigger,
    Variable,
)
from strabo_runtime.expressions import (
    Context,
    Environment,
    Expression,
    Function,
    PayloadValidator,
    SchemaValidator,
    Template,
)
from strabo_runtime.expressions.types import BOOLEAN, INTEGER, NamedTypes, Type
from strabo_runtime.language import walk
from strabo_runtime.language.action_syntax import CallSyntax
from strabo_runtime.language.behaviour import BehaviourCompiler
from strabo_runtime.language.compile_actions import ActionCompiler
from strabo_runtime.language.definition import (
    ChildTriggerSyntax,
    EventTriggerSyntax,
    InputDefinition,
    MessageDefinition,
    MessageTriggerSyntax,
    ProtocolDefinition,
    RoleDefinition,
    StateDefinition,
    TransitionDefinition,
    TriggerSyntax,
    TypeSyntax,
    ValueDefinition,
    VariableDefinition,
)
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.errors import DefinitionError
from strabo_runtime.language.nodes import Node, ScalarNode
from strabo_runtime.language.references import check_references
from strabo_runtime.language.registered import Registered
from strabo_runtime.language.table import MAXIMUM_CANDIDATES, build_table, candidates
from strabo_runtime.language.types import check_types, known_only
from strabo_runtime.language.values import Values
from strabo_runtime.language.vocabulary import child_names, event_types, starting_messages, trigger_context

_NOTHING: Final = Context()
_OF_AN_INSTANCE: Final = ("roles", "pending", "children")
_WORD = re.compile(r"\w+")


def compile_protocol(
    definition: ProtocolDefinition, functions: Mapping[str, Function] = MappingProxyType({})
) -> Machine:
    """The machine of a definition that loaded without errors, with these registered functions by name.

    Raises DefinitionError for one that has some.
    """
    reporter = Reporter()
    machine = check_and_compile(definition, Registered(functions), reporter)
    if machine is None:
        raise DefinitionError(reporter.diagnostics)
    return machine


def check_and_compile(
    definition: ProtocolDefinition, registered: Registered, reporter: Reporter
) -> Machine | None:
    """The machine, or None where `reporter` holds an error, of this or of an earlier pass."""
    types = check_types(_named_types(definition), _used_types(definition), reporter)
    check_references(definition, types, registered, reporter)
    compilation = _Compilation(definition, types, registered, reporter)
    machine = compilation.machine()
    return None if reporter.failed else machine


def _named_types(definition: ProtocolDefinition) -> dict[str, TypeSyntax]:
    named = {declared.name.text: declared.syntax for declared in definition.types}
    return named | {message.name.text: message.payload for message in definition.messages}


def _used_types(definition: ProtocolDefinition) -> tuple[TypeSyntax, ...]:
    inputs = [declared.syntax for declared in definition.inputs]
    variables = [variable.syntax for variable in definition.variables]
    events = [event.payload for event in definition.events or () if event.payload is not None]
    return (*inputs, *variables, *events)


class _Compilation:
    def __init__(
        self,
        definition: ProtocolDefinition,
        types: NamedTypes,
        registered: Registered,
        reporter: Reporter,
    ) -> None:
        self._definition = definition
        self._types = types
        self._registered = registered
        self._functions = registered.functions
        self._reporter = reporter
        self._messages = {message.name.text: types[message.name.text] for message in definition.messages}
        self._events = event_types(definition, types)
        self._children = child_names(definition)
        self._inputs = self._typed(definition.inputs)
        self._variables = self._typed(definition.variables)
        self._starting = starting_messages(definition)
        self._environments: list[Environment] = []
        self._environment = self._make_environment(
            self._inputs | self._variables, [role.name.text for role in definition.roles], self._children
        )
        self._values = Values(self._environment, registered, reporter)
        self._actions = ActionCompiler(
            definition,
            self._values,
            reporter,
            types=types,
            variables=self._variables,
            events=self._events,
            functions=self._functions,
        )
        self._behaviour = BehaviourCompiler(definition, self._values, self._actions, reporter)

    def _typed(self, declared: Iterable[InputDefinition | VariableDefinition]) -> dict[str, Type]:
        return {value.name.text: known_only(value.syntax.type, self._types) for value in declared}

    def _make_environment(
        self, variables: Mapping[str, Type], roles: Sequence[str] = (), children: Sequence[str] = ()
    ) -> Environment:
        environment = Environment(
            types=self._types,
            messages=self._messages,
            events=self._events,
            variables=variables,
            roles=roles,
            starting=self._starting,
            children=children,
            functions=self._functions,
        )
        self._environments.append(environment)
        return environment

    def machine(self) -> Machine | None:
        """Compiles everything, so that every error is reported; None where there is no state to begin in."""
        definition = self._definition
        roles = {role.name.text: self._role(role) for role in definition.roles}
        messages = {message.name.text: self._message_type(message) for message in definition.messages}
        inputs = {declared.name: declared for declared in self._compiled_inputs()}
        variables = {variable.name: variable for variable in self._compiled_variables()}
        labels = self._named_templates(definition.labels)
        states = {state.name.text: self._state(state) for state in definition.states}
        transitions = tuple(self._transition(transition) for transition in definition.transitions)
        constraints = tuple(
            compiled
            for constraint in definition.constraints
            if (compiled := self._behaviour.constraint(constraint)) is not None
        )
        deadline = self._behaviour.timer(definition.deadline)
        result = self._named_templates(definition.result)
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
            inputs=inputs,
            variables=variables,
            states=states,
            initial=next(iter(states)),
            transitions=transitions,
            table=build_table(states, transitions),
            constraints=constraints,
            deadline=deadline,
            labels=labels,
            result=result,
            unexpected=definition.unexpected,
            limits=definition.limits,
            environment=self._environment,
            functions=self._used_functions(),
            types=self._types,
        )

    def _named_templates(self, entries: Iterable[ValueDefinition]) -> dict[str, Template]:
        """`labels` or `result`."""
        templates = {entry.name.text: self._values.template(entry.value, _NOTHING) for entry in entries}
        return {name: template for name, template in templates.items() if template is not None}

    def _used_functions(self) -> dict[str, str]:
        """The version of every registered function that an expression or an action calls."""
        called = {
            action.function.text
            for action in walk.actions(self._definition)
            if isinstance(action, CallSyntax)
        }
        called = called.union(*(environment.functions_used for environment in self._environments))
        return {name: self._functions[name].version for name in sorted(called)}

    def _check_size(self, states: Mapping[str, State], transitions: Sequence[Transition]) -> None:
        count = candidates(states, transitions)
        if count > MAXIMUM_CANDIDATES:
            self._reporter.error(
                "yaml-limit",
                self._definition.transitions[0].span,
                f"the transitions, each counted for every state and trigger that it names, are {count}",
                expected=f"at most {MAXIMUM_CANDIDATES}",
            )

    # -- declarations -------------------------------------------------------------------------------------------

    def _role(self, role: RoleDefinition) -> Role:
        count: int | Expression | None = None
        if isinstance(role.count, ScalarNode):
            # An instance has its inputs, and no variables or agents yet, when its agents are sought.
            why = "a `count` is evaluated before the instance has variables and agents"
            values = self._values_before(role.count, self._inputs, why)
            count = values.expression(role.count, _NOTHING, INTEGER)
        else:
            count = role.count
        return Role(
            name=role.name.text,
            played_by=role.played_by,
            minimum=role.minimum,
            maximum=role.maximum,
            count=count,
            capabilities=role.capabilities,
            open=role.open,
            description=role.description,
            minimum_is_count=role.minimum_is_count,
            maximum_is_count=role.maximum_is_count,
        )

    def _values_before(self, value: Node, visible: Mapping[str, Type], why: str) -> Values:
        """Where a value is compiled that is needed before the instance has more than `visible`, and `why` it is.

        An environment of its own costs milliseconds, so it is made only for a text that holds an unseen name at all.
        """
        unseen = {*self._inputs, *self._variables, *_OF_AN_INSTANCE} - set(visible)
        if unseen.isdisjoint(_WORD.findall(str(value.json))):
            return self._values
        return Values(self._make_environment(visible), self._registered, self._reporter, why)

    def _message_type(self, message: MessageDefinition) -> MessageType:
        name = message.name.text
        return MessageType(
            name=name,
            senders=tuple(sender.text for sender in message.senders),
            to=tuple(Addressee(addressee.role.text, addressee.reach) for addressee in message.to),
            payload=self._types[name],
            validator=PayloadValidator(self._types[name], self._types)
            if message.schema is None
            else SchemaValidator(message.schema.json),
            unexpected=message.unexpected,
            sensitive=tuple(path.text for path in message.sensitive),
            description=message.description,
        )

    def _compiled_inputs(self) -> Iterator[InputDeclaration]:
        for declared in self._definition.inputs:
            name = declared.name.text
            type_ = self._inputs[name]
            default = None
            if declared.default is not None:
                why = "a `default` is evaluated before the instance has other inputs, variables and agents"
                values = self._values_before(declared.default, {}, why)
                default = values.template(declared.default, _NOTHING, type_)
            yield InputDeclaration(name, type_, PayloadValidator(type_, self._types), default)

    def _compiled_variables(self) -> Iterator[Variable]:
        for variable in self._definition.variables:
            type_ = self._variables[variable.name.text]
            initial = (
                self._values.constant(None)
                if variable.initial is None
                else self._values.template(variable.initial, _NOTHING, type_)
            )
            if initial is not None:
                yield Variable(variable.name.text, type_, initial)

    # -- behaviour ----------------------------------------------------------------------------------------------

    def _state(self, state: StateDefinition) -> State:
        expects = (self._behaviour.expectation(expectation) for expectation in state.expects)
        return State(
            name=state.name.text,
            final=state.final,
            timeout=self._behaviour.timer(state.timeout),
            expects=tuple(expectation for expectation in expects if expectation is not None),
            on_entry=self._actions.actions(state.on_entry, _NOTHING),
            on_exit=self._actions.actions(state.on_exit, _NOTHING),
            description=state.description,
        )

    def _transition(self, transition: TransitionDefinition) -> Transition:
        context = trigger_context(transition, self._messages, self._events, self._children)
        return Transition(
            index=transition.index,
            sources=tuple(source.text for source in transition.sources),
            target=None if transition.target is None else transition.target.text,
            triggers=tuple(_trigger(trigger) for trigger in transition.triggers),
            condition=self._values.expression(transition.condition, context, BOOLEAN),
            actions=self._actions.actions(transition.actions, context),
            reenter=transition.reenter,
            description=transition.description,
            compensation=self._actions.actions(transition.compensation, context),
        )


def _trigger(trigger: TriggerSyntax) -> Trigger:
    match trigger:
        case MessageTriggerSyntax(message, role):
            return MessageTrigger(message.text, None if role is None else role.text)
        case EventTriggerSyntax(event):
            return EventTrigger(event.text)
        case ChildTriggerSyntax(child, outcome):
            return ChildTrigger(child.text, outcome)
