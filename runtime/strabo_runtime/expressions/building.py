"""What every module that compiles a part of an expression stands on: the vocabulary, types brought together, errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from strabo_runtime.expressions.cel import plain_name
from strabo_runtime.expressions.code import Code, Frame, Run, is_null, needed, use_iterations
from strabo_runtime.expressions.depth import built_size
from strabo_runtime.expressions.errors import ExpressionError
from strabo_runtime.expressions.reading import Root
from strabo_runtime.expressions.registry import Function
from strabo_runtime.expressions.resolution import describe
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.syntax import (
    Call,
    Constant,
    ListLiteral,
    MapLiteral,
    Name,
    Node,
    Select,
    SyntaxTree,
)
from strabo_runtime.expressions.types import NamedTypes, OptionalOf, Type
from strabo_runtime.expressions.typing_rules import NOTHING, common, scalar_kind
from strabo_runtime.expressions.values import Decoders


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What an expression may read: variables by declared type, roots by name, the item of a `for_each`, functions.

    `functions_used` gathers the names of the registered functions that its expressions call.
    """

    named: NamedTypes
    variables: Mapping[str, Type]
    roots: Mapping[str, Root]
    decoders: Decoders
    each: Type | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    functions_used: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Local:
    """A macro's variable: where it is kept, and what it holds."""

    slot: int
    type: Type | None
    nullable: bool


Locals = Mapping[str, Local]

_UNITS_AN_ITERATION = 1024
"""So much of a value that a macro copies or compares counts as one more iteration."""


class Builder(ABC):
    """Compiles one tree. Errors are gathered, so that one wrong name does not hide the next."""

    def __init__(self, vocabulary: Vocabulary, tree: SyntaxTree, text: str) -> None:
        self.vocabulary = vocabulary
        self.named = vocabulary.named
        self.text = text
        self.errors: list[ExpressionError] = []
        self.slots = 1
        self.loops = 0
        self._offsets = tree.offsets

    @abstractmethod
    def compile(self, node: Node, local: Locals) -> Code:
        """One part. After an error it stands for an unknown value, so that the rest is still looked at."""

    def describe(self, type_: Type | None) -> str:
        """A type as an author writes it."""
        return "any" if type_ is None else describe(type_, self.named)

    def present(self, code: Code) -> Code:
        """The code, with an error where it is an absent field; a null of a variable is a value."""
        return needed(code) if code.is_field else code

    def decoded(self, code: Code) -> Code:
        """The value decoded through and through, its type forgotten."""
        if code.type is None:
            return code
        type_ = code.type
        code = self.present(code)
        decoder = self.vocabulary.decoders.of(type_)
        code = self.weighed(code)
        if decoder is None:
            return replace(code, type=None, stored=None, origin=None)
        run, decode = code.run, decoder

        def decoding(scope: Scope, frame: Frame) -> Any:
            value = run(scope, frame)
            return None if value is None else decode(value)

        return replace(code, run=decoding, type=None, pure=False, stored=None, origin=None)

    def weighed(self, code: Code) -> Code:
        """The code of a value that is walked through and through: bounded, and inside a macro charged to the budget."""
        if scalar_kind(code.type) is not None or (self.loops == 0 and code.stored is not None):
            return code
        return replace(code, run=_weighing(code.run, charged=self.loops > 0))

    def unified(self, codes: list[Code]) -> tuple[list[Code], Type | None]:
        """Codes brought to one type, and that type; None when they had to be decoded."""
        codes = [self.present(code) for code in codes]
        type_: Type | None = NOTHING
        nullable = False
        for code in codes:
            nullable = nullable or code.nullable
            if is_null(code):
                continue
            type_ = None if type_ is None or code.type is None else common(type_, code.type, self.named)
        if type_ is None:
            return [self.decoded(code) for code in codes], None
        return codes, OptionalOf(type_) if nullable else type_

    def slot(self) -> int:
        """A new place in the frame."""
        self.slots += 1
        return self.slots - 1

    def offset(self, node: Node) -> int:
        """Where the library says that a node stands."""
        return self._offsets.get(node.id, 0)

    def error(
        self,
        node: Node,
        message: str,
        code: str,
        *,
        length: int = 1,
        hint: str | None = None,
        known: Iterable[str] = (),
    ) -> ExpressionError:
        """An error at a node: its first character, or the name before a call's bracket."""
        offset = self.offset(node)
        if isinstance(node, Call) and self.text[offset : offset + 1] == "(":
            offset = max(0, offset - len(node.function))
        return ExpressionError(message, code=code, offset=offset, length=length, hint=hint, known=known)

    def field_error(self, node: Select, message: str, known: Iterable[str] = ()) -> ExpressionError:
        """An error at the field's name, which follows the dot that the library points at; `known` could stand there."""
        offset = self.text.find(node.field, self.offset(node))
        return ExpressionError(
            message,
            code="unknown-field",
            offset=max(offset, 0),
            length=len(node.field),
            hint=did_you_mean(node.field, known),
            known=known,
        )


def _weighing(run: Run, *, charged: bool) -> Run:
    def weighing(scope: Scope, frame: Frame) -> Any:
        value = run(scope, frame)
        if isinstance(value, (dict, list, tuple)):
            size = built_size(value)
            if charged:
                use_iterations(frame, size // _UNITS_AN_ITERATION)
        return value

    return weighing


def written(node: Node) -> str:
    """A part of an expression as text, for messages; long parts are shortened."""
    match node:
        case Constant(_, value):
            return _literal(value)
        case Name(_, name):
            return plain_name(name)
        case Select(_, operand, field, test):
            path = f"{written(operand)}.{field}"
            return f"has({path})" if test else path
        case Call(_, "_[_]", _, (container, position)):
            return f"{written(container)}[{written(position)}]"
        case Call(_, function, target, _):
            name = function.strip("_")
            return f"{written(target)}.{name}(...)" if target is not None else f"{name}(...)"
        case ListLiteral():
            return "[...]"
        case MapLiteral():
            return "{...}"
        case _:
            return f"{written(node.source)}(...)"


def _literal(value: bool | int | float | str | None) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)
