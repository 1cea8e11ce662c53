"""Deferred messages: those that nothing took when they came, held until the state has changed."""

from __future__ import annotations

from dataclasses import replace

from strabo_runtime.engine.admission import finished
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import bounded_time
from strabo_runtime.engine.identity import reply_id, retry_id
from strabo_runtime.engine.inputs import Message, Retry
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Reply
from strabo_runtime.engine.snapshot import measured_size


def next_retry(instance: Instance, now: int) -> Retry | None:
    """The input to be taken before any other: the turn of a deferred message, None when none is due to be tried.

    A step that entered a state makes every deferred message due, in the order in which they came. The host gives what
    this returns to `step` until it returns None, then due timers and new input.
    """
    message = due_for_retry(instance)
    if message is None:
        return None
    when = bounded_time(now, message.received_at, instance.now)
    return Retry(retry_id(instance.id, instance.revision, message.id), message.id, when)


def due_for_retry(instance: Instance) -> Message | None:
    """The deferred message whose turn it is."""
    return None if instance.retry is None else instance.deferred[instance.retry]


def with_deferred(machine: Machine, instance: Instance, message: Message) -> Instance:
    """The instance that holds one more message. Raises StepError where a limit forbids it."""
    limits = machine.limits
    if len(instance.deferred) >= limits.deferred:
        raise StepError(
            f"{message.type} cannot be deferred: {limits.deferred} messages are already (`limits.deferred`)"
        )
    after = replace(instance, deferred=(*instance.deferred, message))
    size = measured_size(after)
    if size > limits.state_bytes:
        raise StepError(
            f"{message.type} cannot be deferred: the instance would take {size} bytes, and `limits.state_bytes` is"
            f" {limits.state_bytes}"
        )
    return replace(after, size_bound=size)


def without_retried(instance: Instance) -> Instance:
    """The instance without the deferred message whose turn it is; the next one's has come."""
    place = instance.retry
    if place is None:
        return instance
    deferred = (*instance.deferred[:place], *instance.deferred[place + 1 :])
    return replace(instance, deferred=deferred, retry=place if place < len(deferred) else None)


def still_deferred(instance: Instance) -> Instance:
    """The instance in which the message whose turn it was stays deferred; the next one's has come."""
    place = 0 if instance.retry is None else instance.retry + 1
    return replace(instance, retry=place if place < len(instance.deferred) else None)


def refusals_at_end(ended: Instance, deferred: tuple[Message, ...]) -> tuple[Reply, ...]:
    """The answers to messages that were still deferred when the instance ended."""
    refusal = finished(ended)
    return tuple(
        Reply(
            reply_id(ended.id, message.id, "rejected"), message.sender, "rejected", message.id, refusal, None
        )
        for message in deferred
    )
