"""What comes from outside of the conversation: a child's end, a child's event, a cancellation, an answered request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from strabo_runtime.engine.answers import Known
from strabo_runtime.engine.children import end_child, find_child
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.identity import NotJson, content_digest, outside_key, sender_key
from strabo_runtime.engine.inputs import AgentsFound, Cancel, ChildEvent, ChildFinished
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import BUILT_IN_EVENTS, CANCELLED, Machine, child_key, event_key
from strabo_runtime.engine.microsteps import find, note, settle_own, take
from strabo_runtime.engine.outputs import Rejection, Step
from strabo_runtime.engine.taking import may_act, take_event
from strabo_runtime.engine.unanswered import take_unanswered
from strabo_runtime.expressions.types import Json

Outside: TypeAlias = ChildFinished | ChildEvent | AgentsFound | Cancel

CANCELLED_ERROR = "cancelled"
"""The error of an instance that was cancelled and took no transition for it."""

_NO_SENDER = ""
"""The sender under which these inputs are remembered: one for all, since each child would leave a trace for ever."""


def take_outside(
    machine: Machine,
    instance: Instance | None,
    given: Outside,
    content: Sequence[Json],
    act: Callable[[Execution], None],
    *,
    aimless: Callable[[Instance], str | None] = lambda instance: None,
) -> Step:
    """Let `act` do what this input does, then settle, as one step; an input that is known already does nothing.

    `content` is what a repeated input must have in common with the first; `aimless` says why an instance has no use
    for the input. Raises StepError.
    """
    if instance is None:
        return Step(given, "ignored", None, None, notes=(f"{given.id} was dropped: there is no instance",))
    try:
        known = Known(outside_key(given.id), content_digest(given.id, *content))
    except NotJson as error:
        rejection = Rejection("schema", f"{given.id} cannot be recorded: {error}").clipped()
        return Step(given, "rejected", instance, instance, rejection=rejection)
    repeated = _repeated(instance, given, known)
    if repeated is not None:
        return repeated
    reason = f"{instance.id} has ended" if instance.status != "running" else aimless(instance)
    if reason is not None:
        return Step(given, "ignored", instance, instance, notes=(f"{given.id} was dropped: {reason}",))
    seen = instance.seen.remember(known.key, known.digest, sender_key(_NO_SENDER), given.received_at, None)
    return take_unanswered(machine, instance, given, given.received_at, act, seen)


def _repeated(instance: Instance, given: Outside, known: Known) -> Step | None:
    entry = instance.seen.find(known.key)
    if entry is None:
        return None
    if entry.digest == known.digest:
        return Step(given, "duplicate", instance, instance)
    text = f"the id {given.id!r} was used before, with another content"
    return Step(given, "rejected", instance, instance, rejection=Rejection("conflict", text).clipped())


# -- children ---------------------------------------------------------------------------------------------------------


def child_finished(machine: Machine, instance: Instance | None, given: ChildFinished) -> Step:
    """A child has ended. Raises StepError."""

    def aimless(instance: Instance) -> str | None:
        child = find_child(instance, given.child)
        if child is None:
            return f"{given.child!r} is no child of {instance.id}"
        return None if child.status == "running" else f"the end of {given.child} is known already"

    content = (given.child, given.outcome, given.result, given.error)
    return take_outside(
        machine, instance, given, content, lambda execution: _child_ended(execution, given), aimless=aimless
    )


def _child_ended(execution: Execution, given: ChildFinished) -> None:
    child = end_child(execution, given)
    key = child_key(child.name)
    transition = find(execution, key, given.outcome)
    if transition is None:
        text = f"the {given.outcome} of the child {child.name} was dropped: nothing takes it in state"
        execution.notes += (f"{text} {execution.state}",)
        note(execution, key, execution.state)
    elif may_act(execution):
        take(execution, transition, key)
        settle_own(execution)


def child_event(machine: Machine, instance: Instance | None, given: ChildEvent) -> Step:
    """A child has something to tell. Raises StepError."""

    def aimless(instance: Instance) -> str | None:
        if given.event in BUILT_IN_EVENTS:
            return f"{given.event} is raised by the engine alone"
        known = find_child(instance, given.child) is not None
        return None if known else f"{given.child!r} is no child of {instance.id}"

    def act(execution: Execution) -> None:
        take_event(execution, given.event, _checked_payload(execution, given))

    content = (given.child, given.event, given.payload)
    return take_outside(machine, instance, given, content, act, aimless=aimless)


def _checked_payload(execution: Execution, given: ChildEvent) -> Json:
    """The child's definition is another one: what it sends need not be what this one declares."""
    validator = execution.lookup.event_validators.get(given.event)
    if validator is None:
        return given.payload
    payload = {} if given.payload is None else given.payload
    errors = validator.errors(payload)
    if errors:
        raise StepError(f"the event {given.event} of {given.child} is not valid here: {'; '.join(errors)}")
    return validator.normal(payload)


# -- cancellation -----------------------------------------------------------------------------------------------------


def cancel(machine: Machine, instance: Instance | None, given: Cancel) -> Step:
    """Somebody asks the instance to end: it lives on where a transition takes `Cancelled`. Raises StepError."""

    def act(execution: Execution) -> None:
        source = execution.state
        execution.notes += (f"cancelled by {given.by}: {given.reason}",)
        execution.write(len(given.reason))
        execution.see_event(CANCELLED, {"reason": given.reason})
        if find(execution, event_key(CANCELLED)) is not None:
            take_event(execution, CANCELLED, {"reason": given.reason})
        else:
            execution.fail(CANCELLED_ERROR)
            note(execution, event_key(CANCELLED), source)

    return take_outside(machine, instance, given, (given.by, given.reason), act)
