"""What tests of protocols and agents need: `Simulation`, and the faults that it may inject."""

from __future__ import annotations

try:
    from strabo_runtime.simulation import Faults, Received, SimulatedInstance, Simulation
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"strabo_runtime.testing needs {error.name}, which is not installed; run: pip install 'strabo[runtime]'",
        name=error.name,
    ) from error

__all__ = ["Faults", "Received", "SimulatedInstance", "Simulation"]
