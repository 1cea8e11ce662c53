"""The moves inside a step: finding and taking transitions, entering states, and settling until nothing fires."""

from __future__ import annotations

from strabo_runtime.engine.actions import perform
from strabo_runtime.engine.binding import expected_agents
from strabo_runtime.engine.bounds import fewest
from strabo_runtime.engine.compensation import keep_compensation, run_kept
from strabo_runtime.engine.constraints import check_after
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import QUORUM_LOST, Transition
from strabo_runtime.engine.outputs import MicroStep
from strabo_runtime.engine.timers import TIMEOUT, arm, debts_of, set_spec
from strabo_runtime.expressions import EvaluationError
from strabo_runtime.expressions.types import Json


def find(execution: Execution, key: str | None, role: str | None = None) -> Transition | None:
    """The transition that is taken for this trigger in the present state: the first whose role and condition hold."""
    from_roles = execution.lookup.from_roles
    for transition in execution.machine.table.get((execution.state, key), ()):
        if from_roles and role is not None and role not in from_roles.get((transition.index, key), (role,)):
            continue
        if transition.condition is None:
            return transition
        try:
            if transition.condition.test(execution.scope):
                return transition
        except EvaluationError as error:
            raise StepError(
                f"in state {execution.state}, the condition of transition {transition.index + 1}: {error}"
            ) from None
    return None


def take(execution: Execution, transition: Transition, trigger: str | None) -> None:
    """Take a transition: leave actions, its own, entry actions. Without another target nothing is left or entered."""
    source = execution.state
    target = source if transition.target is None else transition.target
    leaves = target != source or transition.reenter
    _count(execution)
    if leaves:
        perform(execution, execution.machine.states[source].on_exit)
    perform(execution, transition.actions)
    if transition.compensation and not execution.ended:
        keep_compensation(execution, transition)
    if leaves:
        enter(execution, target)
    _finish(execution, transition.index, trigger, source)


def go_to(execution: Execution, target: str, trigger: str) -> None:
    """Move as if a transition without condition or actions led there."""
    source = execution.state
    _count(execution)
    if target != source:
        perform(execution, execution.machine.states[source].on_exit)
        enter(execution, target)
    _finish(execution, None, trigger, source)


def enter(execution: Execution, name: str) -> None:
    """Enter a state, unless the instance has ended: debts, entry actions, then timeout and due times."""
    if execution.ended:
        return
    state = execution.machine.states[name]
    execution.cancel_timer(TIMEOUT)
    execution.move(name, ())
    debts = debts_of(execution, state)
    if debts:
        execution.set_pending(debts)
    perform(execution, state.on_entry)
    if state.final == "failure" and execution.compensations:
        run_kept(execution)
    if execution.ended:
        return
    if state.timeout is not None:
        set_spec(execution, TIMEOUT, state.timeout, f"state {name}, timeout")
    if execution.pending:
        arm(execution)


def note(execution: Execution, trigger: str, source: str) -> None:
    """Record a move that is no transition, and what it logged."""
    _finish(execution, None, trigger, source)


def _count(execution: Execution) -> None:
    execution.steps_taken += 1
    if execution.steps_taken > execution.machine.limits.microsteps:
        raise StepError(
            f"the step has not settled after {execution.machine.limits.microsteps} transitions; it was last in state"
            f" {execution.state} (`limits.microsteps`)"
        )


def _finish(execution: Execution, index: int | None, trigger: str | None, source: str) -> None:
    execution.micro_steps += (MicroStep(index, trigger, source, execution.state, execution.logs),)
    execution.logs = ()
    if execution.unarmed and not execution.ended:
        arm(execution)
    before = execution.before
    if before is None or execution.roles is not before.roles or execution.requests is not before.requests:
        _watch_quorum(execution)


def _watch_quorum(execution: Execution) -> None:
    """Announce each role that has become too small, once until it is whole again.

    Agents that the directory is being asked for count: replacing the only agent of a role costs no quorum.
    """
    lost = []
    for role in execution.machine.roles.values():
        if expected_agents(execution, role.name) < fewest(role, execution.counts):
            lost.append(role.name)
            if role.name not in execution.quorum_lost:
                execution.raise_event(QUORUM_LOST, {"role": role.name})
    if tuple(lost) != execution.quorum_lost:
        execution.quorum_lost = tuple(lost)


# -- settling ---------------------------------------------------------------------------------------------------------


def is_over(execution: Execution) -> bool:
    """Whether nothing can happen any more: the instance has ended, or stands in a final state."""
    return execution.ended or execution.machine.states[execution.state].final is not None


def settle(execution: Execution) -> None:
    """Raised events first in, first out, then one automatic transition, again until nothing fires."""
    while not is_over(execution):
        if execution.events:
            (name, payload), *_ = execution.events
            execution.events = execution.events[1:]
            execution.see_event(name, payload)
            transition = find(execution, "!" + name)
            if transition is not None:
                take(execution, transition, "!" + name)
            else:
                unhandled(execution, name, payload)
        else:
            transition = find(execution, None)
            if transition is None:
                return
            take(execution, transition, None)
    execution.notes += tuple(
        f"the event {name} was dropped: the instance had ended" for name, _ in execution.events
    )
    execution.events = ()


def unhandled(execution: Execution, event: str, payload: Json) -> None:
    """An event that nothing takes is dropped; a lost quorum that nothing takes ends the instance."""
    if event == QUORUM_LOST and isinstance(payload, dict) and payload.get("role") in execution.quorum_lost:
        role = execution.machine.roles[str(payload["role"])]
        left, needed = len(execution.roles[role.name]), fewest(role, execution.counts)
        execution.fail(f"QuorumLost: the role {role.name} has {left} of at least {needed} agents left")
    else:
        execution.notes += (f"the event {event} was dropped: nothing takes it in state {execution.state}",)


def settle_own(execution: Execution) -> None:
    """After the input's own transition: the `after` constraints, then settle."""
    if not execution.ended:
        check_after(execution)
    settle(execution)
