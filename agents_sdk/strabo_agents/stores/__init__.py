"""Where an agent remembers what it has handled and what it still has to send."""

from __future__ import annotations

from strabo_agents.stores.memory import MemoryStore
from strabo_agents.stores.sqlite import SqliteStore
from strabo_agents.stores.store import Claim, Handled, Held, Lease, Store

__all__ = ["Claim", "Handled", "Held", "Lease", "MemoryStore", "SqliteStore", "Store"]
