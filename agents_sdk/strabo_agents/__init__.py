"""Strabo's SDK for agents: roles and their handlers, conversations, and a client that starts instances."""

from __future__ import annotations

from strabo_agents.agent import Agent, Role
from strabo_agents.client import Client, InstanceHandle
from strabo_agents.conversation import Conversation
from strabo_agents.errors import AgentsError, InstanceFailed, NoAnswer, Permanent, Rejected
from strabo_agents.messages import Accepted, Message

__all__ = [
    "Accepted",
    "Agent",
    "AgentsError",
    "Client",
    "Conversation",
    "InstanceFailed",
    "InstanceHandle",
    "Message",
    "NoAnswer",
    "Permanent",
    "Rejected",
    "Role",
]
