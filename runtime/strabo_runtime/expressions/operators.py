"""CEL's operators on decoded values: 64-bit integers that overflow, comparison across number types, else errors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.schema import LARGEST_INTEGER, SMALLEST_INTEGER

Binary: TypeAlias = Callable[[Any, Any], Any]

MOST_CHARACTERS = 1024 * 1024
MOST_ITEMS = 100_000
"""What `+` and texts with expressions may make: more than any instance could keep."""


def kind(value: Any) -> str:
    """The name of a value's type in the language, for errors and for choosing what an operator does."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case datetime():
            return "timestamp"
        case timedelta():
            return "duration"
        case dict():
            return "object"
        case _:
            return "list"


def no_overload(operator: str, *values: Any) -> EvaluationError:
    """The error of an operator that does not take these values."""
    kinds = [kind(value) for value in values]
    hint = " (numbers in an object are doubles: write 2.0)" if {"integer", "number"} <= set(kinds) else ""
    return EvaluationError(f"`{operator}` does not take {' and '.join(kinds)}{hint}")


def checked_integer(value: int) -> int:
    """The value, if it fits 64 bits."""
    if SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
        return value
    raise EvaluationError("integer overflow")


def add_integers(left: int, right: int) -> int:
    return checked_integer(left + right)


def subtract_integers(left: int, right: int) -> int:
    return checked_integer(left - right)


def multiply_integers(left: int, right: int) -> int:
    return checked_integer(left * right)


def divide_integers(left: int, right: int) -> int:
    """Rounded towards zero, as in C, Go and Java."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_integer(quotient if (left < 0) == (right < 0) else -quotient)


def remainder_integers(left: int, right: int) -> int:
    """With the sign of the dividend."""
    if right == 0:
        raise EvaluationError("division by zero")
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def divide_numbers(left: float, right: float) -> float:
    """An error for a zero divisor, where CEL would give an infinity that JSON cannot hold."""
    if right == 0:
        raise EvaluationError("division by zero")
    return left / right


def add_times(left: Any, right: Any) -> Any:
    """A timestamp and a duration, either way round, or two durations."""
    try:
        return left + right
    except OverflowError:
        raise EvaluationError("the sum of these times is out of range") from None


def subtract_times(left: Any, right: Any) -> Any:
    """Two timestamps, a timestamp and a duration, or two durations."""
    try:
        return left - right
    except OverflowError:
        raise EvaluationError("the difference of these times is out of range") from None


def add_texts(left: str, right: str) -> str:
    """The texts joined; bounded, for each of a hundred steps in a row might double a text."""
    check_length(len(left) + len(right))
    return left + right


def add_lists(left: Any, right: Any) -> list[Any]:
    """The lists joined; bounded as texts are."""
    if len(left) + len(right) > MOST_ITEMS:
        raise EvaluationError(f"the list would have more than {MOST_ITEMS} items")
    return [*left, *right]


def check_length(characters: int) -> None:
    """Raises EvaluationError for a text that is too long to be made."""
    if characters > MOST_CHARACTERS:
        raise EvaluationError(f"the text would have more than {MOST_CHARACTERS} characters")


def add(left: Any, right: Any) -> Any:
    """`+` where the checker did not know the types."""
    match kind(left), kind(right):
        case "integer", "integer":
            return add_integers(left, right)
        case "number", "number":
            return left + right
        case "string", "string":
            return add_texts(left, right)
        case "list", "list":
            return add_lists(left, right)
        case ("timestamp", "duration") | ("duration", "timestamp") | ("duration", "duration"):
            return add_times(left, right)
    raise no_overload("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    """`-` where the checker did not know the types."""
    match kind(left), kind(right):
        case "integer", "integer":
            return subtract_integers(left, right)
        case "number", "number":
            return left - right
        case ("timestamp", "duration" | "timestamp") | ("duration", "duration"):
            return subtract_times(left, right)
    raise no_overload("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    """`*` where the checker did not know the types."""
    match kind(left), kind(right):
        case "integer", "integer":
            return multiply_integers(left, right)
        case "number", "number":
            return left * right
    raise no_overload("*", left, right)


def divide(left: Any, right: Any) -> Any:
    """`/` where the checker did not know the types."""
    match kind(left), kind(right):
        case "integer", "integer":
            return divide_integers(left, right)
        case "number", "number":
            return divide_numbers(left, right)
    raise no_overload("/", left, right)


def remainder(left: Any, right: Any) -> Any:
    """`%` where the checker did not know the types."""
    if kind(left) == kind(right) == "integer":
        return remainder_integers(left, right)
    raise no_overload("%", left, right)


def negate(value: Any) -> Any:
    """Unary `-`."""
    match kind(value):
        case "integer":
            return checked_integer(-value)
        case "number":
            return -value
    raise no_overload("-", value)


def compare(operator: str, left: Any, right: Any) -> int:
    """-1, 0 or 1 as left is less than, equal to or greater than right; 2 when a NaN is among them."""
    left_kind, right_kind = kind(left), kind(right)
    comparable = left_kind == right_kind and left_kind not in ("null", "object", "list")
    if not comparable and {left_kind, right_kind} != {"integer", "number"}:
        raise no_overload(operator, left, right)
    if left == right:
        return 0
    if left < right:
        return -1
    return 1 if left > right else 2


def less(left: Any, right: Any) -> bool:
    return compare("<", left, right) == -1


def less_or_equal(left: Any, right: Any) -> bool:
    return compare("<=", left, right) in (-1, 0)


def greater(left: Any, right: Any) -> bool:
    return compare(">", left, right) == 1


def greater_or_equal(left: Any, right: Any) -> bool:
    return compare(">=", left, right) in (0, 1)


def equal(left: Any, right: Any) -> bool:
    """CEL's `==`: across number types by value, never an error; true is not 1."""
    left_kind, right_kind = kind(left), kind(right)
    if left_kind != right_kind:
        return {left_kind, right_kind} == {"integer", "number"} and bool(left == right)
    if left_kind == "list":
        return len(left) == len(right) and all(map(equal, left, right))
    if left_kind == "object":
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    return bool(left == right)


def contains(container: Any, value: Any) -> bool:
    """`value in container`: an element of a list, or a key of an object."""
    match kind(container):
        case "list":
            return any(equal(item, value) for item in container)
        case "object" if isinstance(value, str | int | float):
            return isinstance(value, str) and value in container
    raise no_overload("in", value, container)


def index(container: Any, position: Any) -> Any:
    """`container[position]` of decoded values."""
    match kind(container):
        case "list":
            if isinstance(position, float) and position.is_integer():
                position = int(position)
            if type(position) is not int:
                raise no_overload("[ ]", container, position)
            return item_at(container, position)
        case "object":
            return value_at(container, position)
    raise no_overload("[ ]", container, position)


def item_at(items: Any, position: int) -> Any:
    """The item of a list. Raises EvaluationError beyond its ends; negative positions do not count from the end."""
    if 0 <= position < len(items):
        return items[position]
    raise EvaluationError(f"there is no item {position} in a list of {len(items)}")


def value_at(mapping: Any, key: Any) -> Any:
    """The value of an object's key."""
    try:
        return mapping[key]
    except (KeyError, TypeError):
        raise EvaluationError(f"there is no key {key!r}") from None


def size(value: Any) -> int:
    """The length of a text in characters, of a list, or of an object in keys."""
    if kind(value) in ("string", "list", "object"):
        return len(value)
    raise no_overload("size", value)
