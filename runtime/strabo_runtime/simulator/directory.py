"""Who may be bound: the simulator's agent directory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from strabo_runtime.engine.inputs import Agents


class Directory(Protocol):
    """Answers starts and bind requests."""

    def find(
        self,
        protocol: str,
        role: str,
        capabilities: Sequence[str],
        want: int | None,
        excluded: Collection[str] = (),
    ) -> Agents:
        """Up to `want` agents of a role (None: every one), none of those `excluded`."""


class RoleDirectory:
    """A directory that lists agents by role, whatever the protocol and whatever they are capable of."""

    def __init__(self, roles: Mapping[str, Agents]) -> None:
        self.roles = roles

    def find(
        self,
        protocol: str,
        role: str,
        capabilities: Sequence[str],
        want: int | None,
        excluded: Collection[str] = (),
    ) -> Agents:
        """See `Directory.find`."""
        found = self.roles.get(role, ())
        if excluded:
            found = tuple(agent for agent in found if agent not in excluded)
        return found[:want]
