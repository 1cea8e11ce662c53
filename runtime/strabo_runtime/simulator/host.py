"""Many instances of many protocols in memory, on the very engine that production uses, under a simulated clock."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from strabo_runtime.engine.admission import binding_needs
from strabo_runtime.engine.deferral import next_retry
from strabo_runtime.engine.identity import outcome_id
from strabo_runtime.engine.inputs import (
    Agents,
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Input,
    Message,
    Start,
)
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import BindRequest, ChildCancel, ChildStart, Outcome, ParentEvent, Step
from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.engine.timers import next_due, timer_input
from strabo_runtime.engine.transition import step
from strabo_runtime.expressions.types import Json
from strabo_runtime.simulator.catalogue import Catalogue
from strabo_runtime.simulator.clock import Clock
from strabo_runtime.simulator.directory import Directory, RoleDirectory
from strabo_runtime.simulator.errands import Errand, errand_of

Stepping: TypeAlias = Callable[[Machine, Instance | None, Input], Step]
"""The engine's step, or what stands for it."""

MOST_TIMERS_AT_ONCE = 10_000
"""How many timers may fire without the clock moving: beyond it, a protocol sets itself timers for ever."""

OPERATOR = "operator"
"""Who cancels where nobody is named."""


class Host:
    """Runs instances, and everything that they ask of each other.

    `directory` answers starts and bind requests; a mapping lists agents by role. `steps` holds every step in the order
    in which they were made; `on_step` is told of each. What one instance tells another is carried at once and in order,
    except what `carry` takes (it says so): that is for the caller to `deliver`, or to keep. The first of the `machines`
    is the one that is started where none is named. While a step is made and told of, `taking` is its instance's id.
    """

    def __init__(
        self,
        machines: Machine | Iterable[Machine],
        directory: Directory | Mapping[str, Agents],
        clock: Clock | None = None,
        on_step: Callable[[Step], None] | None = None,
        carry: Callable[[Errand], bool] = lambda _: False,
        stepping: Stepping = step,
    ) -> None:
        self.catalogue = Catalogue((machines,) if isinstance(machines, Machine) else machines)
        self.machine = next(iter(self.catalogue))
        self.directory = RoleDirectory(directory) if isinstance(directory, Mapping) else directory
        self.clock = Clock() if clock is None else clock
        self.instances: dict[str, Instance] = {}
        self.steps: list[Step] = []
        self._machines: dict[str, Machine] = {}
        self._on_step = on_step
        self._carry = carry
        self._stepping = stepping
        self._waiting: deque[Errand] = deque()
        self._carrying = False
        self._dues: list[tuple[int, int, str]] = []
        self._due_of: dict[str, int] = {}
        self._armed = 0
        self._last_id = 0
        self.taking = ""

    # -- what comes from outside --------------------------------------------------------------------------------------

    def new_id(self) -> str:
        """An id for a message that was given none."""
        self._last_id += 1
        return f"m{self._last_id}"

    def machine_of(self, instance_id: str) -> Machine:
        """The protocol of an instance, or that which was last tried to be started under its id; else the first."""
        return self._machines.get(instance_id, self.machine)

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
        inputs: Mapping[str, Json] | None = None,
        id: str | None = None,  # noqa: A002
        machine: Machine | None = None,
        or_send: bool = False,
    ) -> Step:
        """Start an instance (of the first protocol, where no `machine` is given), by a message or without one."""
        if message is not None:
            start_id, sender = (message.id if id is None else id), message.sender
        else:
            start_id, sender = (self.new_id() if id is None else id), starter or "starter"
        now = self.clock.now
        start = Start(
            start_id, instance_id, sender, now, now, message, named or {}, {}, or_send, inputs or {}
        )
        self._fire_past()
        return self._start(machine or self.machine, start)

    def send(self, instance_id: str, message: Message) -> Step:
        """Give an instance a message."""
        return self.give(instance_id, message)

    def cancel(self, instance_id: str, reason: str, *, by: str = OPERATOR, id: str | None = None) -> Step:  # noqa: A002
        """Ask an instance to end."""
        now = self.clock.now
        return self.give(instance_id, Cancel(self.new_id() if id is None else id, by, reason, now, now))

    def give(self, instance_id: str, given: Input) -> Step:
        """Give an instance any input; what is overdue comes before it."""
        self._fire_past()
        return self._take(instance_id, given)

    # -- time ---------------------------------------------------------------------------------------------------------

    def next_due(self) -> int | None:
        """When the next timer of any instance falls due."""
        earliest = self._earliest()
        return None if earliest is None else earliest[2]

    def advance(self, to: int) -> list[Step]:
        """Let time pass, firing what falls due up to and including its end, the earliest first."""
        fired: list[Step] = []
        while (earliest := self._earliest()) is not None and earliest[2] <= to:
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

    def _earliest(self) -> tuple[Instance, str, int] | None:
        """What falls due first. An entry of the heap that its instance has outlived is thrown away."""
        while self._dues:
            due, _, instance_id = self._dues[0]
            instance = self.instances[instance_id]
            found = next_due(instance) if instance.status == "running" else None
            if found is not None and found[1] == due:
                return instance, *found
            heapq.heappop(self._dues)
            if self._due_of.get(instance_id) == due:
                del self._due_of[instance_id]
        return None

    # -- what instances tell each other -------------------------------------------------------------------------------

    def deliver(self, errand: Errand) -> Step | None:
        """Carry out an errand; None where it has no step of its own: a child of a protocol that nobody knows."""
        now = self.clock.now
        match errand.told:
            case ChildStart() as told:
                return self._start_child(errand, told)
            case ChildCancel(id=made, reason=reason):
                return self._take(errand.to, Cancel(made, errand.source, reason, now, now))
            case ParentEvent(id=made, event=event, payload=payload):
                return self._take(errand.to, ChildEvent(made, errand.source, event, payload, now, now))
            case Outcome() as told:
                return self._take(errand.to, finished(errand.source, told, now))
            case BindRequest() as told:
                machine = self.machine_of(errand.to)
                found = self.directory.find(
                    machine.name, told.role, told.capabilities, told.count, told.excluded
                )
                return self.answer(errand.to, told.id, found)

    def answer(self, instance_id: str, request: str, agents: Agents) -> Step:
        """Answer a bind request."""
        now = self.clock.now
        return self._take(instance_id, AgentsFound(f"{request}:found", request, agents, now, now))

    def _start_child(self, errand: Errand, told: ChildStart) -> Step | None:
        machine = self.catalogue.find(told.protocol, told.version)
        if machine is None:
            wanted = told.protocol if told.version is None else f"{told.protocol} {told.version}"
            text = f"the child {told.parent.name} cannot be started: there is no protocol {wanted}"
            refused = Outcome(outcome_id(told.to), errand.source, "failure", "", None, text, to_parent=True)
            self._hand_on(Errand(told.to, errand.source, refused))
            return None
        now = self.clock.now
        return self._start(
            machine,
            Start(
                told.id,
                told.to,
                errand.source,
                now,
                now,
                None,
                told.named,
                {},
                inputs=told.inputs,
                parent=told.parent,
            ),
        )

    def _hand_on(self, errand: Errand) -> None:
        if not self._carry(errand):
            self._waiting.append(errand)

    def _carry_errands(self) -> None:
        """Carry what waits; what one errand brings about waits for its turn."""
        if self._carrying:
            return
        self._carrying = True
        try:
            while self._waiting:
                self.deliver(self._waiting.popleft())
        finally:
            self._carrying = False

    # -- steps --------------------------------------------------------------------------------------------------------

    def _start(self, machine: Machine, start: Start) -> Step:
        known = self.machine_of(start.instance_id) if start.instance_id in self.instances else machine
        needs = binding_needs(known, start)
        if not isinstance(needs, Rejection):
            bound = {
                role: self.directory.find(known.name, role, need.capabilities, need.want)
                for role, need in needs.items()
            }
            start = replace(start, bound=bound)
        return self._take(start.instance_id, start, known)

    def _take(self, instance_id: str, given: Input, machine: Machine | None = None) -> Step:
        """One step, the deferred messages whose turn it then is, and what all of them tell other instances."""
        if machine is not None:
            self._machines[instance_id] = machine
        known = self.machine_of(instance_id)
        first = self._step(known, instance_id, given)
        while (instance := self.instances.get(instance_id)) is not None:
            retry = next_retry(instance, self.clock.now)
            if retry is None:
                break
            self._step(known, instance_id, retry)
        self._carry_errands()
        return first

    def _step(self, machine: Machine, instance_id: str, given: Input) -> Step:
        self.taking = instance_id
        made = self._stepping(machine, self.instances.get(instance_id), given)
        if made.after is not None:
            self.instances[instance_id] = made.after
            self._arm(made.after)
        self.steps.append(made)
        if self._on_step is not None:
            self._on_step(made)
        for output in made.outputs:
            errand = errand_of(instance_id, output)
            if errand is not None:
                self._hand_on(errand)
        return made

    def _arm(self, instance: Instance) -> None:
        due = next_due(instance) if instance.status == "running" else None
        if due is not None and self._due_of.get(instance.id) != due[1]:
            self._armed += 1
            self._due_of[instance.id] = due[1]
            heapq.heappush(self._dues, (due[1], self._armed, instance.id))


def finished(child: str, outcome: Outcome, now: int) -> ChildFinished:
    """What a child's end is to its parent."""
    return ChildFinished(outcome.id, child, outcome.status, outcome.result, outcome.error, now, now)
