"""Turns a step under way into values: the instance after it, what was recorded, what goes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from strabo_runtime.engine.action_kinds import COMPENSATE
from strabo_runtime.engine.binding import requests_made
from strabo_runtime.engine.changes import change_list
from strabo_runtime.engine.children import cancel_attached
from strabo_runtime.engine.compensation import run_kept
from strabo_runtime.engine.deferral import refusals_at_end
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, stored_size
from strabo_runtime.engine.identity import outcome_id
from strabo_runtime.engine.inputs import Input, Message
from strabo_runtime.engine.instance import NOTHING, Instance, Status
from strabo_runtime.engine.outputs import MicroStep, Outcome, Output, Rejection, Reply, Step, Verdict
from strabo_runtime.engine.snapshot import measured_size
from strabo_runtime.engine.timers import keep_requests
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions import EvaluationError
from strabo_runtime.expressions.types import Json

_STEP_OVERHEAD = 64
_DEBT_OVERHEAD = 192
"""More than the stored form of these can grow by, beside the names in them: bounds, so that measuring is rare."""


def complete(
    execution: Execution,
    given: Input,
    verdict: Verdict,
    *,
    starter: str,
    start: int,
    seen: Seen,
    reply: Reply | None,
    rejection: Rejection | None = None,
) -> Step:
    """The step as a value. Raises StepError where the instance has outgrown its limit."""
    before, machine = execution.before, execution.machine
    status: Status = "failure" if execution.ended else machine.states[execution.state].final or "running"
    if status == "failure" and execution.compensations:
        _compensate(execution)
    labels = _labels(execution)
    result: Json = None
    unanswered: tuple[Message, ...] = ()
    if status == "running":
        keep_requests(execution)
        if execution.entered and execution.deferred:
            execution.retry = 0
    else:
        unanswered = execution.deferred
        result = _finish(execution, status)
    if before is None or execution.pending is not before.pending:
        execution.size_bound += sum(_DEBT_OVERHEAD + 2 * len(debt.agent) for debt in execution.pending)
    if before is None or labels is not before.labels:
        execution.size_bound += stored_size(dict(labels))
    after = Instance(
        execution.instance_id,
        machine.name,
        machine.version,
        machine.hash,
        status,
        execution.state,
        execution.revision,
        starter,
        start,
        execution.started_at,
        execution.now,
        execution.scope.variables,
        execution.roles,
        seen,
        execution.starting if machine.lookup.reads_starting else None,
        execution.pending,
        execution.timers,
        execution.timers_set,
        execution.turns,
        execution.deliveries,
        execution.last_deliveries,
        execution.quorum_lost,
        () if before is None else before.incidents,
        labels,
        result,
        execution.error,
        execution.size_bound + _STEP_OVERHEAD,
        execution.parent,
        execution.children,
        execution.deferred,
        execution.retry,
        execution.compensations,
        execution.requests,
        execution.dropped,
        execution.counts,
    )
    if before is None or after.size_bound > machine.limits.state_bytes:
        after = _measured(after, machine.limits.state_bytes)
    outputs: tuple[Output, ...] = execution.delivered if reply is None else (reply, *execution.delivered)
    if execution.requested:
        outputs = (*outputs, *execution.requested)
    if execution.asked:
        outputs = (*outputs, *requests_made(execution))
    if status != "running":
        outputs = (*outputs, *refusals_at_end(after, unanswered), outcome_of(after))
    return Step(
        given,
        verdict,
        before,
        after,
        execution.micro_steps,
        outputs,
        rejection,
        None,
        execution.warnings,
        execution.notes,
        change_list(before, after, execution.variable_changes),
        execution.violations,
    )


def outcome_of(instance: Instance) -> Outcome:
    """What the starter, or the parent, is told of a finished instance, as often as it asks."""
    parent = instance.parent
    return Outcome(
        outcome_id(instance.id),
        instance.starter if parent is None else parent.instance_id,
        "success" if instance.status == "success" else "failure",
        instance.state,
        instance.result,
        instance.error,
        parent is not None,
    )


def _compensate(execution: Execution) -> None:
    """The instance ends as failed: undo what is to be undone. Raises StepError."""
    try:
        run_kept(execution)
    except StepError as error:
        raise StepError(f"in state {execution.state}, while the instance ended as failed: {error}") from None
    if execution.logs:
        state = execution.state
        execution.micro_steps += (MicroStep(None, COMPENSATE, state, state, execution.logs),)
        execution.logs = ()


def _labels(execution: Execution) -> Mapping[str, Json]:
    """The labels now; the very object of before where they are the same, so that nothing is recorded."""
    known: Mapping[str, Json] = NOTHING if execution.before is None else execution.before.labels
    templates = execution.machine.labels
    if not templates:
        return known
    labels: dict[str, Json] = {}
    for name, template in templates.items():
        try:
            labels[name] = template.render(execution.scope)
        except EvaluationError:
            labels[name] = None
    return known if labels == known else labels


def _finish(execution: Execution, status: Status) -> Json:
    """Cancel what was waiting, and give the result: of a success alone."""
    execution.timers = ()
    execution.pending = ()
    execution.deferred = ()
    execution.retry = None
    execution.requests = ()
    execution.compensations = ()
    cancel_attached(execution)
    execution.deliveries = NOTHING
    execution.last_deliveries = NOTHING
    if status == "failure":
        if execution.error is None:
            execution.error = f"ended in the state {execution.state}"
        return None
    result: dict[str, Json] = {}
    for name, template in execution.machine.result.items():
        try:
            result[name] = template.render(execution.scope)
        except EvaluationError as error:
            result[name] = None
            execution.notes += (f"result {name} is null: {error}",)
    return result


def _measured(after: Instance, limit: int) -> Instance:
    """The instance with its size in place of a bound. Raises StepError where it has outgrown the limit."""
    size = measured_size(after)
    if size > limit:
        raise StepError(f"the instance would take {size} bytes, and `limits.state_bytes` is {limit}")
    return replace(after, size_bound=size)
