"""The errors of expressions, split by who must act.

ExpressionError     the protocol's author: an expression that can never run; it has a position in the text given
ExpressionErrors    the same, several at once, each with its path inside one YAML value
EvaluationError     the step: an expression that failed with the values at hand; never raised for a mere false
FunctionsError      the author of a package, or whoever installed it: registered functions that cannot be used
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Path: TypeAlias = tuple["str | int", ...]
"""Where a text stands inside a nested YAML value: keys and list positions, outermost first."""


class ExpressionError(Exception):
    """What is wrong with one expression. `offset` and `length` count code points of the text that was given.

    `known` are the names that could stand in the place of an unknown one. `others` are further errors found in the same
    text, in order of their position.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        offset: int = 0,
        length: int = 1,
        hint: str | None = None,
        known: Iterable[str] = (),
        others: Sequence[ExpressionError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.offset = offset
        self.length = length
        self.hint = hint
        self.known = tuple(known)
        self.others = tuple(others)

    def moved(self, distance: int) -> ExpressionError:
        """The same error, for a text in which this one's stands `distance` further right."""
        return ExpressionError(
            self.message,
            code=self.code,
            offset=self.offset + distance,
            length=self.length,
            hint=self.hint,
            known=self.known,
            others=[other.moved(distance) for other in self.others],
        )

    def flattened(self) -> tuple[ExpressionError, ...]:
        """This error and all others of the same text."""
        return (self, *self.others)


class ExpressionErrors(Exception):
    """Every error of a nested value, each with the path of the text that it is in."""

    def __init__(self, errors: Sequence[tuple[Path, ExpressionError]]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, path))}: {error.message}" for path, error in errors))
        self.errors = tuple(errors)


class FunctionsError(Exception):
    """What a package registers under `strabo.functions` cannot be used; the text names the package."""


class EvaluationError(Exception):
    """An expression failed: something absent was read, a number overflowed, the iteration budget ran out, ..."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
