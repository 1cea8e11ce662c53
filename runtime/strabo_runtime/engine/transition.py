"""One step: an instance and an input give the instance after it and everything that follows.

The order is the language's: known, allowed, transition and `before` constraints, actions and `after` constraints,
settle, `always` constraints and limits, done. An error anywhere undoes the step; a refusal changes nothing but what is
remembered. `step` is pure and total: the same values give the same step, and no input makes it raise.
"""

from __future__ import annotations

from collections.abc import Callable

from strabo_runtime.engine.answers import fail, known_start, refuse_untraced, repeated
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.firing import fire
from strabo_runtime.engine.found import found
from strabo_runtime.engine.identity import NotJson
from strabo_runtime.engine.inputs import (
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Input,
    Message,
    Retry,
    Start,
    TimerDue,
)
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Rejection, Step
from strabo_runtime.engine.outside import cancel, child_event, child_finished
from strabo_runtime.engine.receiving import receive, retry
from strabo_runtime.engine.starting import begin
from strabo_runtime.engine.timers import next_due
from strabo_runtime.engine.unanswered import take_unanswered
from strabo_runtime.expressions import EvaluationError


def step(machine: Machine, instance: Instance | None, given: Input) -> Step:
    """Let one input take effect on an instance; None: there is none yet. Never raises for what it is given."""
    try:
        return _DISPATCH[type(given)](machine, instance, given)
    except (StepError, EvaluationError) as error:
        return fail(instance, given, str(error))
    except Exception as error:  # one instance's bad luck must not stop a worker that runs thousands
        kind = type(error).__name__
        return fail(instance, given, f"an error in Strabo itself, please report it: {kind}: {error}")


def fail_step(
    machine: Machine, instance: Instance | None, given: Input, error: str, *, incident: bool = True
) -> Step:
    """The step that an input gets when carrying it out is impossible, such as an output that no topic can hold.

    Without the `incident` it makes the instance no larger.
    """
    return fail(instance, given, error, incident=incident)


def _start(machine: Machine, instance: Instance | None, start: Start) -> Step:
    try:
        known = known_start(start)
    except NotJson as error:
        rejection = Rejection("schema", f"the start cannot be recorded: {error}")
        return refuse_untraced(instance, start, rejection)
    if instance is None:
        return begin(machine, start, known)
    # A start that was taken as a message is remembered as that message.
    if not start.or_send or instance.seen.find(known.key) is None:
        again = repeated(instance, start, known)
        if again is not None:
            return again
    if start.or_send and start.message is not None:
        return receive(machine, instance, start.message)
    text = f"{instance.id} was started before, by another start; choose another instance id"
    return refuse_untraced(instance, start, Rejection("conflict", text))


def _timer(machine: Machine, instance: Instance | None, given: TimerDue) -> Step:
    if instance is None or instance.status != "running" or next_due(instance) != (given.key, given.due):
        text = f"{given.key} at {given.due} was dropped: it is not what falls due next"
        return Step(given, "ignored", instance, instance, notes=(text,))
    return take_unanswered(
        machine,
        instance,
        given,
        given.due,
        lambda execution: fire(execution, given.key, given.due),
        instance.seen,
    )


_DISPATCH: dict[type, Callable[..., Step]] = {
    Start: _start,
    Message: receive,
    TimerDue: _timer,
    Retry: retry,
    AgentsFound: found,
    ChildFinished: child_finished,
    ChildEvent: child_event,
    Cancel: cancel,
}
