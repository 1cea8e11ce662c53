"""Checks what a protocol gives the children that it starts, and hears of them, against those protocols themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from strabo_runtime.engine.machine import Action, Emit, ForEach, InputDeclaration, Machine
from strabo_runtime.expressions import Context
from strabo_runtime.expressions.resolution import is_optional
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import (
    ANY,
    Field,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Reference,
    Type,
)
from strabo_runtime.language.action_syntax import ActionSyntax, ForEachSyntax, StartProtocolSyntax
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Diagnostic, Reporter, one_of
from strabo_runtime.language.nodes import MappingNode
from strabo_runtime.language.registered import Registered
from strabo_runtime.language.values import Values
from strabo_runtime.language.vocabulary import child_names, trigger_context

FindProtocol = Callable[[str, str | None], Machine | None]
"""A protocol by name and version (None: whichever there is); None where it is not known."""


def check_children(
    machine: Machine, definition: ProtocolDefinition, find: FindProtocol
) -> tuple[Diagnostic, ...]:
    """What does not fit between a protocol that loaded without errors and the children that `find` knows."""
    reporter = Reporter()
    checker = _Checker(machine, definition, reporter)
    for start, context in checker.starts():
        child = find(start.protocol.text, None if start.version is None else start.version.text)
        if child is not None:
            checker.check(start, context, child)
    return reporter.diagnostics


class _Checker:
    def __init__(self, machine: Machine, definition: ProtocolDefinition, reporter: Reporter) -> None:
        self._machine = machine
        self._definition = definition
        self._reporter = reporter
        self._values = Values(machine.environment, Registered(), reporter)
        self._undeclared: set[tuple[str, str]] = set()

    def starts(self) -> Iterator[tuple[StartProtocolSyntax, Context]]:
        """Every start of a child, with what is in scope there."""
        definition = self._definition
        places: list[tuple[tuple[ActionSyntax, ...], Context]] = [
            (actions, Context()) for state in definition.states for actions in (state.on_entry, state.on_exit)
        ]
        children = child_names(definition)
        for transition in definition.transitions:
            context = trigger_context(transition, self._machine.messages, self._machine.events, children)
            places += [
                (actions, context or Context()) for actions in (transition.actions, transition.compensation)
            ]
        for actions, context in places:
            for action in actions:
                match action:
                    case StartProtocolSyntax():
                        yield action, context
                    case ForEachSyntax(items, StartProtocolSyntax() as start):
                        listed = self._machine.environment.expression(items.text, context, expect=ListOf(ANY))
                        yield start, replace(context, each=listed.item_type or ANY)
                    case _:
                        pass

    def check(self, start: StartProtocolSyntax, context: Context, child: Machine) -> None:
        """One start of a known child."""
        self._check_inputs(start, context, child)
        self._check_roles(start, child)
        self._check_events(start, child)

    def _check_inputs(self, start: StartProtocolSyntax, context: Context, child: Machine) -> None:
        types = {name: _given_type(declared, child.types) for name, declared in child.inputs.items()}
        if start.inputs is not None and not isinstance(start.inputs, MappingNode):
            fields = tuple(Field(name, type_) for name, type_ in types.items())
            self._values.template(start.inputs, context, Record(fields))
            return
        given = {} if start.inputs is None else {key.text: (key, value) for key, value in start.inputs}
        for name, (key, value) in given.items():
            if name in types:
                self._values.template(value, context, types[name])
                continue
            self._reporter.error(
                "unknown-input",
                key.span,
                f"`{child.name}` has no input `{name}`",
                expected=one_of(types) if types else "no `inputs`",
                hint=did_you_mean(name, types),
            )
        missing = [name for name in types if name not in given and not is_optional(types[name], {})]
        if missing:
            place = start.protocol if start.inputs is None else start.inputs
            self._reporter.error(
                "missing-input",
                place.span,
                f"`{child.name}` needs {', '.join(f'`{name}`' for name in missing)}",
                expected=f"`inputs` with {', '.join(f'`{name}: …`' for name in missing)}",
            )

    def _check_roles(self, start: StartProtocolSyntax, child: Machine) -> None:
        agents = [role.name for role in child.roles.values() if role.played_by != "engine"]
        for given in start.roles:
            name = given.child_role
            if name.text in agents:
                continue
            engine = name.text in child.roles
            self._reporter.error(
                "wrong-role" if engine else "unknown-role",
                name.span,
                f"in `{child.name}` the engine plays `{name.text}`, so that nobody can be named for it"
                if engine
                else f"`{child.name}` has no role `{name.text}`",
                expected=one_of(agents),
                hint=None if engine else did_you_mean(name.text, agents),
            )

    def _check_events(self, start: StartProtocolSyntax, child: Machine) -> None:
        if self._definition.events is None:
            return
        for event in _events_for_parents(child):
            place = (child.name, event)
            if event in self._machine.events or place in self._undeclared:
                continue
            self._undeclared.add(place)
            self._reporter.error(
                "unknown-event",
                start.protocol.span,
                f"`{child.name}` emits the event `{event}` to its parent, which does not declare it",
                expected=f"`{event}` under `events`",
            )


def _given_type(declared: InputDeclaration, named: NamedTypes) -> Type:
    """The type of what is given for an input, without names of the child's own; optional where it has a default."""
    type_ = _spelt_out(declared.type, named, ())
    if declared.default is None or isinstance(type_, OptionalOf):
        return type_
    return OptionalOf(type_)


def _spelt_out(type_: Type, named: NamedTypes, within: tuple[str, ...]) -> Type:
    """The type with every name replaced by what it stands for; `any` where a type recurs."""
    match type_:
        case Reference(name):
            return ANY if name in within else _spelt_out(named[name], named, (*within, name))
        case ListOf(item):
            return ListOf(_spelt_out(item, named, within))
        case MapOf(value):
            return MapOf(_spelt_out(value, named, within))
        case OptionalOf(of):
            inner = _spelt_out(of, named, within)
            return inner if isinstance(inner, OptionalOf) else OptionalOf(inner)
        case Record(fields, is_open):
            spelt = tuple(Field(field.name, _spelt_out(field.type, named, within)) for field in fields)
            return Record(spelt, is_open)
        case _:
            return type_


def _events_for_parents(machine: Machine) -> list[str]:
    """The events that a protocol emits to its parent, each once."""
    found: dict[str, None] = {}
    for action in _actions(machine):
        inner = action.action if isinstance(action, ForEach) else action
        if isinstance(inner, Emit) and inner.to_parent:
            found[inner.event] = None
    return list(found)


def _actions(machine: Machine) -> Iterator[Action]:
    for state in machine.states.values():
        yield from state.on_entry
        yield from state.on_exit
    for transition in machine.transitions:
        yield from transition.actions
        yield from transition.compensation
