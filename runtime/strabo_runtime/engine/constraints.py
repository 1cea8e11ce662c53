"""Checks constraints in their three phases, and does what a violation asks for."""

from __future__ import annotations

from collections.abc import Sequence

from strabo_runtime.engine.actions import perform_one
from strabo_runtime.engine.errors import StepError, Undone
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import Constraint, FailInstance, RaiseEvent, Reject, Send, Warn
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.expressions import EvaluationError


def refusing(execution: Execution) -> list[Constraint]:
    """The `before` constraints that refuse the input, in order; a violated `warn` is noted and refuses nothing."""
    violated = _violated(execution, execution.lookup.before[execution.cause])
    return (
        [constraint for constraint in violated if not _warned(execution, constraint)]
        if violated
        else violated
    )


def rejection_by(execution: Execution, constraints: Sequence[Constraint]) -> Rejection:
    """The refusal that names these constraints and their descriptions."""
    descriptions = tuple(_description(execution, constraint) for constraint in constraints)
    told = "; ".join(
        f"{constraint.name}: {description}" if description else constraint.name
        for constraint, description in zip(constraints, descriptions, strict=True)
    )
    return Rejection(
        "constraint",
        f"refused in state {execution.state} by {told}",
        tuple(constraint.name for constraint in constraints),
        descriptions,
    ).clipped()


def react(execution: Execution, constraints: Sequence[Constraint]) -> bool:
    """Raise, send and fail as these violated constraints ask. Whether any asked for something."""
    asked = False
    for constraint in constraints:
        consequence = constraint.on_violation
        if isinstance(consequence, Reject | Warn):
            continue
        asked = True
        if execution.ended:
            break
        try:
            if isinstance(consequence, RaiseEvent):
                payload = None if consequence.payload is None else consequence.payload.render(execution.scope)
                execution.raise_event(consequence.event, payload)
            elif isinstance(consequence, Send):
                perform_one(execution, consequence)
            else:
                execution.fail(_failure(execution, constraint, consequence))
        except (EvaluationError, StepError) as error:
            raise StepError(f"constraint {constraint.name}, on_violation: {error}") from None
    return asked


def check_after(execution: Execution) -> None:
    """The constraints of the phase `after`. Raises Undone."""
    constraints = execution.lookup.after[execution.cause]
    if constraints:
        _enforce(execution, _violated(execution, constraints))


def check_always(execution: Execution) -> None:
    """The constraints of the phase `always`. Raises Undone."""
    constraints = execution.lookup.always[execution.cause]
    if constraints:
        _enforce(execution, _violated(execution, constraints))


def _enforce(execution: Execution, violated: Sequence[Constraint]) -> None:
    rejecting = [constraint for constraint in violated if isinstance(constraint.on_violation, Reject)]
    if rejecting:
        raise Undone(rejection_by(execution, rejecting))
    for constraint in violated:
        _warned(execution, constraint)
    react(execution, violated)


def _violated(execution: Execution, constraints: Sequence[Constraint]) -> list[Constraint]:
    scope = execution.scope
    violated = []
    for constraint in constraints:
        try:
            if not constraint.expression.test(scope):
                violated.append(constraint)
        except EvaluationError as error:
            raise StepError(f"in state {execution.state}, constraint {constraint.name}: {error}") from None
    if violated:
        execution.violations += tuple(constraint.name for constraint in violated)
    return violated


def _warned(execution: Execution, constraint: Constraint) -> bool:
    if not isinstance(constraint.on_violation, Warn):
        return False
    description = _description(execution, constraint)
    execution.warnings += (f"{constraint.name}: {description}" if description else constraint.name,)
    return True


def _description(execution: Execution, constraint: Constraint) -> str:
    if constraint.description is None:
        return ""
    try:
        return execution.text(constraint.description)
    except EvaluationError:
        # A refusal stands even where its explanation cannot be filled in.
        return str(constraint.description.source)


def _failure(execution: Execution, constraint: Constraint, consequence: FailInstance) -> str:
    reason = execution.text(consequence.reason)
    if reason:
        return reason
    description = _description(execution, constraint)
    return f"violated {constraint.name}: {description}" if description else f"violated {constraint.name}"
