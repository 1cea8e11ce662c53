"""What may be played in a protocol, derived once from its table: who may send what in which state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import CANCELLED, Machine, MessageTrigger, event_key
from strabo_runtime.simulator.catalogue import Catalogue
from strabo_runtime.simulator.hints import Hints, hints_of


class Card(NamedTuple):
    """A message type, and a role that may send it."""

    kind: str
    role: str


@dataclass(frozen=True, slots=True)
class Deck:
    """The cards of a machine.

    `takes` are those that a transition takes, by state; `openings` those of its start. `is_cancelled`: it reacts to
    being cancelled. `begins_alone`: its first state waits for something, so it is meant to start without a message.
    """

    machine: Machine
    hints: Hints
    openings: tuple[Card, ...]
    takes: Mapping[str, tuple[Card, ...]]
    all: tuple[Card, ...]
    is_cancelled: bool
    begins_alone: bool


class Playbook:
    """The protocols that are played, with what was derived from each. The first one is the one that is started."""

    def __init__(self, machines: Iterable[Machine]) -> None:
        self.catalogue = Catalogue(machines)
        self.first = next(iter(self.catalogue))
        self._decks = {(one.name, one.version): deck_of(one) for one in self.catalogue}

    def deck(self, machine: Machine) -> Deck:
        """The deck of one of the machines."""
        return self._decks[machine.name, machine.version]

    def deck_for(self, instance: Instance) -> Deck:
        """The deck that an instance is played with."""
        return self._decks[instance.protocol, instance.version]


def deck_of(machine: Machine) -> Deck:
    """The deck of a machine."""
    takes = {state: _takes(machine, state) for state in machine.states}
    first = machine.states[machine.initial]
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
        not takes[machine.initial] or bool(first.expects or first.timeout or first.on_entry),
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
