"""One step: an instance and an input give the instance after it and everything that follows.

The order is the language's: known, allowed, transition and `before` constraints, actions and `after` constraints,
settle, `always` constraints and limits, done. An error anywhere undoes the step; a refusal changes nothing but what is
remembered. `step` is pure and total: the same values give the same step, and no input makes it raise.
"""

from __future__ import annotations

from collections.abc import Sequence

from strabo_runtime.engine.admission import Admitted, admit, stale
from strabo_runtime.engine.answers import (
    Known,
    fail,
    ignore,
    known_message,
    known_start,
    refuse,
    refuse_untraced,
    remember,
    repeated,
    reply_to,
)
from strabo_runtime.engine.completion import complete
from strabo_runtime.engine.constraints import react
from strabo_runtime.engine.errors import StepError, Undone
from strabo_runtime.engine.execution import Execution, bounded_time
from strabo_runtime.engine.firing import fire
from strabo_runtime.engine.identity import NotJson, sender_key
from strabo_runtime.engine.inputs import Input, Message, Start, TimerDue
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Constraint, Machine
from strabo_runtime.engine.microsteps import settle
from strabo_runtime.engine.outputs import Rejection, Step
from strabo_runtime.engine.starting import begin
from strabo_runtime.engine.taking import accept, final_checks, matching, objections
from strabo_runtime.engine.timers import next_due
from strabo_runtime.expressions import EvaluationError


def step(machine: Machine, instance: Instance | None, given: Input) -> Step:
    """Let one input take effect on an instance; None: there is none yet. Never raises for what it is given."""
    try:
        if isinstance(given, Message):
            return _message(machine, instance, given)
        if isinstance(given, TimerDue):
            return _timer(machine, instance, given)
        return _start(machine, instance, given)
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


def _message(machine: Machine, instance: Instance | None, message: Message) -> Step:
    if instance is None:
        return refuse_untraced(
            None, message, Rejection("unknown", f"there is no instance for {message.type}")
        )
    try:
        known = known_message(message)
    except NotJson as error:
        rejection = Rejection("schema", f"{message.type} cannot be recorded: {error}")
        return refuse_untraced(instance, message, rejection)
    again = repeated(instance, message, known)
    if again is not None:
        return again
    if instance.status != "running":
        text = f"{instance.id} has ended in state {instance.state} ({instance.status})"
        return refuse_untraced(instance, message, Rejection("finished", text))
    if instance.seen.is_stale(sender_key(message.sender), message.sent_at):
        return refuse_untraced(instance, message, stale(instance, message))
    admitted = admit(machine, message, instance.roles, instance.turns)
    if isinstance(admitted, Rejection):
        return refuse(instance, message, known, admitted)
    execution = Execution(
        machine,
        instance,
        instance.id,
        bounded_time(message.now, message.received_at, instance.now),
        instance.roles,
        instance.starting,
        admitted.facts,
    )
    try:
        return _offer(instance, message, known, execution, admitted)
    except Undone as undone:
        return refuse(instance, message, known, undone.rejection, execution.violations)


def _offer(
    instance: Instance, message: Message, known: Known, execution: Execution, admitted: Admitted
) -> Step:
    """Let an admitted message take its transition, or refuse it. Raises StepError, Undone."""
    transition = matching(execution, admitted)
    if isinstance(transition, Rejection):
        machine = execution.machine
        if (machine.messages[message.type].unexpected or machine.unexpected) == "ignore":
            return ignore(instance, message, known)
        return refuse(instance, message, known, transition)
    objection = objections(execution)
    if objection is not None:
        return _object(instance, message, known, execution, *objection)
    accept(execution, admitted, transition)
    final_checks(execution)
    return complete(
        execution,
        message,
        "taken",
        starter=instance.starter,
        start=instance.start,
        seen=remember(instance, known, message),
        reply=reply_to(instance.id, message, "accepted"),
    )


def _object(
    instance: Instance,
    message: Message,
    known: Known,
    execution: Execution,
    rejection: Rejection,
    violated: Sequence[Constraint],
) -> Step:
    """Refuse by `before` constraints. What they raise, send or fail is a step of the refused input's own."""
    if not react(execution, violated):
        return refuse(instance, message, known, rejection, execution.violations)
    try:
        settle(execution)
        final_checks(execution)
    except Undone as undone:
        both = Rejection(
            "constraint",
            f"{rejection.text}; {undone.rejection.text}",
            rejection.constraints + undone.rejection.constraints,
            rejection.descriptions + undone.rejection.descriptions,
        )
        return refuse(instance, message, known, both, execution.violations)
    return complete(
        execution,
        message,
        "rejected",
        starter=instance.starter,
        start=instance.start,
        seen=remember(instance, known, message, rejection),
        reply=reply_to(instance.id, message, "rejected", rejection),
        rejection=rejection,
    )


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
        return _message(machine, instance, start.message)
    text = f"{instance.id} was started before, by another start; choose another instance id"
    return refuse_untraced(instance, start, Rejection("conflict", text))


def _timer(machine: Machine, instance: Instance | None, given: TimerDue) -> Step:
    if instance is None or instance.status != "running" or next_due(instance) != (given.key, given.due):
        text = f"{given.key} at {given.due} was dropped: it is not what falls due next"
        return Step(given, "ignored", instance, instance, notes=(text,))
    execution = Execution(
        machine,
        instance,
        instance.id,
        bounded_time(given.now, given.due, instance.now),
        instance.roles,
        instance.starting,
        None,
    )
    try:
        fire(execution, given.key, given.due)
        final_checks(execution)
    except Undone as undone:
        return fail(instance, given, undone.rejection.text)
    return complete(
        execution,
        given,
        "taken",
        starter=instance.starter,
        start=instance.start,
        seen=instance.seen,
        reply=None,
    )
