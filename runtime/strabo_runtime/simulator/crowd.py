"""The agents of a random run: its directory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

from strabo_runtime.engine.inputs import Agents

_SPARE = 2
_MORE = 4


class Crowd:
    """For each role there are as many agents as it needs and a few more; a later request sometimes finds fewer."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._sizes: dict[str, int] = {}

    def of(self, role: str, least: int) -> Agents:
        """The agents that there are for a role."""
        size = self._sizes.get(role)
        if size is None:
            size = self._sizes[role] = least + self._random.randint(0, _MORE)
        size = max(size, least)
        return tuple(f"{role.lower()}-{number}" for number in range(1, size + 1))

    def find(
        self,
        protocol: str,
        role: str,
        capabilities: Sequence[str],
        want: int | None,
        excluded: Collection[str] = (),
    ) -> Agents:
        """See `Directory.find`."""
        least = 1 if want is None else want
        if not excluded:
            return self.of(role, least)[:want]
        if self._random.random() < 0.2:
            least = 0
        here = self.of(role, least + len(excluded) + _SPARE if least else 0)
        return tuple(agent for agent in here if agent not in excluded)[:want]
