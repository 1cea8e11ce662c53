"""What falls due: timers, debts and reminders, when they are set, and which comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, bounded_time, stored_text
from strabo_runtime.engine.identity import timer_id
from strabo_runtime.engine.inputs import Agents, TimerDue
from strabo_runtime.engine.instance import Debt, Instance, Timer
from strabo_runtime.engine.machine import Expectation, State, TimerSpec
from strabo_runtime.expressions import EvaluationError

TIMEOUT = "timeout"
DEADLINE = "deadline"
DEBTS = "debts"
REMINDERS = "reminders"
"""The keys that are no named timer's. Debts that are due at one time lapse together, reminders likewise."""

UNARMED = -1
"""The order of a debt whose time is not set yet: that is done once the actions of its step are."""

_LAST = 1 << 62


def next_due(instance: Instance) -> tuple[str, int] | None:
    """The key and time of what falls due first, None where nothing ever will.

    On a tie the order in which they were set decides; a reminder comes after everything else.
    """
    first: tuple[int, int, str] | None = None
    for timer in instance.timers:
        if first is None or (timer.due, timer.order) < first[:2]:
            first = (timer.due, timer.order, timer.key)
    for debt in instance.pending:
        if debt.due is not None and (first is None or (debt.due, debt.order) < first[:2]):
            first = (debt.due, debt.order, DEBTS)
        if debt.next_reminder is not None and (first is None or (debt.next_reminder, _LAST) < first[:2]):
            first = (debt.next_reminder, _LAST, REMINDERS)
    return None if first is None else (first[2], first[0])


def timer_input(instance: Instance, key: str, due: int, now: int) -> TimerDue:
    """The input that this due timer is; its id is a function of the instance and what falls due."""
    return TimerDue(
        timer_id(instance.id, instance.revision, key, due), key, due, bounded_time(now, due, instance.now)
    )


def without(instance: Instance, key: str, due: int) -> tuple[tuple[Timer, ...], tuple[Debt, ...]]:
    """The timers and debts once this has fired and failed: what is due at that time will not fire again."""
    timers = tuple(timer for timer in instance.timers if timer.key != key)
    pending = instance.pending
    if key == DEBTS:
        pending = tuple(replace(debt, due=None) if debt.due == due else debt for debt in pending)
    elif key == REMINDERS:
        pending = tuple(
            replace(debt, next_reminder=None) if debt.next_reminder == due else debt for debt in pending
        )
    return timers, pending


# -- entering a state -------------------------------------------------------------------------------------------------


def debts_of(execution: Execution, state: State) -> tuple[Debt, ...]:
    """What is owed on entry into a state; when it lapses is not known before the entry actions are done."""
    return tuple(
        Debt(agent, expectation.role, place, execution.now, order=UNARMED)
        for place, expectation in enumerate(state.expects)
        for agent in _debtors(execution, state, expectation)
    )


def owe(execution: Execution, role: str, agents: Agents) -> None:
    """Let agents that join a role while a state lasts owe what it expects of the role."""
    expects = execution.machine.states[execution.state].expects
    places = [place for place, one in enumerate(expects) if one.role == role and one.agents is None]
    if not places and not execution.pending:
        return
    # What is armed is from an earlier stay of theirs in the role; what is not, they have just taken over.
    kept = [
        debt
        for debt in execution.pending
        if debt.role != role or debt.agent not in agents or debt.order == UNARMED
    ]
    owed = {(debt.agent, debt.expectation) for debt in kept if debt.role == role}
    kept += [
        Debt(agent, role, place, execution.now, order=UNARMED)
        for place in places
        for agent in agents
        if (agent, place) not in owed
    ]
    execution.unarmed = True
    execution.set_pending(tuple(kept))


def arm(execution: Execution) -> None:
    """Set the times of the debts that have none yet."""
    execution.unarmed = False
    state = execution.machine.states[execution.state]
    lapses = {
        place: _lapse(execution, state, state.expects[place])
        for place in sorted({debt.expectation for debt in execution.pending if debt.order == UNARMED})
    }
    execution.pending = tuple(
        _armed(execution, debt, *lapses[debt.expectation]) if debt.order == UNARMED else debt
        for debt in execution.pending
    )


def _lapse(execution: Execution, state: State, expectation: Expectation) -> tuple[int | None, int | None]:
    """When a debt that begins now lapses, and how long it is between two reminders."""
    where = f"state {state.name}, expects {' or '.join(expectation.messages)}"
    within = expectation.within
    due = None if within is None else execution.due(within, None, f"{where}, within")
    if expectation.remind is None or expectation.remind.times <= 0:
        return due, None
    every = execution.duration(expectation.remind.every, f"{where}, remind")
    if every <= 0:
        raise StepError(f"{where}, remind: every must be longer than nothing")
    return due, every


