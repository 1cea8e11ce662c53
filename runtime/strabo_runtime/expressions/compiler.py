"""Checked syntax trees into closures over stored JSON, with the declared type of every part.

CEL's checker has passed the tree already; what it does not know is checked here: presence (`has` for optional fields,
null for optional variables), the values of enums, the fields named in text, and the fields of nested collections.
"""

from __future__ import annotations

import math
from typing import Any

from strabo_runtime.expressions import calls, functions, library, logic, macros, reading, schema_functions
from strabo_runtime.expressions.building import Builder, Local, Locals, Vocabulary, written
from strabo_runtime.expressions.cel import plain_name
from strabo_runtime.expressions.code import Code, Frame, Run, constant, needed, use_iterations
from strabo_runtime.expressions.conformity import Conformity
from strabo_runtime.expressions.errors import ExpressionError
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.syntax import (
    Call,
    Comprehension,
    Constant,
    ListLiteral,
    MapLiteral,
    Name,
    Node,
    Select,
    SyntaxTree,
)
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    TIMESTAMP,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Scalar,
    Type,
)
from strabo_runtime.expressions.typing_rules import NOTHING
from strabo_runtime.expressions.values import decode_number, leaf_decoder

ENTRIES_AN_ITERATION = 16


class Compiler(Builder):
    """Compiles names, fields and literals itself, and leaves calls and macros to their modules."""

    def __init__(self, vocabulary: Vocabulary, tree: SyntaxTree, text: str, conformity: Conformity) -> None:
        super().__init__(vocabulary, tree, text)
        self._conformity = conformity

    def compile(self, node: Node, local: Locals) -> Code:
        try:
            return self._compile(node, local)
        except ExpressionError as error:
            self.errors.append(error)
            return Code(_never, None, written(node))

    def _compile(self, node: Node, local: Locals) -> Code:
        match node:
            case Constant():
                return self._constant(node)
            case Name(_, name):
                return self._name(node, plain_name(name), local)
            case Select():
                return self._select(node, local)
            case ListLiteral(_, items):
                return self._list([self.compile(item, local) for item in items])
            case MapLiteral():
                return self._map(node, local)
            case Comprehension():
                return macros.compile_macro(self, node, local)
            case Call(_, function, target, arguments):
                nodes = (target, *arguments) if target is not None else arguments
                codes = [self.compile(each, local) for each in nodes]
                for compile_call in (
                    logic.compile_call,
                    library.compile_call,
                    functions.compile_call,
                    schema_functions.compile_call,
                ):
                    code = compile_call(self, node, nodes, codes)
                    if code is not None:
                        return code
                code = calls.compile_call(self, self._conformity, node, nodes, codes)
                if code is not None:
                    return code
                raise self.error(
                    node,
                    f"{function}() is not part of this language",
                    "unknown-function",
                    length=len(function),
                )

    # -- names and fields ---------------------------------------------------------------------------------------------

    def _name(self, node: Name, name: str, local: Locals) -> Code:
        if name in local:
            return read_local(local[name], name)
        if name == "now":
            return Code(lambda scope, frame: scope.now, TIMESTAMP, "now")
        if name == "each" and self.vocabulary.each is not None:
            type_ = unwrapped(self.vocabulary.each, self.named)
            nullable = is_optional(self.vocabulary.each, self.named) or type_ == ANY
            return reading.item(type_, nullable, leaf_decoder(type_))
        if name in self.vocabulary.variables:
            declared = self.vocabulary.variables[name]
            type_ = unwrapped(declared, self.named)
            nullable = is_optional(declared, self.named) or type_ == ANY
            return reading.variable(name, type_, nullable, leaf_decoder(type_))
        root = self.vocabulary.roots.get(name)
        if root is None:
            raise self.error(node, f"`{name}` is not a value", "expression-type", length=len(name))
        if root.holder is not None:
            return Code(root.holder, None, name, nullable=True)
        raise self.error(
            node,
            f"`{name}` is not a value by itself",
            "expression-type",
            length=len(name),
            hint=f"read one of its fields: {', '.join(f'{name}.{field}' for field in list(root.fields)[:4])}"
            if root.fields
            else None,
        )

    def _select(self, node: Select, local: Locals) -> Code:
        if (
            isinstance(node.operand, Name)
            and node.operand.name not in local
            and node.operand.name in self.vocabulary.roots
        ):
            return self._root_field(node, node.operand.name)
        operand = self.compile(node.operand, local)
        match operand.type:
            case Record(fields):
                declared = next((field.type for field in fields if field.name == node.field), None)
                if declared is None:
                    raise self.field_error(
                        node,
                        f"`{operand.text}` ({self.describe(operand.type)}) has no field `{node.field}`",
                        [field.name for field in fields],
                    )
                if node.test:
                    return self._test(operand, node.field, null_is_absent=True)
                type_ = unwrapped(declared, self.named)
                return reading.field_of_record(
                    operand, node.field, type_, is_optional(declared, self.named), leaf_decoder(type_)
                )
            case MapOf(value):
                if node.test:
                    return self._test(operand, node.field, null_is_absent=False)
                type_ = unwrapped(value, self.named)
                return reading.key_of_map(
                    operand, node.field, type_, is_optional(value, self.named), leaf_decoder(type_)
                )
            case Scalar("object" | "any"):
                if node.test:
                    return self._test(operand, node.field, null_is_absent=False)
                return reading.key_of_map(operand, node.field, Scalar("any"), True, decode_number)
            case None:
                if node.test:
                    return self._test(operand, node.field, null_is_absent=False)
                return reading.key_of_map(operand, node.field, None, True, None)
        raise self.field_error(node, f"`{operand.text}` ({self.describe(operand.type)}) has no fields")

    def _test(self, operand: Code, field: str, *, null_is_absent: bool) -> Code:
        run = reading.has_field(operand, field, null_is_absent=null_is_absent)
        return Code(run, BOOLEAN, f"has({operand.text}.{field})", pure=True)

    def _root_field(self, node: Select, name: str) -> Code:
        field = self.vocabulary.roots[name].fields.get(node.field)
        if field is None:
            known = self.vocabulary.roots[name].fields
            raise self.field_error(node, f"`{name}` has no field `{node.field}`", known)
        code = reading.root_field(name, node.field, field, unwrapped(field.type, self.named))
        if not node.test:
            return code
        run = code.run
        return Code(
            lambda scope, frame: run(scope, frame) is not None, BOOLEAN, f"has({code.text})", pure=True
        )

    # -- literals -----------------------------------------------------------------------------------------------------

    def _constant(self, node: Constant) -> Code:
        if node.unsupported:
            raise self.error(node, f"{node.unsupported} is not a value of this language", "expression-type")
        value = node.value
        match value:
            case bool():
                return constant(value, BOOLEAN, written(node))
            case int():
                return constant(value, INTEGER, written(node))
            case float():
                if not math.isfinite(value):
                    raise self.error(node, "this number is beyond the range of a double", "expression-value")
                return constant(value, NUMBER, written(node))
            case str():
                return constant(value, STRING, written(node))
            case _:
                return constant(None, None, "null")

    def _list(self, codes: list[Code]) -> Code:
        codes, item = self.unified(codes)
        runs = tuple(code.run for code in codes)
        type_ = None if item is None else ListOf(item)
        return Code(
            self._repeated(lambda scope, frame: [run(scope, frame) for run in runs], len(runs)),
            type_,
            "[...]",
            pure=all(code.pure for code in codes),
        )

    def _map(self, node: MapLiteral, local: Locals) -> Code:
        if node.message_name:
            raise self.error(
                node,
                "a typed literal is not part of this language; write {'field': value}",
                "expression-type",
            )
        keys = [needed(self.compile(key, local)) for key, _ in node.entries]
        for (key_node, _), key in zip(node.entries, keys, strict=True):
            if key.type is not None and key.type != STRING and not isinstance(key.type, type(NOTHING)):
                raise self.error(
                    key_node, "the keys of an object are texts", "expression-type", length=len(key.text)
                )
        values = [self.present(self.compile(value, local)) for _, value in node.entries]
        names = [
            key.value for key, _ in node.entries if isinstance(key, Constant) and isinstance(key.value, str)
        ]
        type_: Type | None
        if len(set(names)) == len(node.entries) and all(value.type is not None for value in values):
            type_ = Record(
                tuple(
                    Field(name, OptionalOf(value.type) if value.nullable else value.type)
                    for name, value in zip(names, values, strict=True)
                    if value.type is not None
                )
            )
        else:
            values, item = self.unified(values)
            type_ = None if item is None else MapOf(item)
        runs = tuple((key.run, value.run) for key, value in zip(keys, values, strict=True))
        return Code(
            self._repeated(
                lambda scope, frame: {
                    library.key(key(scope, frame)): value(scope, frame) for key, value in runs
                },
                len(runs),
            ),
            type_,
            "{...}",
            pure=all(code.pure for code in values),
        )

    def _repeated(self, run: Run, entries: int) -> Run:
        """A literal inside a macro is made again and again: a long one counts as more than one iteration."""
        more = entries // ENTRIES_AN_ITERATION
        if self.loops == 0 or more == 0:
            return run

        def charging(scope: Scope, frame: Frame) -> Any:
            use_iterations(frame, more)
            return run(scope, frame)

        return charging


def read_local(held: Local, name: str) -> Code:
    """A macro's variable. Its value is decoded on its way into the frame."""
    slot = held.slot
    return Code(
        lambda scope, frame: frame[slot],
        held.type,
        name,
        nullable=held.nullable,
        origin=("slot", slot),
        pure=held.type is not None and leaf_decoder(held.type) is None,
    )


def _never(scope: Scope, frame: Frame) -> Any:
    raise AssertionError("a part with an error was run")
