"""Checks the names in actions: variables, messages, roles, timers, children, functions and their parameters."""

from __future__ import annotations

from strabo_runtime.expressions import Function
from strabo_runtime.expressions.resolution import describe, is_optional, resolve, unwrapped
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import ANY, INTEGER, NUMBER, ListOf, NamedTypes
from strabo_runtime.expressions.typing_rules import Misfit, fits
from strabo_runtime.language import walk
from strabo_runtime.language.action_syntax import (
    AppendSyntax,
    BindSyntax,
    CallSyntax,
    CancelProtocolSyntax,
    CancelTimerSyntax,
    ReplaceSyntax,
    SendSyntax,
    SetVariableSyntax,
    StartProtocolSyntax,
    StartTimerSyntax,
    UnbindSyntax,
)
from strabo_runtime.language.declared import Declared
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.nodes import Name, Node, ScalarNode, SequenceNode
from strabo_runtime.language.parse_actions import ACTIONS
from strabo_runtime.language.registered import Registered
from strabo_runtime.language.shape import describe as describe_node
from strabo_runtime.language.types import known_only


def check_actions(
    definition: ProtocolDefinition,
    declared: Declared,
    named: NamedTypes,
    registered: Registered,
    reporter: Reporter,
) -> None:
    """Reports every name in an action that stands for nothing, or for something that does not fit its place."""
    checker = _ActionChecker(definition, declared, named, registered, reporter)
    checker.check()


