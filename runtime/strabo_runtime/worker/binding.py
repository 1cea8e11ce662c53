"""The answer to a start that needs agents, found in the directory and recorded with the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strabo_runtime.engine import Machine, binding_needs
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.outputs import Rejection
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
