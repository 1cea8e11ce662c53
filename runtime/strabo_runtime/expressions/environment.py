"""A protocol's declarations, against which its expressions and templates are compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strabo_runtime.expressions.building import Vocabulary
from strabo_runtime.expressions.cel import Checker
from strabo_runtime.expressions.code import Code
from strabo_runtime.expressions.compiler import Compiler
from strabo_runtime.expressions.conformity import Conformity, extent_of
from strabo_runtime.expressions.descriptors import Descriptors
from strabo_runtime.expressions.errors import ExpressionError
from strabo_runtime.expressions.expression import Expression
from strabo_runtime.expressions.facts import Agents, Context, EventFacts, InstanceFacts, MessageFacts
from strabo_runtime.expressions.reading import Root
from strabo_runtime.expressions.registry import Function
from strabo_runtime.expressions.reports import combined
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.roots import Roots
from strabo_runtime.expressions.scanning import closing_brace
from strabo_runtime.expressions.scope import Scope, Variables
from strabo_runtime.expressions.template import Rendering, Template, TemplateCompiler
from strabo_runtime.expressions.types import Field, ListOf, MapOf, NamedTypes, OptionalOf, Record, Type
from strabo_runtime.expressions.values import Decoders


class Environment:
    """Compiles the expressions of one protocol. `types` holds every named type, message payloads included."""

    def __init__(
        self,
        *,
        types: NamedTypes,
        messages: Mapping[str, Type],
        events: Mapping[str, Type | None],
        variables: Mapping[str, Type],
        roles: Sequence[str],
        starting: Sequence[str],
        inputs: Mapping[str, Type] | None = None,
        children: Sequence[str] = (),
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        """`starting` are the message types that may start the protocol, `children` the names (`as`) of its children.

        `inputs` are read by name as variables are. `functions` are the registered ones, each in the version to use.
        """
        self.types = types
        self._variables = {**(inputs or {}), **variables}
        self._functions = dict(functions or {})
        self._functions_used: set[str] = set()
        self._root_types: dict[str, str] = {}
        self._descriptors = Descriptors(types)
        self._roots = Roots(types, messages, events, roles, starting, children)
        self._decoders = Decoders(types)
        self._conformity = Conformity(types)
        self._compilations: dict[Context, tuple[Checker, Vocabulary]] = {}

    @property
    def functions_used(self) -> frozenset[str]:
        """The names of the registered functions that the expressions compiled so far call."""
        return frozenset(self._functions_used)

    def expression(self, text: str, context: Context, *, expect: Type | None = None) -> Expression:
        """A bare CEL expression; a surrounding `${ }` is allowed. Raises ExpressionError."""
        inner, offset = _unbraced(text)
        try:
            code, slots = self._compiled(inner, context, expect)
        except ExpressionError as error:
            raise error.moved(offset) from None
        return Expression(inner.strip(), code, slots)

    def template(self, value: Any, context: Context, *, expect: Type | None = None) -> Template:
        """A YAML value with expressions in it, checked field by field against `expect`. Raises ExpressionErrors."""

        def compile_expression(text: str, expected: Type | None) -> Rendering:
            code, slots = self._compiled(text, context, expected)
            expression = Expression(text.strip(), code, slots)
            return Rendering(expression.evaluate, constant=False, as_text=expression.as_text)

        return TemplateCompiler(compile_expression, self.types).compile(value, expect)

    def scope(
        self,
        variables: Variables,
        *,
        now: int,
        instance: InstanceFacts,
        roles: Mapping[str, Agents],
        pending: Mapping[str, Agents],
        message: MessageFacts | None = None,
        event: EventFacts | None = None,
        starting: MessageFacts | None = None,
    ) -> Scope:
        """What expressions read during one step; `now` is in milliseconds since the epoch."""
        return Scope(
            variables,
            now=now,
            instance=instance,
            roles=roles,
            pending=pending,
            message=message,
            event=event,
            starting=starting,
        )

    def _compiled(self, text: str, context: Context, expect: Type | None) -> tuple[Code, int]:
        """The code of an expression, and how many places its frame has. Raises ExpressionError."""
        checker, vocabulary = self._compilation(context)
        tree = checker.check(text)
        compiler = Compiler(vocabulary, tree, text, self._conformity)
        code = compiler.compile(tree.root, {})
        if expect is not None:
            self._conformity.check_literals(compiler, tree.root, expect)
        if compiler.errors:
            unique = {(error.offset, error.message): error for error in compiler.errors}
            raise combined(sorted(unique.values(), key=lambda error: error.offset))
        if expect is not None:
            code = self._conformity.conforming(code, expect, extent_of(text))
        return code, compiler.slots

    def _compilation(self, context: Context) -> tuple[Checker, Vocabulary]:
        """The checker and vocabulary of a place, made once for each kind of place."""
        if context not in self._compilations:
            roots = self._roots.of(context)
            values = self._variables if context.each is None else {**self._variables, "each": context.each}
            names = {name: self._descriptors.cel_type(type_) for name, type_ in values.items()}
            names["now"] = "google.protobuf.Timestamp"
            for name, root in roots.items():
                names[name] = self._root_type(name, root)
            checker = Checker(
                self._descriptors, names, self._optional_collections(values), tuple(self._functions.values())
            )
            vocabulary = Vocabulary(
                self.types,
                self._variables,
                roots,
                self._decoders,
                each=context.each,
                functions=self._functions,
                functions_used=self._functions_used,
            )
            self._compilations[context] = checker, vocabulary
        return self._compilations[context]

    def _root_type(self, name: str, root: Root) -> str:
        """How CEL writes the type of a root. One that every place shares is described once: it may have many fields."""
        if self._roots.everywhere.get(name) is not root:
            return self._descriptors.cel_type(_record(root), name=name)
        if name not in self._root_types:
            self._root_types[name] = self._descriptors.cel_type(_record(root), name=name)
        return self._root_types[name]

    def _optional_collections(self, values: Mapping[str, Type]) -> frozenset[str]:
        """The lists and maps that may be null."""
        return frozenset(
            name
            for name, type_ in values.items()
            if is_optional(type_, self.types) and isinstance(unwrapped(type_, self.types), (ListOf, MapOf))
        )


def _record(root: Root) -> Record:
    """A root as a type, for CEL's checker."""
    return Record(
        tuple(
            Field(name, OptionalOf(field.type) if field.optional else field.type)
            for name, field in root.fields.items()
        )
    )


def _unbraced(text: str) -> tuple[str, int]:
    """The expression inside a surrounding `${ }`, and how far it was moved."""
    stripped = text.strip()
    if stripped.startswith("${"):
        start = text.index("${") + 2
        if closing_brace(text, start) == len(text.rstrip()) - 1:
            return text[start : len(text.rstrip()) - 1], start
    return text, 0
