"""What instances ask of the agent directory: who may take part in a start, and who may join later.

The answer to a start is recorded with it. A later question stands open in the instance until it is answered by an input
of its own, so one that a crash left open is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strabo_runtime.engine import Instance, Machine, binding_needs, open_requests
from strabo_runtime.engine.identity import found_id
from strabo_runtime.engine.inputs import Agents, AgentsFound
from strabo_runtime.engine.outputs import BindRequest, Rejection
from strabo_runtime.worker.directory import Directory
from strabo_runtime.worker.requests import Request


@dataclass(frozen=True, slots=True)
class Binding:
    """The agents found for each role that the starter did not name. `short`: a role got fewer than it needs."""

    agents: Mapping[str, Agents]
    short: bool = False


def bind(machine: Machine, request: Request, now: int, directory: Directory) -> Binding | Rejection:
    """Ask the directory for what a start needs. Whether what was found is enough is the engine's to say."""
    needs = binding_needs(machine, request.start(now, {}))
    if isinstance(needs, Rejection):
        return needs
    found = {
        role: directory.find(machine.name, role, need.capabilities, need.want, request.envelope.id)
        for role, need in needs.items()
    }
    return Binding(found, any(len(found[role]) < need.minimum for role, need in needs.items()))


def answer(
    machine: Machine, instance: Instance, question: BindRequest, now: int, directory: Directory
) -> AgentsFound:
    """The directory's answer to a question that stands open in an instance.

    It counts as received at the instance's last step, so that no timer that is due later waits behind it.
    """
    return AgentsFound(
        id=found_id(question.id),
        request=question.id,
        agents=_find(machine, question, directory),
        received_at=instance.now,
        now=max(now, instance.now),
    )


def is_short(machine: Machine, instance: Instance, directory: Directory) -> bool:
    """Whether a question that stands open would be answered with fewer agents than are sought."""
    return any(
        len(_find(machine, question, directory)) < question.count
        for question in open_requests(machine, instance)
    )


def _find(machine: Machine, question: BindRequest, directory: Directory) -> Agents:
    return directory.find(
        machine.name, question.role, question.capabilities, question.count, question.id, question.excluded
    )
