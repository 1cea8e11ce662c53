"""How an instance begins: who takes part, initial values, the first state, and the starting message, as one step."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern

from strabo_runtime.engine.admission import Bound, bind
from strabo_runtime.engine.answers import Known, refuse_untraced, reply_to
from strabo_runtime.engine.completion import complete
from strabo_runtime.engine.errors import StepError, Undone
from strabo_runtime.engine.execution import Execution, bounded_time
from strabo_runtime.engine.identity import is_child_id
from strabo_runtime.engine.inputs import Start
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.microsteps import enter, is_over, note, settle
from strabo_runtime.engine.outputs import Rejection, Step
from strabo_runtime.engine.taking import accept, final_checks, matching, objections
from strabo_runtime.engine.timers import DEADLINE, set_spec
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions import EvaluationError
from strabo_runtime.expressions.types import Json


def begin(machine: Machine, start: Start, known: Known) -> Step:
    """Make the instance, or refuse the start: then there is none. Raises StepError."""
    if start.parent is None and is_child_id(start.instance_id):
        text = f"the id {start.instance_id!r} has the form of a child's; choose another instance id"
        return refuse_untraced(None, start, Rejection("schema", text))
    bound = bind(machine, start)
    if isinstance(bound, Rejection):
        return refuse_untraced(None, start, bound)
    facts = None if bound.message is None else bound.message.facts
    execution = Execution(
        machine,
        None,
        start.instance_id,
        bounded_time(start.now, start.received_at),
        bound.roles,
        facts,
        facts,
        start.parent,
        bound.counts,
    )
    try:
        rejection = _enter_first_state(execution, bound)
        if rejection is None:
            final_checks(execution)
    except Undone as undone:
        rejection = undone.rejection
    if rejection is not None:
        return refuse_untraced(None, start, rejection)
    return complete(
        execution,
        start,
        "taken",
        starter=intern(start.starter),
        start=known.as_one(),
        seen=Seen.empty(),
        reply=None if start.parent is not None else reply_to(start.instance_id, start, "accepted"),
    )


def _enter_first_state(execution: Execution, bound: Bound) -> Rejection | None:
    """Initial values, deadline, first state, settle; then the starting message. Raises StepError, Undone."""
    machine = execution.machine
    _set_initial_values(execution, bound.inputs)
    if machine.deadline is not None:
        set_spec(execution, DEADLINE, machine.deadline, "the deadline")
    enter(execution, machine.initial)
    note(execution, "start", machine.initial)
    settle(execution)
    admitted = bound.message
    if admitted is None:
        return None
    if is_over(execution):
        ended = execution.error or f"it ended in state {execution.state}"
        return Rejection("finished", f"the instance was over before it took {admitted.facts.type}: {ended}")
    transition = matching(execution, admitted)
    if isinstance(transition, Rejection):
        return transition
    objection = objections(execution)
    if objection is not None:
        return objection[0]
    accept(execution, admitted, transition)
    return None


def _set_initial_values(execution: Execution, inputs: Mapping[str, Json]) -> None:
    machine = execution.machine
    for name, passed in inputs.items():
        execution.scope.set_variable(name, passed)
    for variable in machine.variables.values():
        try:
            value = variable.initial.render(execution.scope)
        except EvaluationError as error:
            raise StepError(f"the initial value of {variable.name}: {error}") from None
        execution.scope.set_variable(variable.name, value)
