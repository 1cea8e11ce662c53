"""The items of a `for_each`: one after the other they are what expressions read as `each`."""

from __future__ import annotations

from collections.abc import Iterator

from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, stored_text
from strabo_runtime.engine.machine import ForEach

MOST_ITEMS = 10_000
"""How many times the actions with a `for_each` may act in one step, all together."""


def items_of(execution: Execution, action: ForEach) -> Iterator[int]:
    """The places of the list, from one; while the caller works on one of them, `each` is its value.

    Raises StepError.
    """
    items = action.items.evaluate(execution.scope)
    if not isinstance(items, list):
        raise StepError(f"its for_each is {stored_text(items)}, which is no list")
    execution.repeated += len(items)
    if execution.repeated > MOST_ITEMS:
        raise StepError(f"`for_each` acts for more than {MOST_ITEMS} items in one step")
    scope = execution.scope
    outer = scope.each
    for place, item in enumerate(items, start=1):
        scope.each = item
        yield place
    scope.each = outer
