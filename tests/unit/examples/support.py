"""Simulations of the protocols that ship, and an agent that never answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import strabo_runtime
from strabo_agents import Agent
from strabo_runtime.engine.machine import Machine
from strabo_runtime.simulator import load_family
from strabo_runtime.testing import Faults, Simulation

PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"


def simulation_of(name: str, *, faults: Faults | None = None) -> Simulation:
    """The simulation of a protocol that ships, with its children, by its file's name."""
    return Simulation(*_machines(name), faults=faults)


def silent(protocol: str, role: str, *, capabilities: tuple[str, ...] = ()) -> Agent:
    """An agent that takes the role and never says anything."""
    agent = Agent(capabilities=capabilities)
    agent.role(protocol, role)
    return agent


@cache
def _machines(name: str) -> tuple[Machine, ...]:
    return tuple(load_family(PROTOCOLS / f"{name}.yaml").catalogue)
