"""Values held against the type of the place they go to: when the file loads where that can be told, else each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from strabo_runtime.expressions.code import Code, Frame, absence, needed
from strabo_runtime.expressions.errors import EvaluationError, ExpressionError
from strabo_runtime.expressions.resolution import is_optional, resolve, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import ANY, BOOLEAN, EnumOf, NamedTypes, Type
from strabo_runtime.expressions.typing_rules import Misfit, fits
from strabo_runtime.expressions.validator import PayloadValidator
from strabo_runtime.expressions.values import encode


class Conformity:
    """Makes code give stored JSON of an expected type."""

    def __init__(self, named: NamedTypes) -> None:
        self._named = named
        self._validators: dict[Type, PayloadValidator] = {}

    def conforming(self, code: Code, expect: Type, text: str) -> Code:
        """The code, which then gives stored JSON of the expected type or fails.

        Raises ExpressionError when it never could.
        """
        expected = unwrapped(expect, self._named)
        offset, length = _extent(text)
        if code.constant and isinstance(expected, EnumOf):
            self._check_enum(code, expected, offset, length)
        accepts_null = is_optional(expect, self._named) or resolve(expect, self._named) == ANY
        if code.constant and code.type is None and not accepts_null:
            raise ExpressionError(
                "null is given where a value is needed", code="expression-type", offset=offset, length=length
            )
        try:
            certain = (code.constant and code.type is None) or fits(code.type, expected, self._named)
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
        finish = self._finish(code, expected, certain)
        message = absence(code)
        if accepts_null and plain and finish is None:
            return replace(code, run=read, pure=True, stored=None)

        def run(scope: Scope, frame: Frame) -> Any:
            value = read(scope, frame)
            if value is None:
                if accepts_null:
                    return None
                raise EvaluationError(f"{message}, but a value is needed")
            if not plain:
                value = encode(value)
            return value if finish is None else finish(value)

        return Code(run, code.type, code.text, nullable=accepts_null, pure=True)

    def _finish(self, code: Code, expected: Type, certain: bool) -> Callable[[Any], Any] | None:
        """What is left to do with a value: nothing, bringing it into stored form, or checking it as well."""
        validator = self._validator(expected)
        if certain:
            return None if code.type == expected else validator.normal

        def checked(value: Any) -> Any:
            errors = validator.errors(value)
            if errors:
                raise EvaluationError(f"`{code.text}` does not fit: {'; '.join(errors[:3])}")
            return validator.normal(value)

        return checked

    def _validator(self, expected: Type) -> PayloadValidator:
        if expected not in self._validators:
            self._validators[expected] = PayloadValidator(expected, self._named)
        return self._validators[expected]

    def _check_enum(self, code: Code, expected: EnumOf, offset: int, length: int) -> None:
        value = code.run(None, [])  # type: ignore[arg-type]
        if isinstance(value, str) and value not in expected.values:
            raise ExpressionError(
                f"{value!r} is not one of {', '.join(expected.values)}",
                code="unknown-enum-value",
                offset=offset,
                length=length,
                hint=did_you_mean(value, expected.values),
            )


def _extent(text: str) -> tuple[int, int]:
    """Where the expression stands in its text, without the blanks around it."""
    stripped = text.strip()
    return text.find(stripped), max(1, len(stripped))
