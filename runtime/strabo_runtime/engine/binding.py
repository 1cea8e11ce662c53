"""Who plays a role while an instance runs: agents that join, leave, are replaced, and are asked of the directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as altered

from strabo_runtime.engine.bounds import most
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, stored_size
from strabo_runtime.engine.identity import bind_request_id, unfit
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.instance import Debt, Instance, OpenRequest
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import BindRequest
from strabo_runtime.engine.timers import UNARMED, owe, send_again
from strabo_runtime.engine.turns import turn_after_leaving

MOST_REPLACEMENTS = 3
"""How often a debt is handed on to another agent before its debtor is skipped."""

_REQUEST_OVERHEAD = 64
"""More than the stored form of an open request takes beside its texts."""


# -- what actions ask for ---------------------------------------------------------------------------------------------


def bind(execution: Execution, role: str, agents: Agents) -> None:
    """Bind these agents at once; one that is bound already stays as it is. Raises StepError past the role's `max`."""
    for agent in agents:
        reason = unfit(agent)
        if reason is not None:
            raise StepError(reason)
    present = execution.roles[role]
    joining = tuple(agent for agent in dict.fromkeys(agents) if agent not in present)
    _check_room(execution, role, len(joining))
    join(execution, role, joining)


def ask(execution: Execution, role: str, count: int, silent: Agents = ()) -> None:
    """Ask the directory, after the step, for so many agents. Raises StepError where the role has no room for them."""
    _check_room(execution, role, count)
    _request(execution, role, count, silent)


def unbind(execution: Execution, role: str, agents: Agents | None) -> None:
    """Take these agents, or all, out of a role; what they owe in it is cancelled. One who is not bound is no error."""
    _leave(execution, role, execution.roles[role] if agents is None else agents)


def replace(execution: Execution, role: str, agents: Agents | None, count: int | None) -> None:
    """Take these agents, or all, out of a role for good, and ask for others in their place. Raises StepError."""
    present = execution.roles[role]
    leaving = present if agents is None else tuple(agent for agent in present if agent in agents)
    drop(execution, role, leaving)
    ask(execution, role, len(leaving) if count is None else count)


def requests_made(execution: Execution) -> tuple[BindRequest, ...]:
    """The questions to the directory that this step leaves open."""
    before = () if execution.before is None else execution.before.requests
    if execution.requests is before:
        return ()
    known = {request.id for request in before}
    return tuple(
        _question(execution.machine, execution.roles, execution.dropped, request)
        for request in execution.requests
        if request.id not in known
    )


def open_requests(machine: Machine, instance: Instance) -> tuple[BindRequest, ...]:
    """The questions to the directory that wait for an answer, as they are to be asked now."""
    return tuple(
        _question(machine, instance.roles, instance.dropped, request) for request in instance.requests
    )


def without_request(instance: Instance, request_id: str) -> Instance:
    """The instance that waits for this answer no more; what its silent agents owed is owed no more."""
    request = next((one for one in instance.requests if one.id == request_id), None)
    if request is None:
        return instance
    present = instance.roles[request.role]
    silent = [agent for agent in request.silent if agent not in present]
    debts = tuple(debt for debt in instance.pending if debt.role != request.role or debt.agent not in silent)
    return altered(
        instance,
        requests=tuple(one for one in instance.requests if one is not request),
        pending=debts if len(debts) < len(instance.pending) else instance.pending,
    )


def _question(
    machine: Machine, roles: Mapping[str, Agents], dropped: Mapping[str, Agents], request: OpenRequest
) -> BindRequest:
    """Nobody is to be found who is bound, or was dropped."""
    gone = [agent for agents in dropped.values() for agent in agents]
    return BindRequest(
        request.id,
        request.role,
        machine.roles[request.role].capabilities,
        request.count,
        tuple(dict.fromkeys((*roles[request.role], *gone))),
    )


# -- joining and leaving ----------------------------------------------------------------------------------------------


def join(execution: Execution, role: str, agents: Agents) -> None:
    """Add agents that are not in the role yet; they owe what the present state expects of it."""
    if agents:
        execution.set_role(role, (*execution.roles[role], *agents))
        execution.size_bound += stored_size(list(agents))
        owe(execution, role, agents)


