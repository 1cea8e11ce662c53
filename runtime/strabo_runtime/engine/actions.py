"""Carries out actions on a step under way."""

from __future__ import annotations

from strabo_runtime.engine.action_kinds import COMPENSATE, KINDS, describe
from strabo_runtime.engine.compensation import run_kept
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import Action, ForEach
from strabo_runtime.engine.repetition import items_of
from strabo_runtime.expressions import EvaluationError

_HALVES = {
    action: (kind.evaluate, kind.carry_out) for action, kind in KINDS.items() if kind.name != COMPENSATE
}


def perform(execution: Execution, actions: tuple[Action, ...]) -> None:
    """Do these in order, until one of them ends the instance. Raises StepError."""
    for action in actions:
        if execution.ended:
            return
        halves = _HALVES.get(type(action))
        try:
            if halves is not None:
                evaluate, carry_out = halves
                carry_out(execution, *evaluate(execution, action))
            else:
                perform_one(execution, action)
        except (EvaluationError, StepError) as error:
            raise StepError(f"in state {execution.state}, {describe(action)}: {error}") from None


def perform_one(execution: Execution, action: Action) -> None:
    """Do one action. Raises StepError, EvaluationError."""
    halves = _HALVES.get(type(action))
    if halves is not None:
        evaluate, carry_out = halves
        carry_out(execution, *evaluate(execution, action))
    elif isinstance(action, ForEach):
        _for_each(execution, action)
    else:
        run_kept(execution)


def _for_each(execution: Execution, action: ForEach) -> None:
    for place in items_of(execution, action):
        if execution.ended:
            return
        try:
            perform_one(execution, action.action)
        except (EvaluationError, StepError) as error:
            raise StepError(f"item {place}: {error}") from None
