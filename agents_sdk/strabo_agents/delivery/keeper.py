"""Keeps leases alive while their handlers run, and ends a handler whose lease is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from strabo_agents.errors import LeaseLost
from strabo_agents.stores.store import Lease, Store

_log = structlog.get_logger(__name__)


class LeaseKeeper:
    """Renews all held leases three times a `lease` (seconds), in one task however many there are."""

    def __init__(self, store: Store, lease: float) -> None:
        self._store = store
        self._period = lease / 3
        self._held: dict[Lease, asyncio.Task[object]] = {}
        self._lost: set[Lease] = set()
        self._renewal: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def holding(self, lease: Lease) -> AsyncIterator[None]:
        """Renew the lease meanwhile. Should it be lost, the body is cancelled and `LeaseLost` raised."""
        task = asyncio.current_task()
        assert task is not None
        self._held[lease] = task
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew(), name="lease renewal")
        try:
            yield
        except asyncio.CancelledError:
            if lease in self._lost and task.uncancel() == 0:
                raise LeaseLost(
                    f"the lease on message {lease.message_id} is lost: its result is dropped"
                ) from None
            raise
        finally:
            self._lost.discard(lease)
            self._held.pop(lease, None)

    async def close(self) -> None:
        """Stop renewing."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)
            self._renewal = None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._period)
            for lease, task in list(self._held.items()):
                try:
                    kept = await self._store.renew(lease)
                except Exception as error:
                    # Whatever it is, the other leases must not lapse with this one.
                    _log.warning(
                        "a lease could not be renewed", message_id=lease.message_id, error=str(error)
                    )
                    continue
                if not kept and lease in self._held:
                    self._lost.add(lease)
                    task.cancel()
