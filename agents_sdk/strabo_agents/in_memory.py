"""An agent without Kafka: its handlers behind the very delivery that a running agent uses, with a store in memory."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from strabo_agents.agent import Agent
from strabo_agents.delivery.attempt import Surroundings
from strabo_agents.delivery.breaker import Breaker
from strabo_agents.delivery.keeper import LeaseKeeper
from strabo_agents.delivery.processor import Processor, RetryPolicy
from strabo_agents.delivery.routing import Routes
from strabo_agents.envelopes import Post
from strabo_agents.messages import Incoming
from strabo_agents.stores.memory import MemoryStore
from strabo_agents.transport import Transport

LEASE = 3_600.0


class InMemoryAgent:
    """Takes records by `receive` and gives them to the agent's handlers; waits between attempts are skipped.

    `now` gives milliseconds since the epoch.
    """

    def __init__(
        self,
        agent: Agent,
        agent_id: str,
        *,
        post: Post,
        transport: Transport,
        now: Callable[[], int],
        retry: RetryPolicy | None = None,
    ) -> None:
        self.agent = agent
        self.agent_id = agent_id
        store = MemoryStore(lease=LEASE)
        self._keeper = LeaseKeeper(store, LEASE)
        self._processor = Processor(
            Surroundings(agent_id, post, transport, store, now),
            Routes(post.names, agent_id, agent.roles),
            retry=retry or RetryPolicy(),
            breaker=Breaker(failures=1_000_000, pause=0.0),
            keeper=self._keeper,
            sleep=_do_not_sleep,
        )

    async def receive(self, record: Incoming) -> None:
        """Handle the record; returns when its handler has ended and all is sent. One instance's come in turn."""
        await self._processor.process(record)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._keeper.close()


async def _do_not_sleep(_seconds: float) -> None:
    """A wait that a test need not make."""
