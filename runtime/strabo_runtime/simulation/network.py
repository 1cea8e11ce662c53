"""What is on its way in a simulation: between agents and instances, and between instances, in simulated time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from strabo_runtime.simulator.clock import Clock
from strabo_runtime.simulator.faults import Dice, Fault, milliseconds

_ATTEMPTS: Final = 4
"""How often one message may be lost."""

_FURTHEST: Final = 30
"""How many messages may overtake a reordered one."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message on its way.

    `channel` is what it must not be overtaken in: what one party says to another stays in order. `id` decides its fate;
    `words` say what it is; `agent` is the agent that it is for.
    """

    channel: Hashable
    id: str
    words: str
    deliver: Callable[[], object]
    agent: str | None = None
    may_be_lost: bool = True


@dataclass(order=True, slots=True)
class _Transit:
    due: int
    place: int
    number: int
    parcel: Parcel = field(compare=False)
    first: bool = field(compare=False, default=True)
    waited: bool = field(compare=False, default=False)


class Network:
    """Carries parcels. Without faults each is delivered at once, by `send` itself.

    `tell` is given a line for each fault.
    """

    def __init__(self, clock: Clock, dice: Dice | None, tell: Callable[[str], None]) -> None:
        self._clock = clock
        self._dice = dice
        self._tell = tell
        self._transits: list[_Transit] = []
        self._sent: Counter[str] = Counter()
        self._number = 0
        self._last: dict[Hashable, tuple[int, int]] = {}
        self._silent_until: dict[str, int | None] = {}
        self._held: dict[str, list[_Transit]] = {}

    # -- sending ------------------------------------------------------------------------------------------------------

    def send(self, parcel: Parcel) -> None:
        """Send a parcel on its way."""
        if self._dice is None:
            if not self._is_held_up(parcel.agent):
                parcel.deliver()
                return
            arrivals, extra = [self._clock.now], 0
        else:
            arrivals, extra = self._fate(self._dice, parcel)
        for number, due in enumerate(arrivals):
            self._put(parcel, due, extra, first=number == 0)

    def flush(self, channel: Hashable) -> None:
        """Deliver now what is on its way in a channel, in order."""
        waiting = sorted(transit for transit in self._transits if transit.parcel.channel == channel)
        if waiting:
            self._transits = [
                transit
                for transit in self._transits
                if transit.parcel.channel != channel or not transit.first
            ]
            heapq.heapify(self._transits)
            for transit in waiting:
                if transit.first:
                    transit.parcel.deliver()

    def times(self, parcel: Parcel) -> int:
        """How many times a parcel whose sender waits for the answer arrives: at once, for its time stands still."""
        if self._dice is None:
            return 1
        attempt = self._attempt(parcel)
        arrives = 1
        if self._strikes("lost", attempt, parcel) and self._dice.roll("receipt", attempt) < 0.5:
            arrives += 1
        return arrives + self._strikes("doubled", attempt, parcel)

    def _fate(self, dice: Dice, parcel: Parcel) -> tuple[list[int], int]:
        """When a parcel arrives, once or oftener, and how many others it lets pass."""
        attempt = self._attempt(parcel)
        due = self._clock.now
        if self._strikes("delayed", attempt, parcel):
            due += round(dice.roll("delay", attempt) * milliseconds(dice.faults.delay))
        extra = 0
        if self._strikes("reordered", attempt, parcel):
            extra = 1 + int(dice.roll("place", attempt) * _FURTHEST)
        arrivals: list[int] = []
        for number in range(_ATTEMPTS if parcel.may_be_lost else 0):
            key = f"{attempt} {number}"
            if not self._strikes("lost", key, parcel):
                break
            # What is lost is the message, or the receipt for it: then it arrives and is sent again all the same.
            if dice.roll("receipt", key) < 0.5:
                arrivals.append(due)
            due += milliseconds(dice.faults.resend)
        arrivals.append(due)
        if self._strikes("doubled", attempt, parcel):
            arrivals.append(due + round(dice.roll("again", attempt) * milliseconds(dice.faults.resend)))
        return arrivals, extra

    def _attempt(self, parcel: Parcel) -> str:
        """A key for this sending of the parcel: sent again, it meets a fate of its own."""
        name = f"{parcel.channel} {parcel.id}"
        self._sent[name] += 1
        return f"{name} {self._sent[name]}"

    def _strikes(self, fault: Fault, key: str, parcel: Parcel) -> bool:
        if self._dice is None or not self._dice.strikes(fault, key):
            return False
        self._tell(f"fault: {fault}: {parcel.words}")
        return True

    def _put(self, parcel: Parcel, due: int, extra: int, *, first: bool) -> None:
        self._number += 1
        # What is said for the first time keeps its order, and no repeat comes before what it repeats.
        due, place = max((due, self._number + extra), self._last.get(parcel.channel, (0, 0)))
        if first:
            self._last[parcel.channel] = (due, place)
        heapq.heappush(self._transits, _Transit(due, place, self._number, parcel, first))

    # -- delivering ---------------------------------------------------------------------------------------------------

    def next_due(self) -> int | None:
        """When the next parcel arrives, or a silent agent takes what waits for it."""
        ends = [
            until for agent, until in self._silent_until.items() if until is not None and agent in self._held
        ]
        if self._transits:
            ends.append(self._transits[0].due)
        return min(ends, default=None)

    def deliver_due(self) -> bool:
        """Deliver one parcel whose time has come; False where there is none."""
        now = self._clock.now
        for silent, until in list(self._silent_until.items()):
            if until is not None and until <= now:
                self.wake(silent)
        while self._transits and self._transits[0].due <= now:
            transit = heapq.heappop(self._transits)
            agent = transit.parcel.agent
            if agent is not None and self._falls_silent(agent, transit):
                self._held.setdefault(agent, []).append(transit)
                continue
            transit.parcel.deliver()
            return True
        return False

    def _falls_silent(self, agent: str, transit: _Transit) -> bool:
        if self._is_held_up(agent):
            return True
        key = f"{agent} {transit.parcel.id} {transit.number}"
        if self._dice is None or transit.waited or not self._strikes("silent", key, transit.parcel):
            return False
        self.silence(agent, milliseconds(self._dice.faults.silence))
        return True

    def silence(self, agent: str, length: int | None) -> None:
        """Let an agent take nothing for so many milliseconds; None: until it is woken."""
        self._silent_until[agent] = None if length is None else self._clock.now + length

    def wake(self, agent: str) -> None:
        """Let an agent take what waits for it, in the order in which it came, before anything newer."""
        self._silent_until.pop(agent, None)
        for transit in self._held.pop(agent, []):
            transit.waited = True
            heapq.heappush(self._transits, transit)

    def _is_held_up(self, agent: str | None) -> bool:
        if agent is None or agent not in self._silent_until:
            return False
        until = self._silent_until[agent]
        return until is None or until > self._clock.now