class _ActionChecker:
    def __init__(
        self,
        definition: ProtocolDefinition,
        declared: Declared,
        named: NamedTypes,
        registered: Registered,
        reporter: Reporter,
    ) -> None:
        self._definition = definition
        self._declared = declared
        self._named = named
        self._registered = registered
        self._reporter = reporter
        self._timers = {
            action.name.text for action in walk.actions(definition) if isinstance(action, StartTimerSyntax)
        }

    def check(self) -> None:
        for action in walk.actions(self._definition):
            match action:
                case SetVariableSyntax(name):
                    self._declared.known_variable(name)
                case AppendSyntax(name):
                    self._check_append(name)
                case SendSyntax():
                    self._check_send(action)
                case CancelTimerSyntax(name):
                    self._declared.known("unknown-timer", "timer", name, self._timers)
                case StartProtocolSyntax():
                    for given in action.roles:
                        if given.role is not None:
                            self._check_agents_role(given.role, "given to a child")
                        else:
                            self._check_ids(given.agents)
                case CancelProtocolSyntax():
                    self._check_cancelled(action)
                case BindSyntax(role) | ReplaceSyntax(role):
                    self._check_bound(role, action.count)
                case UnbindSyntax(role):
                    self._check_agents_role(role, "unbound")
                case CallSyntax():
                    self._check_call(action)
                case _:
                    pass

    def _check_append(self, name: Name) -> None:
        if not self._declared.known_variable(name):
            return
        type_ = known_only(self._declared.variables[name.text].syntax.type, self._named)
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
            if recipients.role is not None and self._declared.known_role(recipients.role)
        ]
        if not self._declared.known_message(send.message):
            return
        message = self._declared.messages[send.message.text]
        agents = self._declared.senders(message, lambda role: not self._declared.is_engine(role))
        if agents and not self._declared.senders(message, self._declared.is_engine):
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

    # -- children and agents ------------------------------------------------------------------------------------

    def _check_cancelled(self, cancel: CancelProtocolSyntax) -> None:
        called = [
            start.name.text
            for start in walk.started_children(self._definition)
            if cancel.by_protocol and start.protocol.text == cancel.name.text
        ]
        hint = f"it is started as `{called[0]}`: write `as: {called[0]}`" if called else ""
        self._declared.known_child(cancel.name, hint=hint)

    def _check_agents_role(self, name: Name, what: str) -> bool:
        """Whether a role has agents, which can then be bound, leave, or be given away."""
        if not self._declared.known_role(name):
            return False
        if not self._declared.is_engine(name.text):
            return True
        self._reporter.error(
            "wrong-role",
            name.span,
            f"`{name.text}` is played by the engine, and has no agents that could be {what}",
            expected=one_of(role for role in self._declared.roles if not self._declared.is_engine(role)),
        )
        return False

    def _check_ids(self, agents: Node | None) -> None:
        """A list of ids, in which the name of a role is taken for one."""
        for item in agents.items if isinstance(agents, SequenceNode) else ():
            if isinstance(item, ScalarNode) and item.text in self._declared.roles:
                self._reporter.error(
                    "bad-value",
                    item.span,
                    f"`{item.text}` is a role, and this is a list of agent ids",
                    expected="ids, or the role alone",
                    hint=f"`${{ roles.{item.text} + … }}` gives the agents of several roles",
                )

    def _check_bound(self, name: Name, count: ScalarNode | None) -> None:
        if not self._check_agents_role(name, "bound or replaced"):
            return
        maximum = self._declared.roles[name.text].maximum
        if (
            count is not None
            and isinstance(count.value, int)
            and maximum is not None
            and count.value > maximum
        ):
            self._reporter.error(
                "bad-bounds",
                count.span,
                f"`{name.text}` has at most {maximum} agents, and {count.value} are asked for",
                expected=f"at most {maximum}, or a larger `max`",
            )

    # -- functions ----------------------------------------------------------------------------------------------

    def _check_call(self, call: CallSyntax) -> None:
        function = self._registered.functions.get(call.function.text)
        if function is None:
            known = (*ACTIONS, *self._registered.functions)
            why_not = self._registered.why_not(call.function.text)
            self._reporter.error(
                "unknown-action",
                call.function.span,
                f"there is no action `{call.function.text}`, nor is a function of this name registered",
                expected=one_of(known),
                hint=did_you_mean(call.function.text, known) or why_not,
            )
            return
        if call.arguments is None:
            self._reporter.error(
                "wrong-type",
                call.body.span,
                f"`{function.name}` is {describe_node(call.body)}",
                expected="a mapping of its parameters",
            )
            return
        self._check_arguments(call, call.arguments, function)
        if call.into is not None and self._declared.known_variable(call.into):
            self._check_into(call.into, function)

    def _check_arguments(
        self, call: CallSyntax, arguments: tuple[tuple[Name, object], ...], function: Function
    ) -> None:
        parameters = [field.name for field in function.parameters]
        for name, _ in arguments:
            if name.text not in parameters:
                self._reporter.error(
                    "unknown-field",
                    name.span,
                    f"the function `{function.name}` has no parameter `{name.text}`",
                    expected=one_of((*parameters, "into", "for_each")),
                    hint=did_you_mean(name.text, (*parameters, "into", "for_each")),
                )
        given = {name.text for name, _ in arguments}
        missing = [
            field.name
            for field in function.parameters
            if field.name not in given and not is_optional(field.type, {})
        ]
        if missing:
            self._reporter.error(
                "missing-field",
                call.function.span,
                f"the function `{function.name}` needs {', '.join(f'`{name}`' for name in missing)}",
                expected=", ".join(f"`{name}: …`" for name in missing),
            )

    def _check_into(self, into: Name, function: Function) -> None:
        type_ = known_only(self._declared.variables[into.text].syntax.type, self._named)
        result = resolve(function.result, {})
        try:
            # What only a step can tell is refused: the result is kept as it is.
            fitting = fits(result, type_, self._named) and (
                not is_optional(result, {}) or is_optional(type_, self._named)
            )
            fitting = fitting and (unwrapped(result, {}), unwrapped(type_, self._named)) != (INTEGER, NUMBER)
        except Misfit:
            fitting = False
        if not fitting and resolve(type_, self._named) != ANY:
            self._reporter.error(
                "expression-type",
                into.span,
                f"`{function.name}` gives {describe(result, {})}, and the variable `{into.text}` holds"
                f" {describe(type_, self._named)}",
                expected=f"a variable of type `{describe(result, {})}`",
            )
