"""A compiled part of an expression: what runs, and what is known of its value when the file loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.types import Json, Type

Frame: TypeAlias = list[Any]
"""One evaluation's own values: the iterations used so far, then one slot a macro variable."""

Run: TypeAlias = Callable[[Scope, Frame], Any]

Origin: TypeAlias = (
    "tuple[Literal['variable'], str] | tuple[Literal['payload'], None] | tuple[Literal['slot'], int]"
)
"""Where a value comes from directly, so that reading a field of it takes one call instead of two."""

ITERATIONS = 10_000
"""How many iterations one evaluation may use in all."""

CHARACTERS_AN_ITERATION = 256
"""So many characters that a macro joins count as one more iteration."""


class BudgetExceeded(Exception):
    """More than ITERATIONS. No EvaluationError, because `||` and `exists` pass over those."""


@dataclass(frozen=True, slots=True)
class Code:
    """`run` gives the value.

    With a `type` (resolved, never optional), a scalar value is decoded (timestamps are datetimes, a number in an `any`
    is a float) while an object or a list is stored JSON as it is, decoded where it is read. With `type` None the
    checker knows nothing, and the value is decoded through and through.

    `nullable`: the value may be None, which `needed` refuses. `is_field`: None stands for an absent field, not for a
    null. `pure`: the value is JSON as it stands. `stored` gives the stored JSON of a bare path, where it differs from
    the value. `measured`: how large the value is has been looked at.
    """

    run: Run
    type: Type | None
    text: str
    nullable: bool = False
    is_field: bool = False
    pure: bool = False
    stored: Run | None = None
    origin: Origin | None = None
    constant: bool = False
    measured: bool = False


def is_null(code: Code) -> bool:
    """Whether it is the literal null."""
    return code.constant and code.nullable


def needed(code: Code) -> Code:
    """The same code, with an error where it gives None."""
    if not code.nullable:
        return code
    run, message = code.run, absence(code)

    def checked(scope: Scope, frame: Frame) -> Any:
        value = run(scope, frame)
        if value is None:
            raise EvaluationError(message)
        return value

    return replace(code, run=checked, nullable=False, is_field=False, stored=None, origin=None)


def absence(code: Code) -> str:
    """What to say when the code gives None where a value is needed."""
    if code.is_field:
        return f"`{code.text}` is absent; test it with has({code.text}) first"
    return f"`{code.text}` is null"


def use_iterations(frame: Frame, count: int) -> None:
    """Charge the budget. Raises BudgetExceeded."""
    used = frame[0] = frame[0] + count
    if used > ITERATIONS:
        raise BudgetExceeded


def constant(value: Json, type_: Type | None, text: str) -> Code:
    """The code of a literal."""
    return Code(lambda scope, frame: value, type_, text, nullable=value is None, pure=True, constant=True)
