"""The agent directory: who is there, who is healthy, and who is asked next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import structlog

from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable
from strabo_avro.records import Agent
from strabo_runtime.worker.kafka import Incoming

_log = structlog.get_logger("strabo.worker")


@dataclass(slots=True)
class _Entry:
    """An announcement. `given` counts the instances bound to the agent since, which its own load cannot hold yet."""

    agent: Agent
    announced_at: int
    given: int = 0


class Directory:
    """What `<ns>.agents` says.

    An agent is healthy while its announcement lies at most `silence` milliseconds behind the newest of any agent. Not
    behind the clock: an outage of Kafka, in which no announcement gets through, must not empty the directory. And by
    the time of the log, not the agents' own: one agent with a wrong clock must not make all others look dead.
    """

    def __init__(self, silence: int) -> None:
        self._silence = silence
        self._entries: dict[str, _Entry] = {}
        self._players: dict[tuple[str, str], set[str]] = {}
        self._newest = 0

    def apply(self, record: Incoming) -> None:
        """Take in one record of the topic."""
        agent_id = (record.key or b"").decode(errors="replace")
        self._forget(agent_id)
        if record.value is None:
            return
        try:
            agent = decode(record.value, Agent)
        except Undecodable as error:
            _log.error("an agent's announcement cannot be read", agent=agent_id, error=str(error))
            return
        self._entries[agent_id] = _Entry(agent, record.timestamp)
        for plays in agent.plays:
            self._players.setdefault((plays.protocol, plays.role), set()).add(agent_id)
        self._newest = max(self._newest, record.timestamp)

    def find(
        self,
        protocol: str,
        role: str,
        capabilities: Sequence[str],
        want: int | None,
        spread: str,
        excluded: Collection[str] = (),
    ) -> tuple[str, ...]:
        """Up to `want` healthy agents of a role that have all capabilities (None: every one), the least loaded first.

        None of those `excluded` is among them. Equally loaded ones are ordered by a hash with `spread`, so that
        different starts fall to different agents.
        """
        wanted = set(capabilities)
        players = (
            self._entries[agent_id]
            for agent_id in self._players.get((protocol, role), ())
            if agent_id not in excluded
        )
        healthy = [one for one in players if self._is_healthy(one) and wanted <= set(one.agent.capabilities)]
        healthy.sort(key=lambda one: (one.agent.load + one.given, _spread(spread, one.agent.agent_id)))
        return tuple(one.agent.agent_id for one in healthy[:want])

    def give(self, agents: Sequence[str]) -> None:
        """These agents were bound to one more instance."""
        for agent_id in agents:
            entry = self._entries.get(agent_id)
            if entry is not None:
                entry.given += 1

    def _is_healthy(self, entry: _Entry) -> bool:
        return entry.agent.healthy and entry.announced_at >= self._newest - self._silence

    def _forget(self, agent_id: str) -> None:
        entry = self._entries.pop(agent_id, None)
        if entry is not None:
            for plays in entry.agent.plays:
                self._players[plays.protocol, plays.role].discard(agent_id)


def _spread(start: str, agent_id: str) -> bytes:
    return blake2b(f"{start}\0{agent_id}".encode(errors="surrogatepass"), digest_size=8).digest()
