"""Where the protocols that ship are, and one that plays with nobody home."""

from __future__ import annotations

from pathlib import Path

import strabo_runtime
from strabo_agents import Agent
from strabo_runtime.testing import Faults, Simulation

PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"


def simulation_of(name: str, *, faults: Faults | None = None) -> Simulation:
    """The simulation of a protocol that ships, by its file's name."""
    return Simulation(PROTOCOLS / f"{name}.yaml", faults=faults)


def silent(protocol: str, role: str, *, capabilities: tuple[str, ...] = ()) -> Agent:
    """An agent that takes the role and never says anything."""
    agent = Agent(capabilities=capabilities)
    agent.role(protocol, role)
    return agent
