"""Re-execution: the same definition and recorded inputs give the same steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strabo_runtime.engine.inputs import Input
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.transition import step


def replay(machine: Machine, inputs: Iterable[Input], instance: Instance | None = None) -> Iterator[Step]:
    """Step through recorded inputs, from nothing or from an instance."""
    for given in inputs:
        taken = step(machine, instance, given)
        instance = taken.after
        yield taken
