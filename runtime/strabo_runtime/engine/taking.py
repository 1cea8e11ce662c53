"""How an input takes effect once it is admitted: transition, `before` constraints, actions, settling, final checks."""

from __future__ import annotations

from collections.abc import Sequence

from strabo_runtime.engine.admission import Admitted
from strabo_runtime.engine.binding import join
from strabo_runtime.engine.constraints import check_always, react, refusing, rejection_by
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import Constraint, Machine, Reject, Transition, event_key
from strabo_runtime.engine.microsteps import find, is_over, settle_own, take, unhandled
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.engine.timers import settle_debts
from strabo_runtime.expressions.types import Json


def matching(execution: Execution, admitted: Admitted) -> Transition | Rejection:
    """The transition that takes this message now, or the refusal where none does. Raises StepError."""
    facts = admitted.facts
    transition = find(execution, facts.type, facts.role)
    return _unexpected(execution.machine, execution.state, facts.type) if transition is None else transition


def objections(execution: Execution) -> tuple[Rejection, Sequence[Constraint]] | None:
    """The refusal by the `before` constraints and those that refuse, None where all hold. Raises StepError."""
    violated = refusing(execution)
    return (rejection_by(execution, violated), violated) if violated else None


def accept(execution: Execution, admitted: Admitted, transition: Transition) -> None:
    """Take a message: it binds a joiner, settles what its sender owed, goes on to its recipients, moves the instance.

    Raises StepError, Undone.
    """
    facts = admitted.facts
    if admitted.joins:
        join(execution, facts.role, (facts.sender,))
    settle_debts(execution, facts.sender, facts.role, facts.type)
    execution.turns = admitted.turns
    for role, agents in admitted.onward.items():
        if agents:
            execution.deliver(
                role,
                agents,
                facts.type,
                facts.payload,
                sender=facts.sender,
                sender_role=facts.role,
                sent_at=facts.sent_at,
                in_reply_to=facts.in_reply_to,
            )
    take(execution, transition, facts.type)
    settle_own(execution)


def take_event(execution: Execution, name: str, payload: Json) -> bool:
    """Take the event that an input is, or that it raises: its transition is the input's own.

    Whether a transition was taken; an event that nothing takes is noted as dropped.
    The caller settles. Raises StepError, Undone.
    """
    execution.see_event(name, payload)
    transition = find(execution, event_key(name))
    if transition is None:
        unhandled(execution, name, payload)
        return False
    if may_act(execution):
        take(execution, transition, event_key(name))
        settle_own(execution)
        return True
    return False


def may_act(execution: Execution) -> bool:
    """Whether the `before` constraints let it act; if not, they have had their say. Raises StepError on a `reject`."""
    violated = refusing(execution)
    if not violated:
        return True
    if any(isinstance(constraint.on_violation, Reject) for constraint in violated):
        raise StepError(rejection_by(execution, violated).text)
    react(execution, violated)
    return False


def final_checks(execution: Execution) -> None:
    """What holds when a step has settled: `always` constraints, and the number of steps. Raises StepError, Undone."""
    if not execution.ended:
        check_always(execution)
    limit = execution.machine.limits.steps
    if execution.revision >= limit and not is_over(execution):
        execution.fail(f"the limit of {limit} steps is reached (`limits.steps`)")


def _unexpected(machine: Machine, state: str, kind: str) -> Rejection:
    takes = sorted(
        key
        for source, key in machine.table
        if source == state and key is not None and key in machine.messages
    )
    listed = ", ".join(takes) if takes else "no messages"
    if kind in takes:
        return Rejection(
            "unexpected",
            f"no transition of state {state} takes this {kind}: its condition, or its sender's role, does not fit;"
            f" the state takes {listed}",
        )
    return Rejection("unexpected", f"state {state} does not take {kind}; it takes {listed}")
