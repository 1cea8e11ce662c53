"""Whole protocols with real agents in memory: no Kafka, no worker, a clock that skips, and faults where wanted."""

from strabo_runtime.simulation.instance import SimulatedInstance
from strabo_runtime.simulation.simulation import Received, Simulation
from strabo_runtime.simulator.faults import Faults

__all__ = ["Faults", "Received", "SimulatedInstance", "Simulation"]
