"""A compiled expression: text, test, evaluate."""

from __future__ import annotations

from strabo_runtime.expressions.code import ITERATIONS, BudgetExceeded, Code
from strabo_runtime.expressions.depth import built_size
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.operators import kind
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.types import ANY, Json, ListOf, Type
from strabo_runtime.expressions.typing_rules import NOTHING
from strabo_runtime.expressions.values import as_text, encode

_FAILURES = (
    EvaluationError,
    BudgetExceeded,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
"""What an evaluation may raise. Python's own errors come of a stored value that does not have its declared type."""


class Expression:
    """One checked CEL expression. Evaluating it reads the scope and changes nothing."""

    __slots__ = ("_code", "_run", "_slots", "text")

    def __init__(self, text: str, code: Code, slots: int) -> None:
        self.text = text
        self._code = code
        self._run = code.run
        self._slots = slots

    def test(self, scope: Scope) -> bool:
        """The value, which must be true or false. Raises EvaluationError; an error is never a mere false."""
        try:
            value = self._run(scope, [0] * self._slots)
        except _FAILURES as error:
            raise self._failed(error) from None
        if value is True or value is False:
            return value
        raise self._failed(EvaluationError(f"the result is not true or false but {kind(value)}"))

    def evaluate(self, scope: Scope) -> Json:
        """The value as stored JSON. Raises EvaluationError."""
        code = self._code
        try:
            if code.stored is not None:
                value: Json = code.stored(scope, [0] * self._slots)
                return value
            value = self._run(scope, [0] * self._slots)
            if not code.measured and isinstance(value, (dict, list, tuple)):
                built_size(value)
            return value if code.pure else encode(value)
        except _FAILURES as error:
            raise self._failed(error) from None

    def as_text(self, scope: Scope) -> str:
        """The value as it stands inside a text. Raises EvaluationError, also for null and what is absent."""
        try:
            value = self._run(scope, [0] * self._slots)
            if value is None:
                raise EvaluationError("null cannot stand inside a text")
            return as_text(value)
        except _FAILURES as error:
            raise self._failed(error) from None

    def _failed(self, error: BaseException) -> EvaluationError:
        """The error with the expression that it is in."""
        if isinstance(error, EvaluationError):
            reason = error.text
        elif isinstance(error, BudgetExceeded):
            reason = f"more than {ITERATIONS} iterations in one evaluation"
        else:
            reason = f"a value is not what it was declared to be ({type(error).__name__}: {error})"
        return EvaluationError(f"{_shortened(self.text)}: {reason}")

    @property
    def type(self) -> Type | None:
        """The type of the value, without its `?`; None where nothing is known of it when the file loads."""
        return self._code.type

    @property
    def item_type(self) -> Type:
        """The type of the items of the list that it gives; `any` where nothing is known of them."""
        known = self._code.type
        return known.item if isinstance(known, ListOf) and known.item != NOTHING else ANY

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def _shortened(text: str) -> str:
    """The expression on one line, for a message."""
    line = " ".join(text.split())
    return f"`{line}`" if len(line) <= 100 else f"`{line[:97]}...`"
