"""Who needs which rights on a secured Kafka: the least that each kind of process can do its work with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from strabo_topics.names import Names

Who = Literal["worker", "agent", "operator"]
Operation = Literal[
    "read", "write", "describe", "create", "delete", "describe-configs", "alter-configs", "idempotent-write"
]
Resource = Literal["topic", "group", "transactional-id", "cluster"]


@dataclass(frozen=True, slots=True)
class Acl:
    """One right. `prefixed`: it holds for every name that begins so."""

    who: Who
    operation: Operation
    resource: Resource
    name: str
    prefixed: bool = False

    def __str__(self) -> str:
        """The right as a line to read."""
        return f"{self.who:9} {self.operation:17} {self.resource} {self.name}{'*' if self.prefixed else ''}"

    def to_json(self) -> dict[str, str | bool]:
        """The right as JSON values."""
        return asdict(self)


def acls(names: Names) -> tuple[Acl, ...]:
    """The rights of a namespace. Agents include clients; whoever publishes or looks into instances is an operator."""
    every = f"{names.namespace}."
    roles = f"{names.namespace}.role."
    return (
        *(Acl("worker", operation, "topic", every, True) for operation in ("read", "write", "describe")),
        Acl("worker", "read", "group", f"{names.namespace}.workers"),
        # Workers fence each other by their transactional ids, so each needs those of all.
        *(
            Acl("worker", one, "transactional-id", f"{names.namespace}-", True)
            for one in ("write", "describe")
        ),
        Acl("agent", "read", "topic", roles, True),
        *(Acl("agent", "read", "topic", one) for one in (names.replies, names.definitions)),
        *(Acl("agent", "write", "topic", one) for one in (names.inbox, names.agents, names.deadletter)),
        Acl("agent", "read", "group", f"{names.namespace}.agent.", True),
        *(
            Acl("operator", operation, "topic", every, True)
            for operation in ("create", "delete", "describe", "describe-configs", "alter-configs", "read")
        ),
        Acl("operator", "write", "topic", names.definitions),
        *(
            Acl(who, "idempotent-write", "cluster", "kafka-cluster")
            for who in ("worker", "agent", "operator")
        ),
    )
