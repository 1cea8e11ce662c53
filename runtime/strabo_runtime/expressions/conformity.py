"""Values held against the type of the place they go to: when the file loads where that can be told, else each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from strabo_runtime.expressions.building import Builder
from strabo_runtime.expressions.code import Code, Frame, absence, is_null, needed
from strabo_runtime.expressions.depth import built_size, is_deep, too_deep
from strabo_runtime.expressions.errors import EvaluationError, ExpressionError
from strabo_runtime.expressions.logic import check_enum_value
from strabo_runtime.expressions.resolution import is_optional, resolve, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.syntax import Call, Constant, ListLiteral, MapLiteral, Node
from strabo_runtime.expressions.types import ANY, BOOLEAN, EnumOf, ListOf, NamedTypes, Record, Type
from strabo_runtime.expressions.typing_rules import Misfit, fits, scalar_kind
from strabo_runtime.expressions.validator import PayloadValidator
from strabo_runtime.expressions.values import encode


class Conformity:
    """Makes code give stored JSON of an expected type."""

    def __init__(self, named: NamedTypes) -> None:
        self._named = named
        self._validators: dict[Type, PayloadValidator] = {}

    def check_literals(self, builder: Builder, node: Node, expect: Type) -> None:
        """Texts that are given to an enum as they stand, also in a branch or inside a literal. Gathers the errors."""
        expected = unwrapped(expect, self._named)
        match node, expected:
            case Constant(), EnumOf():
                check_enum_value(builder, node, expected)
            case Call(_, "_?_:_", None, (_, then, otherwise)), _:
                self.check_literals(builder, then, expected)
                self.check_literals(builder, otherwise, expected)
            case ListLiteral(_, items), ListOf(item):
                for each in items:
                    self.check_literals(builder, each, item)
            case MapLiteral(_, entries, _), Record(fields):
                types = {field.name: field.type for field in fields}
                for key, value in entries:
                    if isinstance(key, Constant) and isinstance(key.value, str) and key.value in types:
                        self.check_literals(builder, value, types[key.value])

    def conforming(self, code: Code, expect: Type, extent: tuple[int, int]) -> Code:
        """The code, which then gives stored JSON of the expected type or fails.

        Raises ExpressionError when it never could; `extent` says where the code stands, and how long it is.
        """
        expected = unwrapped(expect, self._named)
        offset, length = extent
        accepts_null = is_optional(expect, self._named) or resolve(expect, self._named) == ANY
        if is_null(code) and not accepts_null:
            raise ExpressionError(
                "null is given where a value is needed", code="expression-type", offset=offset, length=length
            )
        try:
            certain = is_null(code) or fits(code.type, expected, self._named)
        except Misfit as misfit:
            raise ExpressionError(
                misfit.message, code="expression-type", offset=offset, length=length, hint=misfit.hint
            ) from None
        if expected == BOOLEAN and code.type == BOOLEAN:
            return code if accepts_null else needed(code)
        return self._stored(code, expected, certain, accepts_null)

    def _stored(self, code: Code, expected: Type, certain: bool, accepts_null: bool) -> Code:
        read = code.stored or code.run
        plain = code.pure or code.stored is not None
        # What is copied is as large as the original; what is built may hold a stored value many times, or in one more
        # level at every step.
        built = code.stored is None and scalar_kind(expected) is None
        finish = self._finish(code, expected, certain)
        message = absence(code)
        if accepts_null and plain and finish is None and not built:
            return replace(code, run=read, pure=True, stored=None, measured=True)

        def run(scope: Scope, frame: Frame) -> Any:
            value = read(scope, frame)
            if value is None:
                if accepts_null:
                    return None
                raise EvaluationError(f"{message}, but a value is needed")
            if built and isinstance(value, (dict, list, tuple)):
                built_size(value)
            if not plain:
                value = encode(value)
            return value if finish is None else finish(value)

        return Code(run, code.type, code.text, nullable=accepts_null, pure=True, measured=True)

    def _finish(self, code: Code, expected: Type, certain: bool) -> Callable[[Any], Any] | None:
        """What is left to do with a value: nothing, bringing it into stored form, or checking it as well."""
        validator = self._validator(expected)
        if certain:
            return None if code.type == expected else validator.normal

        def checked(value: Any) -> Any:
            if is_deep(value):
                raise too_deep()
            errors = validator.errors(value)
            if errors:
                raise EvaluationError(f"`{code.text}` does not fit: {'; '.join(errors[:3])}")
            return validator.normal(value)

        return checked

    def _validator(self, expected: Type) -> PayloadValidator:
        if expected not in self._validators:
            self._validators[expected] = PayloadValidator(expected, self._named)
        return self._validators[expected]


def extent_of(text: str) -> tuple[int, int]:
    """Where the expression stands in its text, without the blanks around it."""
    stripped = text.strip()
    return text.find(stripped), max(1, len(stripped))
