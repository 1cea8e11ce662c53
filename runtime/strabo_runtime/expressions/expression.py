"""A compiled expression: text, test, evaluate."""

from __future__ import annotations

from typing import Any

from strabo_runtime.expressions.code import ITERATIONS, BudgetExceeded, Code, Frame, Run
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.operators import kind
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.types import Json
from strabo_runtime.expressions.values import as_text, encode

_UNEXPECTED = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
"""What Python raises when a stored value does not have its declared type, or a computation outgrows the machine."""


class Expression:
    """One checked CEL expression. Evaluating it reads the scope and changes nothing."""

    __slots__ = ("_code", "_slots", "text")

    def __init__(self, text: str, code: Code, slots: int) -> None:
        self.text = text
        self._code = code
        self._slots = slots

    def test(self, scope: Scope) -> bool:
        """The value, which must be true or false. Raises EvaluationError; an error is never a mere false."""
        value = self._run(self._code.run, scope)
        if value is True or value is False:
            return value
        raise EvaluationError(f"{_shortened(self.text)}: the result is not true or false but {kind(value)}")

    def evaluate(self, scope: Scope) -> Json:
        """The value as stored JSON. Raises EvaluationError."""
        code = self._code
        if code.stored is not None:
            value: Json = self._run(code.stored, scope)
            return value
        value = self._run(code.run, scope)
        return value if code.pure else self._guarded(encode, value)

    def as_text(self, scope: Scope) -> str:
        """The value as it stands inside a text. Raises EvaluationError, also for null and what is absent."""
        value = self._run(self._code.run, scope)
        if value is None:
            raise EvaluationError(f"{_shortened(self.text)}: null cannot stand inside a text")
        return str(self._guarded(as_text, value))

    def _run(self, run: Run, scope: Scope) -> Any:
        frame: Frame = [0] * self._slots
        try:
            return run(scope, frame)
        except EvaluationError as error:
            raise EvaluationError(f"{_shortened(self.text)}: {error.text}") from None
        except BudgetExceeded:
            raise EvaluationError(
                f"{_shortened(self.text)}: more than {ITERATIONS} iterations in one evaluation"
            ) from None
        except _UNEXPECTED as error:
            raise EvaluationError(f"{_shortened(self.text)}: {type(error).__name__}: {error}") from None

    def _guarded(self, convert: Any, value: Any) -> Any:
        try:
            return convert(value)
        except EvaluationError as error:
            raise EvaluationError(f"{_shortened(self.text)}: {error.text}") from None
        except _UNEXPECTED as error:
            raise EvaluationError(f"{_shortened(self.text)}: {type(error).__name__}: {error}") from None

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def _shortened(text: str) -> str:
    """The expression on one line, for a message."""
    line = " ".join(text.split())
    return f"`{line}`" if len(line) <= 100 else f"`{line[:97]}...`"
