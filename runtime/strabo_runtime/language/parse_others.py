"""Parses the actions on others: children are started and cancelled, agents are bound, unbound and replaced."""

from __future__ import annotations

from strabo_runtime.expressions.type_text import UNREADABLE_FIELDS
from strabo_runtime.language.action_syntax import (
    BindSyntax,
    CancelProtocolSyntax,
    ChildAgentsSyntax,
    ReplaceSyntax,
    StartProtocolSyntax,
    UnbindSyntax,
)
from strabo_runtime.language.nodes import Name, Node, ScalarNode, SequenceNode
from strabo_runtime.language.parse_effects import EffectParser
from strabo_runtime.language.parse_sending import is_expression
from strabo_runtime.language.shape import IDENTIFIER, PROTOCOL_NAME, VERSION, Fields, Shape


class OthersParser:
    """Reads the fields of these actions; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape, effects: EffectParser) -> None:
        self._shape = shape
        self._reporter = shape.reporter
        self._effects = effects

    # -- children -----------------------------------------------------------------------------------------------

    def start_protocol(self, fields: Fields) -> StartProtocolSyntax | None:
        """`start_protocol`."""
        protocol = self._shape.name(fields.get("protocol"), "the name of a protocol", PROTOCOL_NAME)
        version = self._shape.name(fields.get("version"), "a version", VERSION)
        name = self._child_name(fields.get("as")) if fields.get("as") is not None else protocol
        inputs = fields.get("inputs")
        if isinstance(inputs, SequenceNode):
            self._shape.wrong(inputs, "`inputs`", "a mapping of the child's inputs, or `${ }` that gives one")
            inputs = None
        roles = self._child_roles(fields.get("roles"))
        detach = self._shape.boolean(fields.get("detach"), "`detach`") or False
        if protocol is None or name is None:
            return None
        return StartProtocolSyntax(protocol, version, name, inputs, roles, detach)

    def _child_name(self, node: Node | None) -> Name | None:
        name = self._shape.name(node, "the name of a child")
        # Expressions read it as `children.<as>`.
        if name is not None and name.text in UNREADABLE_FIELDS:
            self._reporter.error(
                "reserved-name",
                name.span,
                f"`{name.text}` is a word of the expression language",
                expected="another name",
            )
            return None
        return name

    def _child_roles(self, node: Node | None) -> tuple[ChildAgentsSyntax, ...]:
        mapping = (
            None if node is None else self._shape.mapping(node, "`roles`", "a mapping of the child's roles")
        )
        roles = (self._child_agents(key, value) for key, value in mapping or ())
        return tuple(role for role in roles if role is not None)

    def _child_agents(self, key: ScalarNode, node: Node) -> ChildAgentsSyntax | None:
        child_role = self._shape.name(key, "the name of a role", IDENTIFIER)
        if child_role is None:
            return None
        if not isinstance(node, ScalarNode):
            self._shape.items(node, f"what `{key.text}` is given", empty=False)
            return ChildAgentsSyntax(child_role, None, node)
        text = self._shape.text(node, f"what `{key.text}` is given")
        if text is None:
            return None
        if is_expression(text):
            return ChildAgentsSyntax(child_role, None, node)
        return ChildAgentsSyntax(child_role, Name(text.strip(), node.span), None)

    def cancel_protocol(self, fields: Fields) -> CancelProtocolSyntax | None:
        """`cancel_protocol`."""
        kind = self._effects.exactly_one(fields, ("as", "protocol"))
        name = None if kind is None else self._shape.reference(fields.get(kind), f"`{kind}`")
        return None if name is None else CancelProtocolSyntax(name, kind == "protocol")

    # -- agents -------------------------------------------------------------------------------------------------

    def bind(self, fields: Fields) -> BindSyntax | None:
        """`bind`."""
        role = self._shape.reference(fields.get("role"), "`role`")
        self._effects.exactly_one(fields, ("agents", "count"))
        count = self._count(fields)
        return None if role is None else BindSyntax(role, self._agents(fields), count)

    def unbind(self, fields: Fields) -> UnbindSyntax | None:
        """`unbind`."""
        role = self._shape.reference(fields.get("role"), "`role`")
        return None if role is None else UnbindSyntax(role, self._agents(fields))

    def replace(self, fields: Fields) -> ReplaceSyntax | None:
        """`replace`."""
        role = self._shape.reference(fields.get("role"), "`role`")
        count = self._count(fields)
        return None if role is None else ReplaceSyntax(role, self._agents(fields), count)

    def _agents(self, fields: Fields) -> Node | None:
        """An id, or ids: as an expression, or written out."""
        node = fields.get("agents")
        if isinstance(node, ScalarNode):
            return node if self._shape.text(node, "`agents`") is not None else None
        items = self._shape.items(node, "`agents`", empty=False)
        return node if items else None

    def _count(self, fields: Fields) -> ScalarNode | None:
        count = self._shape.scalar(fields.get("count"), "`count`", "a number or an expression")
        if count is not None and not isinstance(count.value, str):
            return count if self._shape.integer(count, "`count`", 1) is not None else None
        return count
