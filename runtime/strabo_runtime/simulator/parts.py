"""What is spread over a machine's table: its actions, the children that it starts, the timers that it sets."""

from __future__ import annotations

from collections.abc import Iterator

from strabo_runtime.engine.machine import Action, ForEach, Machine, Send, StartProtocol, StartTimer
from strabo_runtime.engine.timers import DEADLINE, TIMEOUT


def actions(machine: Machine) -> Iterator[Action]:
    """Every action of a machine, those of compensations, of `for_each` and of violated constraints included."""
    for state in machine.states.values():
        yield from _each(state.on_entry)
        yield from _each(state.on_exit)
    for transition in machine.transitions:
        yield from _each(transition.actions)
        yield from _each(transition.compensation)
    for constraint in machine.constraints:
        if isinstance(constraint.on_violation, Send):
            yield constraint.on_violation


def _each(listed: tuple[Action, ...]) -> Iterator[Action]:
    for action in listed:
        yield action
        if isinstance(action, ForEach):
            yield from _each((action.action,))


def children(machine: Machine) -> tuple[StartProtocol, ...]:
    """Every place that starts a child, in the order of the document."""
    return tuple(action for action in actions(machine) if isinstance(action, StartProtocol))


def child_names(machine: Machine) -> tuple[str, ...]:
    """The names (`as`) under which a machine starts children."""
    return tuple(dict.fromkeys(child.name for child in children(machine)))


def timer_names(machine: Machine) -> tuple[str, ...]:
    """The names of all timers that an instance may have."""
    started = (action.name for action in actions(machine) if isinstance(action, StartTimer))
    return tuple(dict.fromkeys((*started, TIMEOUT, DEADLINE)))
