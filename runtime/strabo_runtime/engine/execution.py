"""One step under way: the working copy of an instance, and what has come out of the step so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import orjson

from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.identity import delivery_id
from strabo_runtime.engine.inputs import Agents, Message, Parent
from strabo_runtime.engine.instance import (
    NOTHING,
    Change,
    Child,
    Compensation,
    Debt,
    Instance,
    OpenRequest,
    Timer,
)
from strabo_runtime.engine.lookup import NO_MESSAGE
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Delivery, MicroStep, Output
from strabo_runtime.engine.turns import next_in_turn
from strabo_runtime.expressions import (
    EvaluationError,
    EventFacts,
    InstanceFacts,
    MessageFacts,
    Scope,
    Template,
    Variables,
    parse_duration,
    parse_timestamp,
)
from strabo_runtime.expressions.types import Json

LATEST_TIME = 253_402_300_799_999
"""The last millisecond that a timestamp can say: 9999-12-31T23:59:59.999Z."""

MOST_WRITTEN = 16 * 1024 * 1024
"""Bytes that one step may write in all, beside one whole state."""


_UNREAD = InstanceFacts("", "", "", "", 0, 0, None)
"""What stands for the instance where no expression reads it: its facts would be made anew at each step."""


def bounded_time(*times: int) -> int:
    """The latest of these times, within what timestamps can say."""
    latest = max(times)
    return latest if 0 <= latest <= LATEST_TIME else 0 if latest < 0 else LATEST_TIME


def stored_size(value: Json) -> int:
    """How many bytes a value takes in the stored form."""
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise StepError(f"a value cannot be stored as JSON: {error}") from None


def child_lists(children: Iterable[Child]) -> Mapping[str, list[Json]]:
    """Name → what expressions read of the children under it, in start order."""
    lists: dict[str, list[Json]] = {}
    for child in children:
        facts: dict[str, Json] = {"id": child.id, "status": child.status}
        if child.result is not None:
            facts["result"] = child.result
        if child.error is not None:
            facts["error"] = child.error
        lists.setdefault(child.name, []).append(cast("Json", facts))
    return lists


class Execution:
    """The mutable side of a step. It lives for one step, and only `completion` turns it into values again.

    The instance before the step is never touched: what changes is replaced, not altered.
    """

    __slots__ = (
        "asked",
        "before",
        "cause",
        "children",
        "children_started",
        "compensating",
        "compensations",
        "counts",
        "deferred",
        "delivered",
        "deliveries",
        "dropped",
        "ended",
        "entered",
        "error",
        "events",
        "instance_id",
        "last_deliveries",
        "logs",
        "lookup",
        "machine",
        "message",
        "micro_steps",
        "notes",
        "now",
        "parent",
        "parent_events",
        "pending",
        "quorum_lost",
        "repeated",
        "requested",
        "requests",
        "retry",
        "revision",
        "roles",
        "scope",
        "size_bound",
        "started_at",
        "starting",
        "state",
        "steps_taken",
        "timers",
        "timers_set",
        "turns",
        "unarmed",
        "variable_changes",
        "violations",
        "warnings",
        "written",
    )

    def __init__(
        self,
        machine: Machine,
        before: Instance | None,
        instance_id: str,
        now: int,
        roles: Mapping[str, Agents],
        starting: MessageFacts | None,
        message: MessageFacts | None,
        parent: Parent | None = None,
        counts: Mapping[str, int] = NOTHING,
    ) -> None:
        self.machine = machine
        self.lookup = machine.lookup
        self.before = before
        self.instance_id = instance_id
        self.now = now
        self.roles = roles
        self.starting = starting
        self.message = message
        self.cause = NO_MESSAGE if message is None else message.type
        self.ended = False
        self.entered = False
        self.unarmed = False
        self.compensating = False
        self.error: str | None = None
        self.steps_taken = 0
        self.written = 0
        self.repeated = 0
        self.asked = 0
        self.children_started = 0
        self.parent_events = 0
        # Tuples, not lists: most steps leave most of these empty, and an empty tuple costs nothing.
        self.events: tuple[tuple[str, Json], ...] = ()
        self.delivered: tuple[Delivery, ...] = ()
        self.requested: tuple[Output, ...] = ()
        self.micro_steps: tuple[MicroStep, ...] = ()
        self.logs: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.violations: tuple[str, ...] = ()
        self.variable_changes: tuple[Change, ...] = ()
        if before is None:
            self.revision = 1
            self.started_at = now
            self.state = machine.initial
            self.pending: tuple[Debt, ...] = ()
            self.timers: tuple[Timer, ...] = ()
            self.timers_set = 0
            self.turns: Mapping[str, int] = NOTHING
            self.deliveries: Mapping[str, Json] = NOTHING
            self.last_deliveries: Mapping[str, str] = NOTHING
            self.quorum_lost: tuple[str, ...] = ()
            self.size_bound = 0
            self.parent = parent
            self.children: tuple[Child, ...] = ()
            self.deferred: tuple[Message, ...] = ()
            self.retry: int | None = None
            self.compensations: tuple[Compensation, ...] = ()
            self.requests: tuple[OpenRequest, ...] = ()
            self.dropped: Mapping[str, Agents] = NOTHING
            self.counts = counts
            # From a tuple: out of a mapping Python would make a dict with twice the room, and instances keep it.
            variables = Variables.of(dict.fromkeys((*machine.inputs, *machine.variables)))
        else:
            self.revision = before.revision + 1
            self.started_at = before.started_at
            self.state = before.state
            self.pending = before.pending
            self.timers = before.timers
            self.timers_set = before.timers_set
            self.turns = before.turns
            self.deliveries = before.deliveries
            self.last_deliveries = before.last_deliveries
            self.quorum_lost = before.quorum_lost
            self.size_bound = before.size_bound
            self.parent = before.parent
            self.children = before.children
            self.deferred = before.deferred
            self.retry = before.retry
            self.compensations = before.compensations
            self.requests = before.requests
            self.dropped = before.dropped
            self.counts = before.counts
            variables = before.variables
        self.scope = Scope(
            variables,
            now=now,
            instance=self.instance_facts(),
            roles=roles,
            pending=self.owing() if self.pending else self.lookup.nobody_owes,
            message=message,
            starting=starting,
        )
        if self.children and self.lookup.reads_children:
            self.scope.children = child_lists(self.children)

    # -- what expressions see -----------------------------------------------------------------------------------------

    def instance_facts(self) -> InstanceFacts:
        """The instance as expressions read it; `steps` counts the one under way."""
        if not self.lookup.reads_instance:
            return _UNREAD
        machine, parent = self.machine, self.parent
        return InstanceFacts(
            self.instance_id,
            machine.name,
            machine.version,
            self.state,
            self.started_at,
            self.revision,
            None if parent is None else parent.instance_id,
        )

    def owing(self) -> Mapping[str, Agents]:
        """Role → the agents that still owe, each once, in the order in which they came to owe."""
        owing: dict[str, dict[str, None]] = {role: {} for role in self.machine.roles}
        for debt in self.pending:
            owing[debt.role][debt.agent] = None
        return {role: tuple(agents) for role, agents in owing.items()}

    # -- changes ------------------------------------------------------------------------------------------------------

    def set_variable(self, name: str, value: Json) -> None:
        """Give a variable a new value."""
        size = self.keep(value)
        self.scope.set_variable(name, value)
        self.variable_changes += (("variables." + name, value),)
        self.size_bound += size + 1

    def append(self, name: str, value: Json) -> None:
        """Append to a list variable."""
        size = self.keep(value)
        self.scope.append(name, value)
        self.variable_changes += (("variables." + name + "+", value),)
        self.size_bound += size + 3

    def keep(self, value: Json) -> int:
        """Count a value that the instance is to keep; its size. Raises StepError."""
        size, limit = stored_size(value), self.machine.limits.state_bytes
        if size > limit:
            raise StepError(f"a value takes {size} bytes, and `limits.state_bytes` is {limit}")
        self.write(size)
        return size

    def write(self, size: int) -> None:
        """Count bytes that the step keeps, sends or logs. Raises StepError.

        The instance is measured when the step has settled; by then a step that doubles a text again and again, or
        sends thousands of large messages, would have filled the memory.
        """
        self.written += size
        if self.written > MOST_WRITTEN + self.machine.limits.state_bytes:
            raise StepError(f"the step writes more than {MOST_WRITTEN} bytes")

    def move(self, state: str, debts: tuple[Debt, ...]) -> None:
        """Stand in another state, with its debts."""
        self.state = state
        self.pending = debts
        self.entered = True
        self.unarmed = False
        self.scope.update(instance=self.instance_facts(), pending=self.owing())

    def set_pending(self, debts: tuple[Debt, ...]) -> None:
        """Replace the debts."""
        self.pending = debts
        self.scope.update(pending=self.owing())

    def set_timer(self, key: str, due: int, event: str | None = None, payload: Json = None) -> None:
        """Set a timer, in place of one of the same key."""
        kept = tuple(timer for timer in self.timers if timer.key != key)
        self.timers = (*kept, Timer(key, due, self.timers_set, event, payload))
        self.timers_set += 1
        self.size_bound += len(key) + 64 + (0 if event is None else len(event) + stored_size(payload))

    def cancel_timer(self, key: str) -> None:
        """Cancel a timer; one that is not set is no error."""
        if any(timer.key == key for timer in self.timers):
            self.timers = tuple(timer for timer in self.timers if timer.key != key)

    def raise_event(self, name: str, payload: Json) -> None:
        """Queue an event behind those already raised."""
        self.events += ((name, payload),)

    def see_event(self, name: str, payload: Json) -> None:
        """Let expressions read this event."""
        self.scope.update(event=EventFacts(name, payload))

    def fail(self, reason: str) -> None:
        """End the instance here as failed; the first reason stands."""
        if not self.ended:
            self.ended = True
            self.error = reason

    def take_turn(self, role: str, candidates: Agents) -> str:
        """The next of these agents in the turn of `Role[any]`."""
        agent, turn = next_in_turn(self.roles[role], self.turns.get(role, 0), candidates)
        self.turns = {**self.turns, role: turn}
        return agent

    def set_role(self, role: str, agents: Agents) -> None:
        """Replace the agents of a role."""
        self.roles = {**self.roles, role: agents}
        self.scope.update(roles=self.roles)

    # -- what goes out ------------------------------------------------------------------------------------------------

    def deliver(
        self,
        role: str,
        to: Agents,
        kind: str,
        payload: Json,
        *,
        sender: str,
        sender_role: str,
        sent_at: int,
        in_reply_to: str | None = None,
        reminder_of: str | None = None,
    ) -> None:
        """Send one record to agents of one role. Raises StepError."""
        self.write(stored_size(payload))
        made = delivery_id(self.instance_id, self.revision, len(self.delivered))
        self.delivered += (
            Delivery(made, role, to, kind, payload, sender, sender_role, sent_at, in_reply_to, reminder_of),
        )
        if role in self.lookup.asked_again and reminder_of is None:
            kept: Json = {
                "role": role,
                "type": kind,
                "payload": payload,
                "sender": sender,
                "sender_role": sender_role,
                "sent_at": sent_at,
                "in_reply_to": in_reply_to,
            }
            self.deliveries = {**self.deliveries, made: kept}
            self.last_deliveries = {**self.last_deliveries, **dict.fromkeys(to, made)}
            self.size_bound += stored_size(kept) + (len(to) + 1) * (len(made) + 32)

    def forget_deliveries(self, agents: Agents) -> None:
        """Nobody reminds agents that have left of what they were sent."""
        if any(agent in self.last_deliveries for agent in agents):
            self.last_deliveries = {
                agent: made for agent, made in self.last_deliveries.items() if agent not in agents
            }

    # -- templates ----------------------------------------------------------------------------------------------------

    def text(self, template: Template) -> str:
        """A template as text."""
        rendered = template.render(self.scope)
        return rendered if isinstance(rendered, str) else orjson.dumps(rendered).decode()

    def due(self, after: Template | None, at: Template | None, what: str) -> int:
        """When something falls due: a duration from now, or a time. A time already past is fine."""
        try:
            if after is not None:
                due = self.now + self.duration(after, what)
            elif at is not None:
                due = parse_timestamp(self._time_text(at, what))
            else:
                raise StepError(f"{what} has neither a duration nor a time")
        except (ValueError, OverflowError) as error:
            raise StepError(f"{what}: {error}") from None
        if not 0 <= due <= LATEST_TIME:
            raise StepError(f"{what} would fall outside of the years 1970 to 9999")
        return due

    def duration(self, template: Template, what: str) -> int:
        """A duration in milliseconds."""
        try:
            return parse_duration(self._time_text(template, what))
        except (ValueError, OverflowError) as error:
            raise StepError(f"{what}: {error}") from None

    def _time_text(self, template: Template, what: str) -> str:
        try:
            value = template.render(self.scope)
        except EvaluationError as error:
            raise StepError(f"{what}: {error}") from None
        if not isinstance(value, str):
            raise StepError(f"{what} is {stored_text(value)}, where a time or duration is needed")
        return value


def stored_text(value: Json) -> str:
    """A value for an error message, cut short."""
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = "a value that is not JSON"
    return text if len(text) <= 80 else text[:77] + "..."
