"""A store that lives as long as the process: for tests, and for agents whose handlers may run twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strabo_agents.messages import Outgoing
from strabo_agents.stores.leases import LeaseTable
from strabo_agents.stores.store import Claim, Handled, Held, Lease


@dataclass(slots=True)
class _Mark:
    digest: bytes
    outbox: tuple[Outgoing, ...]
    at: float
    sent: bool = False


class MemoryStore:
    """Handled messages in a dict. After a restart messages whose position was not committed are handled again."""

    exclusive = False

    def __init__(self, *, lease: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._leases = LeaseTable(lease, clock)
        self._clock = clock
        self._marks: dict[str, _Mark] = {}

    async def open(self) -> None:
        """Nothing to make ready."""

    async def claim(self, message_id: str, digest: bytes) -> Claim:
        """See `Store.claim`."""
        mark = self._marks.get(message_id)
        if mark is not None and mark.digest == digest:
            return Handled(mark.outbox, mark.sent)
        claim: Lease | Held = self._leases.claim(message_id, digest)
        return claim

    async def renew(self, lease: Lease) -> bool:
        """See `Store.renew`."""
        return self._leases.renew(lease)

    async def finish(self, lease: Lease, outbox: Sequence[Outgoing]) -> None:
        """See `Store.finish`."""
        self._leases.check(lease)
        self._marks.pop(lease.message_id, None)
        self._marks[lease.message_id] = _Mark(lease.digest, tuple(outbox), self._clock(), sent=not outbox)
        self._leases.release(lease)

    async def mark_sent(self, message_id: str) -> None:
        """See `Store.mark_sent`."""
        if message_id in self._marks:
            self._marks[message_id].sent = True

    async def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        self._leases.release(lease)

    async def handled(self, message_id: str) -> Handled | None:
        """See `Store.handled`."""
        mark = self._marks.get(message_id)
        return None if mark is None else Handled(mark.outbox, mark.sent)

    async def unsent(self) -> Sequence[tuple[str, Handled]]:
        """See `Store.unsent`."""
        return [(each, Handled(mark.outbox, False)) for each, mark in self._marks.items() if not mark.sent]

    async def forget(self, age: float) -> int:
        """See `Store.forget`."""
        limit = self._clock() - age
        old = [each for each, mark in self._marks.items() if mark.sent and mark.at < limit]
        for message_id in old:
            del self._marks[message_id]
        return len(old)

    async def close(self) -> None:
        """Nothing to let go of."""
