"""Reads the names in scenario files: roles, agents, message types, and whatever else the protocol must have."""

from __future__ import annotations

from collections.abc import Iterable

from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.nodes import Node, SequenceNode
from strabo_runtime.language.shape import Shape


class NameReader:
    """Reads names against a machine; an unknown one is reported with the nearest that is known."""

    def __init__(self, reporter: Reporter, machine: Machine) -> None:
        self.reporter = reporter
        self.shape = Shape(reporter)
        self.machine = machine

    def known(self, node: Node | None, what: str, code: str, names: Iterable[str]) -> str | None:
        """A text that must be one of `names`; it is given even where it is not."""
        text = self.shape.text(node, f"a {what}")
        if node is not None and text is not None and text not in names:
            self.unknown(code, node, what, text, names)
        return text

    def message(self, node: Node | None) -> str | None:
        """The name of a message type."""
        return self.known(node, "message type", "unknown-message", self.machine.messages)

    def roles(self, node: Node | None) -> dict[str, Agents]:
        """A mapping of roles to agent ids; of a role without any, nobody is found."""
        if node is None:
            return {}
        mapping = self.shape.mapping(node, "`roles`", "a mapping of roles to agent ids")
        roles: dict[str, Agents] = {}
        for key, value in mapping or ():
            self.role(key)
            roles[key.text] = self.agents(value, f"the agents of `{key.text}`")
        return roles

    def role(self, node: Node | None) -> str | None:
        """A role that agents or people play."""
        name = self.known(node, "role", "unknown-role", self.machine.roles)
        role = None if name is None else self.machine.roles.get(name)
        if node is not None and role is not None and role.played_by == "engine":
            self.reporter.error("bad-value", node.span, f"the role `{role.name}` is played by the engine")
        return name

    def agents(self, node: Node, what: str) -> Agents:
        """An agent id, or a list of them."""
        items = node.items if isinstance(node, SequenceNode) else (node,)
        texts = (self.shape.text(item, what) for item in items)
        return tuple(text for text in texts if text is not None)

    def unknown(self, code: str, node: Node, what: str, name: str, names: Iterable[str]) -> None:
        """Report a name that the protocol does not have."""
        listed = tuple(names)
        self.reporter.error(
            code,
            node.span,
            f"{self.machine.name} has no {what} `{name}`",
            expected=one_of(listed),
            hint=did_you_mean(name, listed),
        )
