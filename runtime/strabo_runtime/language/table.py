"""Builds a machine's table: the transitions of each state and trigger, in the order they are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from strabo_runtime.engine.machine import (
    ChildTrigger,
    EventTrigger,
    MessageTrigger,
    State,
    Transition,
    Trigger,
    child_key,
    event_key,
)

MAXIMUM_CANDIDATES: Final = 100_000
"""`*` in thousands of transitions of thousands of states would be millions."""


def trigger_key(trigger: Trigger | None) -> str | None:
    """The key of a trigger in the table; None is that of automatic transitions."""
    match trigger:
        case MessageTrigger(message):
            return message
        case EventTrigger(event):
            return event_key(event)
        case ChildTrigger(child):
            return child_key(child)
        case None:
            return None


def candidates(states: Mapping[str, State], transitions: Sequence[Transition]) -> int:
    """How many entries the table would have."""
    return sum(
        (len(transition.sources) or len(states)) * (len(transition.triggers) or 1)
        for transition in transitions
    )


def build_table(
    states: Mapping[str, State], transitions: Sequence[Transition]
) -> dict[tuple[str, str | None], tuple[Transition, ...]]:
    """Candidates by state and trigger, in the order they are tried: those of a named state before those of `*`."""
    table: dict[tuple[str, str | None], list[Transition]] = {}
    for named in (True, False):
        for transition in transitions:
            if bool(transition.sources) is not named:
                continue
            sources = transition.sources or [name for name, state in states.items() if state.final is None]
            keys = [trigger_key(trigger) for trigger in transition.triggers] or [None]
            for source in sources:
                for key in dict.fromkeys(keys):
                    table.setdefault((source, key), []).append(transition)
    return {place: tuple(candidates) for place, candidates in table.items()}
