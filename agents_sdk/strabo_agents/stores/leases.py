"""Leases that live in this process, for stores that no other process uses."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from strabo_agents.errors import LeaseLost
from strabo_agents.stores.store import Held, Lease


@dataclass(slots=True)
class _Holding:
    token: str
    until: float


class LeaseTable:
    """Who handles which message, and until when. `duration` is in seconds, `clock` monotonic."""

    def __init__(self, duration: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._duration = duration
        self._clock = clock
        self._nonce = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._holdings: dict[str, _Holding] = {}

    def claim(self, message_id: str, digest: bytes) -> Lease | Held:
        """A new lease, unless somebody holds one that has not lapsed."""
        now = self._clock()
        holding = self._holdings.get(message_id)
        if holding is not None and holding.until > now:
            return Held(holding.until - now)
        lease = Lease(message_id, digest, f"{self._nonce}-{next(self._numbers)}")
        self._holdings[message_id] = _Holding(lease.token, now + self._duration)
        return lease

    def renew(self, lease: Lease) -> bool:
        """Prolong the lease, also a lapsed one that nobody took; False: somebody did."""
        if not self._holds(lease):
            return False
        self._holdings[lease.message_id].until = self._clock() + self._duration
        return True

    def check(self, lease: Lease) -> None:
        """Raises `LeaseLost` where another has it; else nobody can take it until it is released."""
        if not self._holds(lease):
            raise LeaseLost(f"the lease on message {lease.message_id} is lost: another replica handles it")
        self._holdings[lease.message_id].until = float("inf")

    def release(self, lease: Lease) -> None:
        """End the lease if it is still held."""
        if self._holds(lease):
            del self._holdings[lease.message_id]

    def _holds(self, lease: Lease) -> bool:
        holding = self._holdings.get(lease.message_id)
        return holding is not None and holding.token == lease.token
