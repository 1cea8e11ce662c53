"""Carries out actions on a step under way."""

from __future__ import annotations

from typing import cast

from strabo_runtime.engine.action_kinds import COMPENSATE, KINDS, describe
from strabo_runtime.engine.compensation import run_kept
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import Action, ForEach
from strabo_runtime.engine.repetition import items_of
from strabo_runtime.expressions import EvaluationError


def perform(execution: Execution, actions: tuple[Action, ...]) -> None:
    """Do these in order, until one of them ends the instance. Raises StepError."""
    for action in actions:
        if execution.ended:
            return
        try:
            perform_one(execution, action)
        except (EvaluationError, StepError) as error:
            raise StepError(f"in state {execution.state}, {describe(action)}: {error}") from None


def perform_one(execution: Execution, action: Action) -> None:
    """Do one action. Raises StepError, EvaluationError."""
    kind = KINDS.get(type(action))
    if kind is None:
        _for_each(execution, cast("ForEach", action))
    elif kind.name == COMPENSATE:
        run_kept(execution)
    else:
        kind.carry_out(execution, *kind.evaluate(execution, action))


def _for_each(execution: Execution, action: ForEach) -> None:
    for place in items_of(execution, action):
        if execution.ended:
            return
        try:
            perform_one(execution, action.action)
        except (EvaluationError, StepError) as error:
            raise StepError(f"item {place}: {error}") from None
