"""The names of topics and keys, and the partition of an instance: one home for each format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from aiokafka.partitioner import murmur2

NAMESPACE_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""No dot, so that no namespace's topics can be taken for those of another."""


@dataclass(frozen=True, slots=True)
class Names:
    """The topics of one namespace."""

    namespace: str

    @property
    def inbox(self) -> str:
        """What is asked of instances."""
        return f"{self.namespace}.inbox"

    @property
    def state(self) -> str:
        """Live instances, positions and claims (compacted)."""
        return f"{self.namespace}.state"

    @property
    def events(self) -> str:
        """The history, one record a step."""
        return f"{self.namespace}.events"

    @property
    def replies(self) -> str:
        """Answers to senders."""
        return f"{self.namespace}.replies"

    @property
    def definitions(self) -> str:
        """Published protocols (compacted)."""
        return f"{self.namespace}.definitions"

    @property
    def agents(self) -> str:
        """The agent directory (compacted)."""
        return f"{self.namespace}.agents"

    @property
    def deadletter(self) -> str:
        """What nobody could take."""
        return f"{self.namespace}.deadletter"

    def role(self, protocol: str, role: str) -> str:
        """The messages for the agents of a role."""
        return f"{self.namespace}.role.{protocol}.{role}"

    @property
    def base(self) -> tuple[str, ...]:
        """Every topic but those of roles."""
        return (
            self.inbox,
            self.state,
            self.events,
            self.replies,
            self.deadletter,
            self.definitions,
            self.agents,
        )

    def owns(self, topic: str) -> bool:
        """True for a topic of this namespace."""
        return topic in self.base or topic.startswith(f"{self.namespace}.role.")


def definition_key(name: str, version: str, definition_hash: str) -> str:
    """The key of a published protocol on the definitions topic."""
    return f"{name}@{version}@{definition_hash}"


# Cached since murmur2 is pure Python and an instance's id comes back with each of its messages.
@lru_cache(maxsize=65_536)
def partition_for(key: str | bytes, partitions: int) -> int:
    """The partition of a key as Kafka's Java client computes it: positive murmur2 modulo the partitions."""
    data = key.encode() if isinstance(key, str) else key
    return int(murmur2(data) & 0x7FFFFFFF) % partitions
