"""The agents of a simulation: real ones, on the delivery that a running agent uses, that may crash at any point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import Final

from strabo_agents import Agent
from strabo_agents.delivery.crash_points import CRASH_POINTS, CrashPoint
from strabo_agents.delivery.processor import RetryPolicy
from strabo_agents.envelopes import Post
from strabo_agents.in_memory import InMemoryAgent
from strabo_agents.messages import Incoming
from strabo_agents.transport import Transport
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.simulator.faults import Dice

_POINTS: Final[tuple[CrashPoint, ...]] = tuple(point for point in CRASH_POINTS if point != "committed")
"""Where a process may die with a message in hand; positions are not committed in memory."""

_MOST_CRASHES: Final = 3
"""How often an agent may die of one message."""

_dies_at: ContextVar[CrashPoint | None] = ContextVar("dies_at", default=None)


class _Died(Exception):
    """The agent's process is gone."""


class Player:
    """An agent that takes part, and dies where the dice say so."""

    def __init__(
        self,
        agent: Agent,
        agent_id: str,
        *,
        post: Post,
        transport: Transport,
        now: Callable[[], int],
        retry: RetryPolicy | None,
        dice: Dice | None,
        tell: Callable[[str], None],
    ) -> None:
        self.agent = agent
        self.agent_id = agent_id
        self._dice = dice
        self._tell = tell
        self.inner = InMemoryAgent(
            agent, agent_id, post=post, transport=transport, now=now, retry=retry, checkpoint=_die_there
        )

    async def receive(self, record: Incoming) -> None:
        """Handle a record; where the agent dies of it, it begins anew and is given the record again."""
        for life in range(_MOST_CRASHES + 1):
            key = f"{self.agent_id} {record.offset} {life}"
            dice = None if life == _MOST_CRASHES else self._dice
            point = None
            if dice is not None and dice.threatens("crashing", key):
                point = dice.pick("crash point", key, _POINTS)
            _dies_at.set(point)
            try:
                await self.inner.receive(record)
            except _Died:
                if dice is not None:
                    dice.injected["crashing"] += 1
                self._tell(f"fault: crashing: {self.agent_id} dies ({point}) and begins anew")
                _dies_at.set(None)
                await self.inner.restart()
            else:
                return


def _die_there(point: CrashPoint) -> None:
    if _dies_at.get() == point:
        raise _Died


class PlayersDirectory:
    """Who may be bound: the agents that were added, by protocol and role, with the capabilities that they have."""

    def __init__(self, protocols: Collection[str]) -> None:
        self._protocols = frozenset(protocols)
        self._players: dict[tuple[str, str], list[str]] = {}
        self._capabilities: dict[str, frozenset[str]] = {}

    def add(self, agent_id: str, agent: Agent) -> None:
        """Find this agent from now on."""
        self._capabilities[agent_id] = frozenset(agent.capabilities)
        for role in agent.roles:
            if role.protocol in self._protocols:
                self._players.setdefault((role.protocol, role.name), []).append(agent_id)

    def find(
        self,
        protocol: str,
        role: str,
        capabilities: Sequence[str],
        want: int | None,
        excluded: Collection[str] = (),
    ) -> Agents:
        """See `Directory.find`."""
        wanted = frozenset(capabilities)
        found = (
            agent
            for agent in self._players.get((protocol, role), ())
            if agent not in excluded and wanted <= self._capabilities[agent]
        )
        return tuple(found)[:want]


def named_agents(roles: Mapping[str, str | Sequence[str]] | None) -> dict[str, Agents]:
    """Agents by role, each an id or several."""
    return {role: (ids,) if isinstance(ids, str) else tuple(ids) for role, ids in (roles or {}).items()}
