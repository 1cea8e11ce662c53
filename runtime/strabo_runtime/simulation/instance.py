"""One instance of a simulation, as a test sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from strabo_agents import InstanceFailed, NoAnswer
from strabo_agents.json_types import JsonObject
from strabo_agents.messages import Sendable
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.instance import Instance, Status
from strabo_runtime.expressions.types import Json

if TYPE_CHECKING:
    from strabo_runtime.simulation.simulation import Simulation


class SimulatedInstance:
    """One instance of a simulation."""

    def __init__(self, simulation: Simulation, instance_id: str) -> None:
        self._simulation = simulation
        self.instance_id = instance_id

    @property
    def state(self) -> str:
        """The state that it is in."""
        return self._now.state

    @property
    def status(self) -> Status:
        """`running`, `success` or `failure`."""
        return self._now.status

    @property
    def error(self) -> str | None:
        """Why it failed."""
        return self._now.error

    @property
    def variables(self) -> Mapping[str, Json]:
        """Its variables and inputs, as JSON."""
        return self._now.variables.json

    @property
    def roles(self) -> Mapping[str, Agents]:
        """Who plays what."""
        return self._now.roles

    @property
    def incidents(self) -> tuple[str, ...]:
        """Why steps of it failed."""
        return tuple(incident.reason for incident in self._now.incidents)

    def children(self, name: str) -> tuple[SimulatedInstance, ...]:
        """The children that it started under this name (`as`), in order; those that were refused are left out."""
        known = self._simulation.host.instances
        return tuple(
            SimulatedInstance(self._simulation, child.id)
            for child in self._now.children
            if child.name == name and child.id in known
        )

    async def send(
        self,
        message: Sendable,
        *,
        as_agent: str,
        role: str = "",
        to: str | Sequence[str] = (),
        user: str | None = None,
    ) -> None:
        """Send to it; see `Simulation.send`."""
        await self._simulation.send(self.instance_id, message, as_agent=as_agent, role=role, to=to, user=user)

    async def cancel(self, reason: str) -> None:
        """Ask it to end, as an operator does, and let the others react."""
        self._simulation.host.cancel(self.instance_id, reason)
        await self._simulation.settle()

    async def result(self) -> JsonObject:
        """Its `result`, once it has ended: the clock skips from timer to timer until it has.

        Raises:
            InstanceFailed: it ended as a failure.
            NoAnswer: it waits for a message, and no timer will end that.
        """
        while True:
            await self._simulation.settle()
            instance = self._now
            if instance.status == "success":
                return dict(instance.result) if isinstance(instance.result, Mapping) else {}
            if instance.status == "failure":
                raise InstanceFailed(
                    self.instance_id, state=instance.state, error=instance.error, result=instance.result
                )
            if not await self._simulation.skip():
                raise NoAnswer(_stuck(instance))

    @property
    def _now(self) -> Instance:
        return self._simulation.host.instances[self.instance_id]


def _stuck(instance: Instance) -> str:
    owing = sorted({debt.agent for debt in instance.pending})
    waits = f"; still owing: {', '.join(owing)}" if owing else ""
    return f"instance {instance.id} waits in state {instance.state} and no timer is set{waits}"
