"""What the directory's answer to a bind request does."""

from __future__ import annotations

from strabo_runtime.engine.binding import hand_over, join
from strabo_runtime.engine.bounds import most
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.inputs import Agents, AgentsFound
from strabo_runtime.engine.instance import Instance, OpenRequest
from strabo_runtime.engine.machine import BIND_FAILED, BOUND, Machine, event_key
from strabo_runtime.engine.microsteps import note
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.outside import take_outside
from strabo_runtime.engine.taking import take_event


def found(machine: Machine, instance: Instance | None, given: AgentsFound) -> Step:
    """Bind who was found, and raise `Bound`, or `BindFailed` where fewer came than were asked for. Raises StepError."""

    def aimless(instance: Instance) -> str | None:
        asked = any(request.id == given.request for request in instance.requests)
        return None if asked else f"the request {given.request} is not open"

    # What was found is no content: of two answers to one request the second is a repeat.
    content = (given.request,)
    return take_outside(
        machine, instance, given, content, lambda execution: _bind(execution, given), aimless=aimless
    )


def _bind(execution: Execution, given: AgentsFound) -> None:
    request = next(request for request in execution.requests if request.id == given.request)
    execution.requests = tuple(one for one in execution.requests if one is not request)
    joining = _welcome(execution, request, given.agents)
    hand_over(execution, request, joining)
    join(execution, request.role, joining)
    event = BOUND if len(joining) == request.count else BIND_FAILED
    source = execution.state
    if not take_event(execution, event, {"role": request.role, "agents": list(joining)}):
        note(execution, event_key(event), source)


def _welcome(execution: Execution, request: OpenRequest, agents: Agents) -> Agents:
    """Who of those found joins: the directory may not know yet who was bound or dropped since it was asked."""
    present = execution.roles[request.role]
    unwelcome = {*present, *(agent for dropped in execution.dropped.values() for agent in dropped), ""}
    maximum = most(execution.machine.roles[request.role], execution.counts)
    room = request.count if maximum is None else min(request.count, maximum - len(present))
    return tuple(agent for agent in dict.fromkeys(agents) if agent not in unwelcome)[: max(room, 0)]
