"""An agent's settings: `STRABO_AGENT_*` in the environment."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field

from strabo_agents.errors import SettingsError
from strabo_topics.settings import Duration, Settings

MESSAGE_LIMIT = 1024 * 1024
"""The most bytes that one message's record may have."""

Positive = Annotated[Duration, Field(gt=timedelta(0), description="a duration such as 30s")]


class AgentSettings(Settings):
    """How an agent runs. Make one with `load`."""

    agent_id: str | None = None
    agent_replica: str | None = None
    """A name of this replica alone: after a restart it gets its partitions back at once."""

    data_dir: Path = Path(".strabo")
    agent_store: Literal["sqlite", "memory"] = "sqlite"
    agent_store_path: Path | None = None
    agent_keep_handled: Positive = timedelta(days=14)
    """How long handled messages are remembered; longer than role topics keep their records."""

    agent_concurrency: int = Field(32, ge=1)
    """How many handlers run at once, each for another instance."""
    agent_max_pending: int = Field(1_000, ge=1)
    """How many messages are held before reading pauses."""
    agent_lease: Positive = timedelta(seconds=30)
    """How long a message stays with a replica that gives no sign of life."""
    agent_handler_timeout: Positive | None = None
    agent_answer_timeout: Positive = timedelta(seconds=30)
    """How long `wait=True` waits."""

    agent_attempts: int = Field(5, ge=1)
    agent_backoff: Positive = timedelta(milliseconds=500)
    """The wait before the second attempt; it doubles, with jitter, up to the limit."""
    agent_backoff_limit: Positive = timedelta(seconds=30)
    agent_breaker_failures: int = Field(10, ge=1)
    """How many failed attempts in a row open the circuit breaker: more than one bad message makes."""
    agent_breaker_pause: Positive = timedelta(seconds=15)

    agent_heartbeat: Positive = timedelta(seconds=3)
    agent_commit_interval: Positive = timedelta(milliseconds=250)
    agent_drain: Positive = timedelta(seconds=20)
    """How long running handlers may go on at an orderly stop."""

    def sqlite_path(self, namespace: str, agent_id: str) -> Path:
        """Where the SQLite store of this agent is: one file an agent and namespace."""
        if self.agent_store_path is not None:
            return self.agent_store_path
        return self.data_dir / "agents" / quote(namespace, safe="") / f"{quote(agent_id, safe='')}.sqlite"


def checked_id(agent_id: str, source: str) -> str:
    """The id, if it can be one.

    Raises:
        SettingsError: it is empty, too long, an engine role's, or has characters that cannot be seen; `source` says
            whose it is.
    """
    if not agent_id or len(agent_id) > 200 or not agent_id.isprintable() or agent_id != agent_id.strip():
        raise SettingsError(f"{source}: {agent_id[:200]!r} can be no id; use 1 to 200 printable characters")
    if agent_id.startswith("engine:"):
        raise SettingsError(f"{source}: {agent_id!r} is the id of an engine role; choose another")
    return agent_id
