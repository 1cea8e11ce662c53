"""Many instances of one protocol in memory, on the very engine that production uses, under a simulated clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strabo_runtime.engine.admission import binding_needs
from strabo_runtime.engine.inputs import Agents, Input, Message, Start
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.engine.timers import next_due, timer_input
from strabo_runtime.engine.transition import step
from strabo_runtime.expressions.types import Json
from strabo_runtime.simulator.clock import Clock

MOST_TIMERS_AT_ONCE = 10_000
"""How many timers may fire without the clock moving: beyond it, a protocol sets itself timers for ever."""


class Host:
    """Runs instances. `directory` names the agents that may be bound, by role.

    `steps` holds every step in the order in which they were made; `on_step` is told of each.
    """

    def __init__(
        self,
        machine: Machine,
        directory: Mapping[str, Agents],
        clock: Clock | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> None:
        self.machine = machine
        self.directory = directory
        self.clock = Clock() if clock is None else clock
        self.instances: dict[str, Instance] = {}
        self.steps: list[Step] = []
        self._on_step = on_step
        self._last_id = 0

    def new_id(self) -> str:
        """An id for a message that was given none."""
        self._last_id += 1
        return f"m{self._last_id}"

    def message(
        self,
        sender: str,
        kind: str,
        payload: Json,
        *,
        id: str | None = None,  # noqa: A002  the name that scenarios and envelopes use
        role: str | None = None,
        to: Agents | None = None,
        user: str | None = None,
        in_reply_to: str | None = None,
    ) -> Message:
        """A message that is sent and received now."""
        now = self.clock.now
        made = self.new_id() if id is None else id
        return Message(made, sender, kind, payload, now, now, now, role, to, in_reply_to, user)

    def start(
        self,
        instance_id: str,
        message: Message | None,
        *,
        starter: str | None = None,
        named: Mapping[str, Agents] | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Step:
        """Start an instance, by a message or (from `starter`) without one."""
        self._fire_past()
        now = self.clock.now
        if message is not None:
            start_id, sender = message.id, message.sender
        else:
            start_id, sender = (self.new_id() if id is None else id), starter or "starter"
        start = Start(start_id, instance_id, sender, now, now, message, named or {}, {})
        needs = binding_needs(self.machine, start)
        bound = (
            {}
            if isinstance(needs, Rejection)
            else {role: self.directory.get(role, ())[: need.want] for role, need in needs.items()}
        )
        return self._take(
            instance_id, Start(start_id, instance_id, sender, now, now, message, start.named, bound)
        )

    def send(self, instance_id: str, message: Message) -> Step:
        """Give an instance a message."""
        self._fire_past()
        return self._take(instance_id, message)

    def next_due(self) -> int | None:
        """When the next timer of any instance falls due."""
        dues = [due[1] for instance in self.instances.values() if (due := _due(instance)) is not None]
        return min(dues, default=None)

    def advance(self, to: int) -> list[Step]:
        """Let time pass, firing what falls due up to and including its end, the earliest first."""
        fired: list[Step] = []
        while (earliest := self._earliest(to)) is not None:
            if len(fired) >= MOST_TIMERS_AT_ONCE:
                break
            instance, key, due = earliest
            self.clock.move_to(due)
            fired.append(self._take(instance.id, timer_input(instance, key, due, self.clock.now)))
        self.clock.move_to(to)
        return fired

    def _fire_past(self) -> None:
        """What is overdue fires before anything new is taken; on a tie a message comes first."""
        self.advance(self.clock.now - 1)

    def _earliest(self, until: int) -> tuple[Instance, str, int] | None:
        first: tuple[Instance, str, int] | None = None
        for instance in self.instances.values():
            due = _due(instance)
            if due is not None and due[1] <= until and (first is None or due[1] < first[2]):
                first = (instance, *due)
        return first

    def _take(self, instance_id: str, given: Input) -> Step:
        taken = step(self.machine, self.instances.get(instance_id), given)
        if taken.after is not None:
            self.instances[instance_id] = taken.after
        self.steps.append(taken)
        if self._on_step is not None:
            self._on_step(taken)
        return taken


def _due(instance: Instance) -> tuple[str, int] | None:
    return next_due(instance) if instance.status == "running" else None
