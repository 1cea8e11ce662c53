"""`Role[any]`: whose turn it is among the agents of a role.

A turn is a place in the role's agents: that of the one who is next, or one past the last. So an agent that joins comes
after all who were there, and nobody is passed over when another leaves.
"""

from __future__ import annotations

from strabo_runtime.engine.inputs import Agents


def next_in_turn(agents: Agents, turn: int, candidates: Agents) -> tuple[str, int]:
    """The first of the candidates, of whom there is one at least, from this turn on; and the turn after it."""
    count = len(agents)
    for step in range(count):
        place = (turn + step) % count
        if agents[place] in candidates:
            return agents[place], place + 1
    raise ValueError("none of the candidates plays the role")


def turn_after_leaving(agents: Agents, turn: int, leaving: Agents) -> int:
    """The turn among those who stay."""
    return turn - sum(1 for agent in agents[:turn] if agent in leaving)
