"""What may be played in a protocol, derived once from its table: who may send what in which state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from strabo_runtime.engine.machine import CANCELLED, Machine, MessageTrigger, event_key
from strabo_runtime.simulator.hints import Hints, hints_of


class Card(NamedTuple):
    """A message type, and a role that may send it."""

    kind: str
    role: str


@dataclass(frozen=True, slots=True)
class Deck:
    """The cards of a machine. `takes` are those that a transition takes, by state; `openings` those of its start."""

    machine: Machine
    hints: Hints
    openings: tuple[Card, ...]
    takes: Mapping[str, tuple[Card, ...]]
    all: tuple[Card, ...]
    is_cancelled: bool


def deck_of(machine: Machine) -> Deck:
    """The deck of a machine."""
    takes = {state: _takes(machine, state) for state in machine.states}
    cards = tuple(
        Card(kind.name, role)
        for kind in machine.messages.values()
        for role in kind.senders
        if role not in machine.lookup.engine_roles
    )
    return Deck(
        machine,
        hints_of(machine),
        takes[machine.initial],
        takes,
        cards,
        any(key == event_key(CANCELLED) for _, key in machine.table),
    )


def _takes(machine: Machine, state: str) -> tuple[Card, ...]:
    found: dict[Card, None] = {}
    for (source, key), transitions in machine.table.items():
        if source != state or key not in machine.messages:
            continue
        for transition in transitions:
            for trigger in transition.triggers:
                if isinstance(trigger, MessageTrigger) and trigger.message == key:
                    senders = machine.messages[key].senders if trigger.role is None else (trigger.role,)
                    found.update(
                        dict.fromkeys(
                            Card(key, role) for role in senders if role not in machine.lookup.engine_roles
                        )
                    )
    return tuple(found)
