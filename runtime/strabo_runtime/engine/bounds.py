"""How many agents a role of an instance has at the least and at the most."""

from __future__ import annotations

from collections.abc import Mapping

from strabo_runtime.engine.machine import Role


def fewest(role: Role, counts: Mapping[str, int]) -> int:
    """The role's `min`; `counts` is what its `count` gave for the instance, by role, where a bound is that."""
    if not role.minimum_is_count:
        return role.minimum
    count = counts[role.name]
    return count if role.maximum is None else min(count, role.maximum)


def most(role: Role, counts: Mapping[str, int]) -> int | None:
    """The role's `max`; None: there is none."""
    return max(counts[role.name], role.minimum) if role.maximum_is_count else role.maximum


def is_counted(role: Role) -> bool:
    """Whether a bound of the role is what its `count` gives for each instance."""
    return role.minimum_is_count or role.maximum_is_count
