"""Parses what a protocol declares: types, message types, events, inputs, variables, labels, result, limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from strabo_runtime.engine.machine import BUILT_IN_EVENTS, Limits, Unexpected
from strabo_runtime.expressions import schema_faults, schema_type
from strabo_runtime.expressions.types import ANY, Record
from strabo_runtime.language.definition import (
    AddresseeSyntax,
    EventDefinition,
    InputDefinition,
    MessageDefinition,
    TypeDefinition,
    TypeSyntax,
    ValueDefinition,
    VariableDefinition,
)
from strabo_runtime.language.nodes import MappingNode, Name, Node, ScalarNode, node_at
from strabo_runtime.language.shape import IDENTIFIER, LABEL, Fields, Shape
from strabo_runtime.language.types import BUILT_IN_TYPES, read_type

UNEXPECTED: tuple[Unexpected, ...] = ("reject", "ignore", "defer")

RESERVED_NAMES: Final = (
    *("message", "event", "child", "starting", "now", "instance", "roles", "pending", "children"),
    # CEL's own words (language definition, section "Syntax") and the names of its types.
    *(
        "in",
        "true",
        "false",
        "null",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
    ),
    *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    *(
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "dyn",
        "google",
    ),
)

_ADDRESSEE = re.compile(r"\s*(?P<role>[^\s\[\]]+)(?:\[(?P<reach>all|any)\])?\s*")
_A: Final = {"input": "an input", "variable": "a variable"}
_SIZE = re.compile(r"(\d+) ?(KiB|MiB)")
_FACTORS = {"KiB": 1024, "MiB": 1024 * 1024}


class DeclarationParser:
    """Reads declarations; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._reporter = shape.reporter

    # -- types and messages -------------------------------------------------------------------------------------

    def types(self, node: Node | None, seen: dict[str, Name]) -> tuple[TypeDefinition, ...]:
        """`types`. `seen` is shared with the message types: both are names that a type may use."""
        types: list[TypeDefinition] = []
        for key, value in self._entries(node, "`types`"):
            name = self._shape.name(key, "the name of a type")
            if name is None:
                continue
            if name.text in BUILT_IN_TYPES:
                self._reserved(name, "a built-in type")
            elif self._shape.unique(name, seen, "type"):
                types.append(
                    TypeDefinition(name, read_type(value, f"the type `{name.text}`", self._reporter))
                )
        return tuple(types)

    def _entries(self, node: Node | None, what: str) -> tuple[tuple[ScalarNode, Node], ...]:
        mapping = None if node is None else self._shape.mapping(node, what, "a mapping of names")
        return () if mapping is None else mapping.entries

    def _reserved(self, name: Name, what: str) -> None:
        self._reporter.error("reserved-name", name.span, f"`{name.text}` is {what}", expected="another name")

    def messages(self, node: Node | None, seen: dict[str, Name]) -> tuple[MessageDefinition, ...]:
        """`message_types`."""
        messages: list[MessageDefinition] = []
        for key, value in self._entries(node, "`message_types`"):
            name = self._shape.name(key, "the name of a message type")
            if name is None:
                continue
            if name.text in BUILT_IN_TYPES:
                self._reserved(name, "a built-in type")
                continue
            new = self._shape.unique(name, seen, "message type")
            # A name that a type has too is kept, so that the uses of the message type are not reported as well.
            if new or name.text not in [message.name.text for message in messages]:
                message = self._message(name, value)
                if message is not None:
                    messages.append(message)
        return tuple(messages)

    def _message(self, name: Name, node: Node) -> MessageDefinition | None:
        what = f"the message type `{name.text}`"
        fields = self._shape.fields(
            node,
            what,
            ("from", "to", "payload", "schema", "open", "unexpected", "sensitive", "description"),
            required=("from", "to"),
            empty=("payload", "sensitive"),
        )
        if fields is None:
            # The name is declared all the same, so that its uses are not reported too.
            return MessageDefinition(name, "", (), (), TypeSyntax(Record(()), (), node.span), None, ())
        schema = self._schema(fields)
        if schema is None:
            payload = self._payload(fields, what)
        elif (described := self._described(schema)) is not None:
            payload = described
        else:
            payload, schema = TypeSyntax(ANY, (), schema.span), None
        sensitive = self._shape.references(fields.get("sensitive"), "a sensitive field")
        return MessageDefinition(
            name,
            self._shape.text(fields.get("description"), "`description`") or "",
            self._shape.references(fields.get("from"), "`from`"),
            self._addressees(fields.get("to")),
            payload,
            self.unexpected(fields.get("unexpected")),
            sensitive,
            schema,
        )

    def _payload(self, fields: Fields, what: str) -> TypeSyntax:
        node = fields.get("payload")
        syntax = (
            TypeSyntax(Record(()), (), fields.node.span)
            if node is None
            else read_type(node, f"the payload of {what}", self._reporter)
        )
        is_open = fields.get("open")
        if self._shape.boolean(is_open, "`open`") and is_open is not None:
            if isinstance(syntax.type, Record):
                return TypeSyntax(Record(syntax.type.fields, open=True), syntax.references, syntax.span)
            self._reporter.error(
                "bad-combination",
                is_open.span,
                "`open` belongs to a payload of fields",
                expected="a field map",
            )
        return syntax

    def _schema(self, fields: Fields) -> MappingNode | None:
        """`schema`, which says all of a payload, so that nothing else may."""
        node = fields.get("schema")
        schema = None if node is None else self._shape.mapping(node, "`schema`", "a JSON Schema (2020-12)")
        if node is not None:
            for key in ("payload", "open"):
                place = fields.key(key)
                if place is not None:
                    self._reporter.error(
                        "bad-combination",
                        place.span,
                        f"`{key}` and `schema` exclude each other",
                        expected="`payload` with the fields, or `schema` with a JSON Schema",
                    )
        return schema

    def _described(self, schema: MappingNode) -> TypeSyntax | None:
        """What expressions can know of a payload that a JSON Schema describes; None where the schema is none."""
        faults = schema_faults(schema.json)
        for path, message in faults:
            self._reporter.error(
                "bad-schema",
                node_at(schema, path).span,
                message,
                expected="a JSON Schema (2020-12) without references to other documents",
            )
        return None if faults else TypeSyntax(schema_type(schema.json), (), schema.span)

    def _addressees(self, node: Node | None) -> tuple[AddresseeSyntax, ...]:
        addressees: dict[str, AddresseeSyntax] = {}
        for item in self._shape.one_or_many(node, "`to`"):
            text = self._shape.text(item, "`to`")
            if text is None or not isinstance(item, ScalarNode):
                continue
            match = _ADDRESSEE.fullmatch(text)
            if match is None:
                self._reporter.error(
                    "bad-value",
                    item.span,
                    f"`{text}` does not say who a message is for",
                    expected="`Role`, `Role[all]` or `Role[any]`",
                )
                continue
            role = Name(match["role"], item.span_at(match.start("role"), len(match["role"])))
            if role.text in addressees:
                self._reporter.error(
                    "duplicate-name", role.span, f"`{role.text}` stands here twice", expected="once"
                )
                continue
            reach = match["reach"]
            addressees[role.text] = AddresseeSyntax(
                role, "all" if reach == "all" else "any" if reach == "any" else "one"
            )
        return tuple(addressees.values())

    def unexpected(self, node: Node | None) -> Unexpected | None:
        """`unexpected`, of the protocol or of a message type."""
        return self._shape.choice(node, "`unexpected`", UNEXPECTED)

    # -- events, variables and values ---------------------------------------------------------------------------

    def events(self, node: Node | None) -> tuple[EventDefinition, ...]:
        """`events`."""
        events: list[EventDefinition] = []
        for key, value in self._entries(node, "`events`"):
            name = self._shape.name(key, "the name of an event", LABEL)
            if name is None:
                continue
            if name.text in BUILT_IN_EVENTS:
                self._reserved(name, "a built-in event, which needs no declaration")
                continue
            empty = (isinstance(value, ScalarNode) and value.value is None) or (
                isinstance(value, MappingNode) and not value.entries
            )
            payload = (
                None if empty else read_type(value, f"the payload of the event `{name.text}`", self._reporter)
            )
            events.append(EventDefinition(name, payload))
        return tuple(events)

    def inputs(self, node: Node | None, seen: dict[str, Name]) -> tuple[InputDefinition, ...]:
        """`inputs`. `seen` is shared with the variables: expressions read both by their names alone."""
        return tuple(
            InputDefinition(name, syntax, default)
            for name, syntax, default in self._typed_values(node, "input", "default", seen)
        )

    def variables(self, node: Node | None, seen: dict[str, Name]) -> tuple[VariableDefinition, ...]:
        """`variables`."""
        return tuple(
            VariableDefinition(name, syntax, None if _is_null(initial) else initial)
            for name, syntax, initial in self._typed_values(node, "variable", "initial", seen)
        )

    def _typed_values(
        self, node: Node | None, kind: str, value_key: str, seen: dict[str, Name]
    ) -> Iterator[tuple[Name, TypeSyntax, Node | None]]:
        """The names, types and values (None: not written) of `inputs` or `variables`."""
        for key, value in self._entries(node, f"`{kind}s`"):
            name = self._shape.name(key, f"the name of {_A[kind]}", IDENTIFIER)
            if name is None:
                continue
            if name.text in RESERVED_NAMES:
                self._reserved(name, "a word of the expression language")
            elif self._shape.unique(name, seen, kind):
                declared = self._typed_value(name, value, kind, value_key)
                if declared is not None:
                    yield (name, *declared)

    def _typed_value(
        self, name: Name, node: Node, kind: str, value_key: str
    ) -> tuple[TypeSyntax, Node | None] | None:
        what = f"the type of the {kind} `{name.text}`"
        if not isinstance(node, MappingNode):
            return read_type(node, what, self._reporter), None
        fields = self._shape.fields(
            node,
            f"the {kind} `{name.text}`",
            ("type", value_key, "description"),
            required=("type",),
            empty=(value_key,),
        )
        if fields is None:
            return None
        self._shape.text(fields.get("description"), "`description`")
        type_node, value = fields.get("type"), fields.values.get(value_key)
        if type_node is None:
            return TypeSyntax(ANY, (), node.span), value
        return read_type(type_node, what, self._reporter), value

    def values(self, node: Node | None, section: str) -> tuple[ValueDefinition, ...]:
        """`labels` or `result`."""
        values: list[ValueDefinition] = []
        for key, value in self._entries(node, f"`{section}`"):
            name = self._shape.name(key, f"a name in `{section}`", LABEL)
            if name is not None:
                values.append(ValueDefinition(name, value))
        return tuple(values)

    def limits(self, node: Node | None) -> Limits:
        """`limits`."""
        defaults = Limits()
        if node is None:
            return defaults
        fields = self._shape.fields(node, "`limits`", ("steps", "state_bytes", "deferred", "microsteps"))
        if fields is None:
            return defaults
        size = fields.get("state_bytes")
        state_bytes = None
        if (
            isinstance(size, ScalarNode)
            and isinstance(size.value, str)
            and (match := _SIZE.fullmatch(size.value))
        ):
            state_bytes = int(match[1]) * _FACTORS[match[2]]
        else:
            state_bytes = self._shape.integer(size, "`state_bytes`", 1024)
        return Limits(
            steps=self._shape.integer(fields.get("steps"), "`steps`", 1) or defaults.steps,
            state_bytes=state_bytes or defaults.state_bytes,
            deferred=self._shape.integer(fields.get("deferred"), "`deferred`", 1) or defaults.deferred,
            microsteps=self._shape.integer(fields.get("microsteps"), "`microsteps`", 1)
            or defaults.microsteps,
        )


def _is_null(node: Node | None) -> bool:
    return isinstance(node, ScalarNode) and node.value is None