def drop(execution: Execution, role: str, agents: Agents) -> None:
    """Take agents out of a role for good: the directory is told not to find them again."""
    _leave(execution, role, agents)
    _remember_dropped(execution, role, agents)


def _leave(execution: Execution, role: str, agents: Agents) -> None:
    present = execution.roles[role]
    remaining = tuple(agent for agent in present if agent not in agents)
    if len(remaining) == len(present):
        return
    execution.set_role(role, remaining)
    turn = execution.turns.get(role, 0)
    if turn:
        execution.turns = {**execution.turns, role: turn_after_leaving(present, turn, agents)}
    execution.forget_deliveries(agents)
    debts = tuple(debt for debt in execution.pending if debt.role != role or debt.agent not in agents)
    if len(debts) != len(execution.pending):
        execution.set_pending(debts)


def _remember_dropped(execution: Execution, role: str, agents: Agents) -> None:
    known = execution.dropped.get(role, ())
    new = tuple(agent for agent in agents if agent not in known)
    if new:
        execution.dropped = {**execution.dropped, role: (*known, *new)}
        execution.size_bound += stored_size([role, *new])


def _check_room(execution: Execution, role: str, joining: int) -> None:
    maximum = most(execution.machine.roles[role], execution.counts)
    expected = expected_agents(execution, role)
    if maximum is not None and expected + joining > maximum:
        asked = expected - len(execution.roles[role])
        more = f" and {asked} asked for" if asked else ""
        raise StepError(
            f"the role {role} takes at most {maximum} agents; {joining} would join"
            f" {len(execution.roles[role])} bound{more}"
        )


def expected_agents(execution: Execution, role: str) -> int:
    """How many agents a role has, counting those that the directory is being asked for."""
    bound = len(execution.roles[role])
    return bound + sum(request.count for request in execution.requests if request.role == role)


def _request(execution: Execution, role: str, count: int, silent: Agents) -> None:
    made = bind_request_id(execution.instance_id, execution.revision, execution.asked)
    execution.asked += 1
    execution.requests = (*execution.requests, OpenRequest(made, role, count, silent))
    execution.size_bound += stored_size([made, role, *silent]) + _REQUEST_OVERHEAD


# -- silent agents ----------------------------------------------------------------------------------------------------


def replace_silent(execution: Execution, lapsed: Sequence[Debt]) -> None:
    """Ask for others in the place of agents whose debts lapsed; what they owe waits for the answer.

    A debt that was handed on three times already costs its debtor the role, as `skip` does.
    """
    for role in dict.fromkeys(debt.role for debt in lapsed):
        present = execution.roles[role]
        owed = [debt for debt in lapsed if debt.role == role and debt.agent in present]
        tired = dict.fromkeys(debt.agent for debt in owed if debt.replacements >= MOST_REPLACEMENTS)
        drop(execution, role, tuple(tired))
        silent = tuple(dict.fromkeys(debt.agent for debt in owed if debt.agent not in tired))
        if not silent:
            continue
        waiting = [debt for debt in execution.pending if debt.role == role and debt.agent in silent]
        waiting += [debt for debt in owed if debt.agent in silent]
        drop(execution, role, silent)
        held = tuple(altered(debt, due=None, every=None, next_reminder=None) for debt in waiting)
        execution.set_pending((*execution.pending, *held))
        _request(execution, role, len(silent), silent)


def hand_over(execution: Execution, request: OpenRequest, found: Agents) -> None:
    """Let the agents found owe what the silent ones did, and ask them; what nobody takes over is owed no more."""
    heirs = dict(zip(request.silent, found, strict=False))
    present = execution.roles[request.role]
    left: list[Debt] = []
    again: dict[str, dict[str, None]] = {}
    for debt in execution.pending:
        # An agent that was bound again since owes for itself.
        if debt.role != request.role or debt.agent not in request.silent or debt.agent in present:
            left.append(debt)
            continue
        heir = heirs.get(debt.agent)
        if heir is None:
            continue
        count = debt.replacements + 1
        left.append(Debt(heir, debt.role, debt.expectation, execution.now, order=UNARMED, replacements=count))
        execution.unarmed = True
        if debt.request is not None:
            again.setdefault(debt.request, {})[heir] = None
    for delivery, agents in again.items():
        send_again(execution, delivery, tuple(agents))
    execution.set_pending(tuple(left))
