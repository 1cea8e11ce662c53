"""What a store of handled messages does.

Inbox and outbox in one: a message is claimed under a lease, handled, and then finished in one compare-and-set on
the lease's token, which writes the done-mark together with everything that the handler sends. Only after that is
anything produced, so a message's effects are those of exactly one run of its handler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from strabo_agents.messages import Outgoing


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to handle one message, until it lapses. `token` is unique to this claim."""

    message_id: str
    digest: bytes
    token: str


@dataclass(frozen=True, slots=True)
class Handled:
    """The message was handled before. `outbox` is what its handler sent, in order; `sent`: Kafka has all of it."""

    outbox: tuple[Outgoing, ...]
    sent: bool


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody handles the message now; the claim may be tried again after `retry_after` seconds."""

    retry_after: float


Claim: TypeAlias = Lease | Handled | Held


class Store(Protocol):
    """Handled messages and their outboxes. Every method raises `StoreUnavailable` when the store does not answer."""

    @property
    def exclusive(self) -> bool:
        """True where only one replica of an agent can use it."""

    async def open(self) -> None:
        """Make it ready; raises `StoreInUse` when it is exclusive and another process has it."""

    async def claim(self, message_id: str, digest: bytes) -> Claim:
        """Take the message, or learn what became of it.

        `digest` is of the record's bytes. The same id with another digest is another message: of a namespace that
        was made anew, whose instances may have old names.
        """

    async def renew(self, lease: Lease) -> bool:
        """Prolong the lease; False: it is lost."""

    async def finish(self, lease: Lease, outbox: Sequence[Outgoing]) -> None:
        """Write done-mark and outbox, if the lease is still held, and end it; raises `LeaseLost`."""

    async def mark_sent(self, message_id: str) -> None:
        """Note that Kafka has the whole outbox of the message."""

    async def release(self, lease: Lease) -> None:
        """End the lease without a result; nothing happens when it is lost."""

    async def handled(self, message_id: str) -> Handled | None:
        """What became of a message, None when it is not handled."""

    async def unsent(self) -> Sequence[tuple[str, Handled]]:
        """Every handled message whose outbox may not be in Kafka yet, in the order of handling."""

    async def forget(self, age: float) -> int:
        """Drop the messages handled more than `age` seconds ago and sent; returns how many."""

    async def close(self) -> None:
        """Let go of it."""
