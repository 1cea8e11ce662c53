"""How a message takes effect once it is admitted: transition, `before` constraints, actions, settling, final checks."""

from __future__ import annotations

from collections.abc import Sequence

from strabo_runtime.engine.admission import Admitted
from strabo_runtime.engine.constraints import check_always, refusing, rejection_by
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import Constraint, Machine, Transition
from strabo_runtime.engine.microsteps import find, is_over, settle_own, take
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.engine.timers import settle_debts


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
    """Take a message: it settles what its sender owed, goes on to its recipients, and moves the instance.

    Raises StepError, Undone.
    """
    facts = admitted.facts
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


def final_checks(execution: Execution) -> None:
    """What holds when a step has settled: `always` constraints, and the number of steps. Raises StepError, Undone."""
    if not execution.ended:
        check_always(execution)
    limit = execution.machine.limits.steps
    if execution.revision >= limit and not is_over(execution):
        execution.fail(f"the limit of {limit} steps is reached (`limits.steps`)")


def _unexpected(machine: Machine, state: str, kind: str) -> Rejection:
    takes = sorted(
        key for source, key in machine.table if source == state and key and not key.startswith("!")
    )
    listed = ", ".join(takes) if takes else "no messages"
    if kind in takes:
        return Rejection(
            "unexpected",
            f"no transition of state {state} takes this {kind}: its condition, or its sender's role, does not fit;"
            f" the state takes {listed}",
        )
    return Rejection("unexpected", f"state {state} does not take {kind}; it takes {listed}")
