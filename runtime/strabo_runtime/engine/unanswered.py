"""The step of an input that nobody is answered: a due timer, and what comes from outside of the conversation."""

from __future__ import annotations

from collections.abc import Callable

from strabo_runtime.engine.answers import fail
from strabo_runtime.engine.completion import complete
from strabo_runtime.engine.errors import Undone
from strabo_runtime.engine.execution import Execution, bounded_time
from strabo_runtime.engine.inputs import Input
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.microsteps import settle
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.taking import final_checks
from strabo_runtime.engine.window import Seen


def take_unanswered(
    machine: Machine,
    instance: Instance,
    given: Input,
    at: int,
    act: Callable[[Execution], None],
    seen: Seen,
) -> Step:
    """Let `act` do what an input of this time does, then settle, as one step that leaves `seen` remembered.

    Raises StepError.
    """
    now = bounded_time(given.now, at, instance.now)
    execution = Execution(machine, instance, instance.id, now, instance.roles, instance.starting, None)
    try:
        act(execution)
        settle(execution)
        final_checks(execution)
    except Undone as undone:
        return fail(instance, given, undone.rejection.text)
    return complete(
        execution, given, "taken", starter=instance.starter, start=instance.start, seen=seen, reply=None
    )
