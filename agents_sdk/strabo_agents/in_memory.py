"""An agent without Kafka: its handlers behind the very delivery that a running agent uses, with a store in memory."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from strabo_agents.agent import Agent
from strabo_agents.delivery.attempt import Surroundings
from strabo_agents.delivery.breaker import Breaker
from strabo_agents.delivery.crash_points import Checkpoint, pass_by
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

    `now` gives milliseconds since the epoch. A test may let the agent die by raising from `checkpoint`; after `restart`
    it goes on with what its store holds.
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
        checkpoint: Checkpoint = pass_by,
    ) -> None:
        self.agent = agent
        self.agent_id = agent_id
        self._retry = retry or RetryPolicy()
        self._checkpoint = checkpoint
        store = MemoryStore(lease=LEASE)
        self._around = Surroundings(agent_id, post, transport, store, now)
        self._keeper = LeaseKeeper(store, LEASE)
        self._processor = self._begin()

    def _begin(self) -> Processor:
        return Processor(
            self._around,
            Routes(self._around.post.names, self.agent_id, self.agent.roles),
            retry=self._retry,
            breaker=Breaker(failures=1_000_000, pause=0.0),
            keeper=self._keeper,
            sleep=_do_not_sleep,
            checkpoint=self._checkpoint,
        )

    async def restart(self) -> None:
        """Go on as a new process would: with the store, and first of all with what it holds unsent."""
        self._processor = self._begin()
        await self._processor.send_unsent()

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
