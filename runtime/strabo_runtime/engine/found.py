"""What the directory's answer to a bind request does."""

from __future__ import annotations

from strabo_runtime.engine.binding import hand_over, join
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.inputs import AgentsFound
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import BIND_FAILED, BOUND, Machine
from strabo_runtime.engine.microsteps import note
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.outside import take_outside
from strabo_runtime.engine.taking import take_event


def found(machine: Machine, instance: Instance | None, given: AgentsFound) -> Step:
    """Bind who was found, and raise `Bound`, or `BindFailed` where fewer came than were asked for. Raises StepError."""
    return take_outside(machine, instance, given, (given.request,), lambda execution: _bind(execution, given))


def _bind(execution: Execution, given: AgentsFound) -> None:
    request = next((request for request in execution.requests if request.id == given.request), None)
    if request is None:
        execution.notes += (f"nobody had asked for {given.request}",)
        return
    execution.requests = tuple(one for one in execution.requests if one is not request)
    role = request.role
    present = execution.roles[role]
    unwanted = {agent for agents in execution.dropped.values() for agent in agents}
    maximum = execution.machine.roles[role].maximum
    room = request.count if maximum is None else min(request.count, max(0, maximum - len(present)))
    joining = tuple(
        agent
        for agent in dict.fromkeys(given.agents)
        if agent and agent not in present and agent not in unwanted
    )[:room]
    hand_over(execution, request, joining)
    join(execution, role, joining)
    event = BOUND if len(joining) == request.count else BIND_FAILED
    source = execution.state
    if not take_event(execution, event, {"role": role, "agents": list(joining)}):
        note(execution, "!" + event, source)
