"""The names that a protocol declares, by kind, and the report of one that stands for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language.definition import MessageDefinition, ProtocolDefinition
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.nodes import Name
from strabo_runtime.language.vocabulary import child_names


class Declared:
    """One protocol's names. The `known_…` methods report a name that stands for nothing."""

    def __init__(self, definition: ProtocolDefinition, reporter: Reporter) -> None:
        self._reporter = reporter
        self.roles = {role.name.text: role for role in definition.roles}
        self.messages = {message.name.text: message for message in definition.messages}
        self.events = None if definition.events is None else {event.name.text for event in definition.events}
        self.states = {state.name.text: state for state in definition.states}
        self.inputs = {declared.name.text for declared in definition.inputs}
        self.variables = {variable.name.text: variable for variable in definition.variables}
        self.children = child_names(definition)

    def known(
        self, code: str, kind: str, name: Name, known: Iterable[str], *, nothing: str = "", hint: str = ""
    ) -> bool:
        """Whether a name is among those known. `nothing`: what is expected where none is known."""
        listed = list(known)
        if name.text in listed:
            return True
        self._reporter.error(
            code,
            name.span,
            f"there is no {kind} `{name.text}`",
            expected=one_of(listed) if listed or not nothing else nothing,
            hint=hint or did_you_mean(name.text, listed),
        )
        return False

    def known_role(self, name: Name) -> bool:
        return self.known("unknown-role", "role", name, self.roles)

    def known_message(self, name: Name) -> bool:
        return self.known("unknown-message", "message type", name, self.messages)

    def known_state(self, name: Name) -> bool:
        return self.known("unknown-state", "state", name, self.states)

    def known_child(self, name: Name, *, hint: str = "") -> bool:
        nothing = "a `start_protocol` with this `as`"
        return self.known("unknown-child", "child", name, self.children, nothing=nothing, hint=hint)

    def known_variable(self, name: Name) -> bool:
        """Whether an action may change the variable of this name."""
        if name.text in self.inputs:
            self._reporter.error(
                "fixed-input",
                name.span,
                f"`{name.text}` is an input, which keeps the value that the starter gave",
                expected="the name of a variable",
            )
            return False
        return self.known("unknown-variable", "variable", name, self.variables)

    def is_engine(self, role: str) -> bool:
        """Whether the engine plays a role."""
        return role in self.roles and self.roles[role].played_by == "engine"

    def senders(self, message: MessageDefinition, wanted: Callable[[str], bool]) -> list[str]:
        """The known roles that may send a message, as far as they are wanted."""
        return [
            sender.text for sender in message.senders if sender.text in self.roles and wanted(sender.text)
        ]

    def from_engine_only(self, name: Name) -> bool:
        """Whether a known message can come from no agent."""
        message = self.messages[name.text]
        return bool(self.senders(message, self.is_engine)) and not self.senders(
            message, lambda role: not self.is_engine(role)
        )
