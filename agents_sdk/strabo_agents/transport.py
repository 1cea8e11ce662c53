"""How records leave an agent and answers come back: an interface, so that tests need no Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from strabo_agents.messages import Accepted, Outgoing


class Transport(Protocol):
    """Produces records and waits for answers."""

    async def produce(self, records: Sequence[Outgoing]) -> None:
        """Return once Kafka has every one of them; tries until it does."""

    async def ask(self, record: Outgoing, *, message_id: str, sender: str) -> Accepted:
        """Produce a message whose answer is wanted, and wait for that; raises `Rejected` or `NoAnswer`."""
