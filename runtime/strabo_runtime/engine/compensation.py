"""Compensations: kept with their expressions evaluated when their transition has acted, run newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strabo_runtime.engine.action_kinds import CARRY_OUT, COMPENSATE, KINDS, describe
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.instance import Compensation
from strabo_runtime.engine.machine import Action, ForEach, Transition
from strabo_runtime.engine.repetition import items_of
from strabo_runtime.expressions import EvaluationError
from strabo_runtime.expressions.types import Json

_OVERHEAD = 32


def keep_compensation(execution: Execution, transition: Transition) -> None:
    """Keep what undoes this transition, which has just acted. Raises StepError."""
    rows: list[Json] = []
    for action in transition.compensation:
        try:
            rows += _evaluated(execution, action)
        except (EvaluationError, StepError) as error:
            where = f"in state {execution.state}, the compensation of transition {transition.index + 1}"
            raise StepError(f"{where}, {describe(action)}: {error}") from None
    if rows:
        execution.size_bound += execution.keep(rows) + _OVERHEAD
        execution.compensations = (*execution.compensations, Compensation(transition.index, tuple(rows)))


def run_kept(execution: Execution) -> None:
    """Run everything that is kept, the newest first; each is removed as it runs. Raises StepError.

    A `compensate` among the actions runs what is older before the actions behind it; a `fail` leaves out those behind
    it, and what is older still runs.
    """
    if not execution.compensations:
        return
    outer, execution.compensating = execution.compensating, True
    suspended: list[Iterator[Any]] = []
    running: Iterator[Any] = iter(())
    while True:
        row = next(running, None)
        if row is None:
            if execution.compensations:
                running = _newest(execution)
            elif suspended:
                running = suspended.pop()
            else:
                break
        elif row[0] == COMPENSATE:
            suspended.append(running)
            running = iter(())
        else:
            kind, *arguments = row
            try:
                CARRY_OUT[kind](execution, *arguments)
            except StepError as error:
                raise StepError(f"a compensation's {kind}: {error}") from None
            if kind == "fail":
                running = iter(())
    execution.compensating = outer


def _newest(execution: Execution) -> Iterator[Any]:
    *older, newest = execution.compensations
    execution.compensations = tuple(older)
    execution.notes += (compensated(newest.transition),)
    return iter(newest.actions)


def compensated(transition: int) -> str:
    """The note of a step that ran what was kept for a transition; `transition` is its index."""
    return f"transition {transition + 1} was compensated"


def _evaluated(execution: Execution, action: Action) -> list[Json]:
    if isinstance(action, ForEach):
        rows: list[Json] = []
        for _ in items_of(execution, action):
            rows += _evaluated(execution, action.action)
        return rows
    kind = KINDS[type(action)]
    return [[kind.name, *kind.evaluate(execution, action)]]
