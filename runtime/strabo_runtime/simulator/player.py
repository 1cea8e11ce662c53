"""Plays one instance to its end, with agents that send random valid messages, fall silent, or let time pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from strabo_runtime.engine.identity import human_agent, outcome_id
from strabo_runtime.engine.inputs import Agents, ChildFinished, Message, Start
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import ChildCancel, ChildStart, Step
from strabo_runtime.engine.timers import next_due, timer_input
from strabo_runtime.engine.transition import step
from strabo_runtime.expressions.types import Json
from strabo_runtime.simulator.crowd import Crowd
from strabo_runtime.simulator.deck import Card, Deck, Playbook
from strabo_runtime.simulator.errands import Errand
from strabo_runtime.simulator.host import Host, Stepping
from strabo_runtime.simulator.writing import MessageWriter

LONGEST_RUN: Final = 500
"""A run that has not ended after so many inputs never ends, as far as random play can tell."""

_HURRY = 120
"""After so many inputs moves are chosen that lead on, so that a run which can end does."""

_TRIES = 10
_LONGEST_PAUSE = 60_000
_SILENCES = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.15, 0.4, 0.4, 1.0)
"""How many of its agents may be silent in a run: in most none, in some all."""

_IMPATIENCE = (0.01, 0.01, 0.1, 0.3)
"""How likely it is that the next timer fires before anybody sends."""

_ODD = 0.07
"""How often a message is sent whatever becomes of it."""

_ALONE = 0.8
"""How often a protocol starts without a message that is made for it but would take one."""

_CANCELS = 0.02
"""How often somebody cancels."""

_EXPLORES = 0.15
"""How often, of several messages, the one is sent that leads where the run has been least."""

_GIVES_UP = (0.0, 0.0, 0.03, 0.3)
"""How often a message is sent that makes its instance fail."""


class Move(NamedTuple):
    """A message that somebody may send now."""

    instance: Instance
    card: Card
    agent: str


@dataclass(frozen=True, slots=True)
class Run:
    """How one instance went: how it ended, or in which state it was left, and after how many steps and inputs.

    `endless` is a run that nothing ends any more, or that random play did not end. `errors` are those of its steps, and
    of its children's.
    """

    number: int
    ending: str
    steps: int
    inputs: int
    endless: bool
    errors: tuple[str, ...]


class Player:
    """One run. The same seed and number make the same moves; `stepping` is the engine's step, or stands for it."""

    def __init__(self, book: Playbook, seed: int, number: int, *, stepping: Stepping = step) -> None:
        self._book = book
        self._random = Random(f"{seed}:{number}")
        self._number = number
        self._id = f"run-{number}"
        self._crowd = Crowd(self._random)
        self.host = Host(
            book.catalogue,
            self._crowd,
            on_step=self._observe,
            carry=self._keep_unknown_children,
            stepping=stepping,
        )
        self._writer = MessageWriter(book, self._random, self.host, self._crowd, self._id)
        self._sent: list[tuple[str, Message]] = []
        self._made_up: dict[str, str] = {}
        # Once a run, and seldom where the protocol does not react to it.
        self._may_be_cancelled = book.deck(book.first).is_cancelled or self._random.random() < _CANCELS
        self._silence = self._random.choice(_SILENCES)
        self._silent: dict[str, bool] = {}
        self._impatience = self._random.choice(_IMPATIENCE)
        self._gives_up = self._random.choice(_GIVES_UP)
        self._visits: Counter[tuple[str, str]] = Counter()
        self._uses: Counter[tuple[str, str]] = Counter()

    def play(self) -> Run:
        """Play to the end, or until it is plain that there is none."""
        first = self._start()
        inputs = 1
        while self._id in self.host.instances and self._main.status == "running" and inputs < LONGEST_RUN:
            if not self._move(hurry=inputs > _HURRY):
                break
            inputs += 1
        return self._run(first, inputs)

    @property
    def _main(self) -> Instance:
        return self.host.instances[self._id]

    def _run(self, first: Step, inputs: int) -> Run:
        errors = tuple(made.error for made in self.host.steps if made.error is not None)
        instance = self.host.instances.get(self._id)
        if instance is None:
            by = first.rejection.by if first.rejection is not None else "an error"
            return Run(self._number, f"not started: refused by {by}", 0, inputs, False, errors)
        if instance.status == "running":
            if inputs >= LONGEST_RUN:
                ending = f"unfinished after {LONGEST_RUN} inputs, in {instance.state}"
            else:
                ending = f"stuck: nothing can happen, in {instance.state}"
            return Run(self._number, ending, instance.revision, inputs, True, errors)
        reason = "" if instance.status == "success" or instance.error is None else f" ({instance.error})"
        ending = f"{instance.status} in {instance.state}{reason}"
        return Run(self._number, ending, instance.revision, inputs, False, errors)

    # -- starting -----------------------------------------------------------------------------------------------------

    def _start(self) -> Step:
        """Start with a message that is taken, if one is found; where the first state takes none, without one."""
        machine = self._book.first
        deck = self._book.deck(machine)
        inputs = self._writer.inputs(machine)
        if not deck.openings or (deck.begins_alone and self._random.random() < _ALONE):
            return self.host.start(self._id, None, inputs=inputs)
        message = self._opening(machine, deck)
        for _ in range(_TRIES):
            if self._is_welcome(machine, message, inputs):
                break
            message = self._opening(machine, deck)
        return self.host.start(self._id, message, inputs=inputs)

    def _opening(self, machine: Machine, deck: Deck) -> Message:
        card = self._random.choice(deck.openings)
        if machine.roles[card.role].played_by == "human":
            agents: Agents = (human_agent(card.role),)
        else:
            agents = self._crowd.of(card.role, max(1, machine.roles[card.role].minimum))
        return self._writer.message(machine, None, card, self._random.choice(agents))

    def _is_welcome(self, machine: Machine, message: Message, inputs: dict[str, Json]) -> bool:
        """Whether a start by this message would be taken, as far as can be told without binding anybody."""
        kind = machine.messages[message.type]
        if kind.validator.errors(message.payload):
            return False
        now = self.host.clock.now
        bound = {
            role.name: self._crowd.of(role.name, max(1, role.minimum))
            for role in machine.roles.values()
            if role.played_by == "agent"
        }
        start = Start(message.id, self._id, message.sender, now, now, message, {}, bound, inputs=inputs)
        made = step(machine, None, start)
        if (
            made.after is not None
            and made.after.status == "failure"
            and self._random.random() >= self._gives_up
        ):
            return False
        return made.verdict == "taken" or (made.rejection is not None and made.rejection.by == "quorum")

    # -- moving -------------------------------------------------------------------------------------------------------

    def _move(self, *, hurry: bool) -> bool:
        """One input: mostly a message that the state takes, now and then an odd one, or time passes."""
        chance = self._random.random()
        moves = self._moves()
        due = self.host.next_due()
        if self._may_be_cancelled and self._random.random() < _CANCELS:
            self._may_be_cancelled = False
            self.host.cancel(self._id, "random play")
            return True
        if self._made_up and (chance < 0.3 or (not moves and due is None)):
            self._end_made_up_child()
            return True
        if hurry and chance < 0.85 and self._lead_on(moves):
            return True
        if due is not None and (not moves or self._random.random() < self._impatience):
            self.host.advance(due)
            return True
        if moves and (chance < 0.9 or due is None):
            chosen, good = self._chosen(moves)
            if good or due is None or self._random.random() < _ODD:
                self._send(*chosen)
            else:
                self.host.advance(due)
            return True
        if self._sent and chance < 0.94:
            instance_id, repeated = self._random.choice(self._sent)
            self.host.send(instance_id, repeated)
            return True
        odd = [
            Move(instance, card, agent)
            for instance in self._running()
            for card in self._book.deck_for(instance).all
            for agent in self._players(instance, card.role)
        ]
        if odd:
            self._send(*self._written(self._random.choice(odd)))
        return bool(odd or moves or due is not None)

    def _running(self) -> list[Instance]:
        return [instance for instance in self.host.instances.values() if instance.status == "running"]

    def _moves(self) -> list[Move]:
        """The messages that may be taken now; those of silent agents only where nothing else can happen."""
        moves = [
            Move(instance, card, agent)
            for instance in self._running()
            for card in self._book.deck_for(instance).takes[instance.state]
            for agent in self._players(instance, card.role)
        ]
        spoken = [move for move in moves if not self._is_silent(move.agent)]
        return spoken if spoken or self.host.next_due() is not None else moves

    def _players(self, instance: Instance, role: str) -> Agents:
        bound = instance.roles[role]
        declared = self._book.deck_for(instance).machine.roles[role]
        if not declared.open:
            return bound
        return tuple(dict.fromkeys((*bound, *self._crowd.of(role, declared.minimum))))

    def _is_silent(self, agent: str) -> bool:
        if agent not in self._silent:
            self._silent[agent] = self._random.random() < self._silence
        return self._silent[agent]

    def _chosen(self, moves: Sequence[Move]) -> tuple[tuple[Instance, Message], bool]:
        """Mostly a message that would be taken, and whether it would be.

        The step is pure, so it is tried before the message is sent.
        """
        if self._random.random() < _EXPLORES:
            tried = [self._written(self._picked(moves)) for _ in range(_TRIES)]
            worth = [self._worth(self._rehearse(*one), success=0.2, failure=0.0) for one in tried]
            best = [one for one, found in zip(tried, worth, strict=True) if 0 < found == max(worth)]
            if best:
                return self._random.choice(best), True
        written = self._written(self._picked(moves))
        odd = self._random.random() < _ODD
        may_fail = self._random.random() < self._gives_up
        for _ in range(_TRIES):
            made = self._rehearse(*written)
            fails = made.after is not None and made.after.status == "failure"
            if (odd or made.verdict in ("taken", "deferred")) and (may_fail or not fails):
                return written, True
            written = self._written(self._picked(moves))
        return written, False

    def _picked(self, moves: Sequence[Move]) -> Move:
        """One of the moves, rather one of a type that was sent less often in this run."""
        kinds: dict[tuple[str, str], list[Move]] = {}
        for move in moves:
            kinds.setdefault((move.instance.id, move.card.kind), []).append(move)
        weights = [1 / (1 + self._uses[kind]) for kind in kinds]
        [chosen] = self._random.choices(list(kinds.values()), weights)
        return self._random.choice(chosen)

    def _lead_on(self, moves: Sequence[Move]) -> bool:
        """Of several moves, make the one that leads to the end, or else where the run has been least."""
        best: tuple[float, Instance, Message | None] | None = None
        for _ in range(_TRIES if moves else 0):
            instance, message = self._written(self._picked(moves))
            worth = self._worth(self._rehearse(instance, message))
            if best is None or worth > best[0]:
                best = (worth, instance, message)
        for instance in self._running():
            due = next_due(instance)
            if due is not None and due[1] == self.host.next_due():
                given = timer_input(instance, due[0], due[1], due[1])
                worth = self._worth(step(self._book.deck_for(instance).machine, instance, given))
                if best is None or worth > best[0]:
                    best = (worth, instance, None)
        if best is None or best[0] <= 0:
            return False
        if best[2] is None:
            soonest = self.host.next_due()
            self.host.advance(self.host.clock.now if soonest is None else soonest)
        else:
            self._send(best[1], best[2])
        return True

    def _worth(self, made: Step, *, success: float = 2.0, failure: float = 1.5) -> float:
        """How far a step leads: to the end, or else to a state where the run has been less often."""
        if made.verdict != "taken" or made.after is None:
            return 0.0
        if made.after.status != "running":
            return success if made.after.status == "success" else failure
        if made.before is not None and made.after.state == made.before.state:
            return 0.01
        return 1 / (1 + self._visits[made.after.id, made.after.state])

    def _rehearse(self, instance: Instance, message: Message) -> Step:
        return step(self._book.deck_for(instance).machine, instance, message)

    def _send(self, instance: Instance, message: Message) -> None:
        self._sent.append((instance.id, message))
        self._uses[instance.id, message.type] += 1
        self.host.send(instance.id, message)
        self.host.advance(self.host.clock.now + self._random.randint(0, _LONGEST_PAUSE))

    # -- messages -----------------------------------------------------------------------------------------------------

    def _written(self, move: Move) -> tuple[Instance, Message]:
        machine = self._book.deck_for(move.instance).machine
        return move.instance, self._writer.message(machine, move.instance, move.card, move.agent)

    # -- children of unknown protocols, and what is seen --------------------------------------------------------------

    def _keep_unknown_children(self, errand: Errand) -> bool:
        """Children whose protocol is not at hand end somehow, some time."""
        told = errand.told
        if isinstance(told, ChildStart) and self._book.catalogue.find(told.protocol, told.version) is None:
            self._made_up[told.to] = errand.source
            return True
        return isinstance(told, ChildCancel) and told.to in self._made_up

    def _end_made_up_child(self) -> None:
        child = self._random.choice(list(self._made_up))
        parent = self._made_up.pop(child)
        now = self.host.clock.now
        if self._random.random() < 0.7:
            end = ChildFinished(outcome_id(child), child, "success", {}, None, now, now)
        else:
            end = ChildFinished(outcome_id(child), child, "failure", None, "failed", now, now)
        self.host.give(parent, end)

    def _observe(self, made: Step) -> None:
        after = made.after
        if after is None or made.verdict != "taken":
            return
        if made.before is None or made.before.state != after.state:
            self._visits[after.id, after.state] += 1
        self._writer.observe(made)
