"""Which handler of an agent takes a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strabo_agents.agent import Role
from strabo_agents.envelopes import AWAITED
from strabo_agents.handlers import REJECTED, Handler
from strabo_avro.records import Envelope
from strabo_topics.names import Names


@dataclass(frozen=True, slots=True)
class Route:
    """A handler, and the role that it belongs to."""

    role: Role
    handler: Handler


class Routes:
    """The handlers of an agent's roles, found by topic and envelope."""

    def __init__(self, names: Names, agent_id: str, roles: Sequence[Role]) -> None:
        self.replies = names.replies
        self._by_topic = {names.role(role.protocol, role.name): role for role in roles}
        self._by_sender = [(f"{agent_id}/{role.name}:", role) for role in roles]

    @property
    def topics(self) -> tuple[str, ...]:
        """What the agent reads."""
        return (*self._by_topic, self.replies)

    def find(self, topic: str, envelope: Envelope) -> Route | None:
        """The handler for a record of `topic`; None where the agent has none for it."""
        if topic == self.replies:
            return self._refusal(envelope)
        role = self._by_topic.get(topic)
        handler = None if role is None else role.handlers.get(envelope.type)
        return None if role is None or handler is None else Route(role, handler)

    def _refusal(self, reply: Envelope) -> Route | None:
        refused = reply.in_reply_to or ""
        if reply.kind != "reply" or reply.type == "Accepted" or refused.endswith(AWAITED):
            return None
        for beginning, role in self._by_sender:
            handler = role.handlers.get(REJECTED)
            if handler is not None and role.protocol == reply.protocol and refused.startswith(beginning):
                return Route(role, handler)
        return None


def message_id(agent_id: str, role: str, cause: str, position: int, *, awaited: bool) -> str:
    """The id of the message number `position` that `role` sends while it handles the message `cause`.

    It is the same whenever that message is handled again, so that an instance knows a repeat.
    """
    return f"{agent_id}/{role}:{cause}:{position}{AWAITED if awaited else ''}"