def set_spec(execution: Execution, key: str, spec: TimerSpec, where: str) -> None:
    """Set a state's timeout or the deadline."""
    execution.set_timer(key, execution.due(spec.after, spec.at, where))


def _armed(execution: Execution, debt: Debt, due: int | None, every: int | None) -> Debt:
    order = execution.timers_set
    execution.timers_set += 1
    return replace(
        debt,
        due=due,
        order=order,
        every=every,
        next_reminder=None if every is None else execution.now + every,
    )


def _debtors(execution: Execution, state: State, expectation: Expectation) -> Agents:
    bound = execution.roles[expectation.role]
    if expectation.agents is None:
        return bound
    where = f"state {state.name}, expects {' or '.join(expectation.messages)}, from"
    try:
        value = expectation.agents.render(execution.scope)
    except EvaluationError as error:
        raise StepError(f"{where}: {error}") from None
    ids = value if isinstance(value, list) else [value]
    for agent in ids:
        if agent not in bound:
            raise StepError(f"{where}: {stored_text(agent)} is not bound to {expectation.role}")
    return tuple(dict.fromkeys(cast("list[str]", ids)))


# -- paying and reminding ---------------------------------------------------------------------------------------------


def settle_debts(execution: Execution, agent: str, role: str, kind: str) -> None:
    """A message of this type came from this agent: whatever it owed by it is settled."""
    if not execution.pending:
        return
    expects = execution.machine.states[execution.state].expects
    left = tuple(
        debt
        for debt in execution.pending
        if not (debt.agent == agent and debt.role == role and kind in expects[debt.expectation].messages)
    )
    if len(left) != len(execution.pending):
        execution.set_pending(left)


def keep_requests(execution: Execution) -> None:
    """At a step's end: note what a new debt's debtor was asked, and forget deliveries that nothing refers to."""
    if not execution.last_deliveries and not execution.deliveries:
        return
    latest = execution.last_deliveries
    known = 0 if execution.before is None else execution.before.timers_set
    if execution.timers_set != known:
        asked_again = execution.lookup.asked_again
        execution.pending = tuple(
            replace(debt, request=latest.get(debt.agent))
            if debt.order >= known and debt.role in asked_again
            else debt
            for debt in execution.pending
        )
    needed = {*latest.values(), *(debt.request for debt in execution.pending)}
    if any(made not in needed for made in execution.deliveries):
        execution.deliveries = {made: kept for made, kept in execution.deliveries.items() if made in needed}


def remind(execution: Execution, due: int) -> None:
    """Send what was asked once more to everybody whose reminder is due."""
    waiting = [debt for debt in execution.pending if debt.next_reminder == due]
    for (request, role), agents in _grouped(waiting).items():
        if request is not None and send_again(execution, request, tuple(agents), reminder=True):
            execution.notes += (f"reminded {', '.join(agents)} as {role}",)
        else:
            execution.notes += (f"nothing was delivered to {', '.join(agents)} that could be sent again",)
    execution.set_pending(
        tuple(_reminded(execution, debt) if debt.next_reminder == due else debt for debt in execution.pending)
    )


def send_again(execution: Execution, request: str, agents: Agents, *, reminder: bool = False) -> bool:
    """Send a delivery that was kept once more, as a reminder or to whom it is new; whether it was kept."""
    kept = execution.deliveries.get(request)
    if not isinstance(kept, dict):
        return False
    fields = cast("dict[str, str]", kept)
    execution.deliver(
        fields["role"],
        agents,
        fields["type"],
        kept["payload"],
        sender=fields["sender"],
        sender_role=fields["sender_role"],
        sent_at=execution.now,
        in_reply_to=fields["in_reply_to"],
        reminder_of=request if reminder else None,
    )
    return True


def _grouped(debts: Iterable[Debt]) -> dict[tuple[str | None, str], list[str]]:
    grouped: dict[tuple[str | None, str], list[str]] = {}
    for debt in debts:
        agents = grouped.setdefault((debt.request, debt.role), [])
        if debt.agent not in agents:
            agents.append(debt.agent)
    return grouped


def _reminded(execution: Execution, debt: Debt) -> Debt:
    spec = execution.machine.states[execution.state].expects[debt.expectation].remind
    sent = debt.reminders_sent + 1
    again = (
        spec is not None and sent < spec.times and debt.every is not None and debt.next_reminder is not None
    )
    return replace(
        debt,
        reminders_sent=sent,
        next_reminder=cast("int", debt.next_reminder) + cast("int", debt.every) if again else None,
    )


def lapsed(execution: Execution, due: int) -> dict[int, list[Debt]]:
    """Take out the debts that lapse now: place of the expectation → the debts, of an agent each."""
    silent: dict[int, list[Debt]] = {}
    for debt in execution.pending:
        if debt.due == due:
            silent.setdefault(debt.expectation, []).append(debt)
    execution.set_pending(tuple(debt for debt in execution.pending if debt.due != due))
    return dict(sorted(silent.items()))
