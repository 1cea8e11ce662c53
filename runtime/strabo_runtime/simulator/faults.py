"""What may go wrong in a simulation, and how often: a value, and the seeded dice that decide."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from datetime import timedelta
from hashlib import blake2b
from typing import Final, Literal, TypeAlias, TypeVar

from strabo_runtime.expressions import parse_duration

Fault: TypeAlias = Literal["lost", "doubled", "delayed", "reordered", "silent", "crashing", "restarts"]
_Choice = TypeVar("_Choice")
_CHANCES: Final[tuple[Fault, ...]] = (
    "lost",
    "doubled",
    "delayed",
    "reordered",
    "silent",
    "crashing",
    "restarts",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How likely each fault is, from 0 to 1, and how long it lasts.

    `lost`: what goes between an agent and the engine is lost, or its receipt is; the sender sends it again after
    `resend`. `doubled`: it comes twice. `delayed`: it takes up to `delay`. `reordered`: it is overtaken by what goes to
    other instances. `silent`: an agent takes nothing for `silence`, and then everything. `crashing`: an agent's process
    dies while it handles a message. `restarts`: the worker dies before or after it commits a step.

    Whether a fault hits depends on the seed and on the message alone: what is said again under the same id meets the
    same fate.
    """

    seed: int = 0
    lost: float = 0.0
    doubled: float = 0.0
    delayed: float = 0.0
    reordered: float = 0.0
    silent: float = 0.0
    crashing: float = 0.0
    restarts: float = 0.0
    resend: timedelta | str = "PT5S"
    delay: timedelta | str = "PT30S"
    silence: timedelta | str = "PT1H"

    def __post_init__(self) -> None:
        for name in _CHANCES:
            chance = getattr(self, name)
            if not 0 <= chance <= 1:
                raise ValueError(f"Faults({name}={chance!r}): a likelihood is a number from 0 to 1")
        for field in fields(self)[-3:]:
            if milliseconds(getattr(self, field.name)) < 0:
                raise ValueError(f"Faults({field.name}=...): a duration cannot be negative")


class Dice:
    """Decides by hashing the seed, the fault and what it may befall. `injected` counts what was decided for."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.injected: Counter[Fault] = Counter()

    def strikes(self, fault: Fault, key: str) -> bool:
        """Whether this fault befalls what the key names."""
        struck = self.threatens(fault, key)
        self.injected[fault] += struck
        return struck

    def threatens(self, fault: Fault, key: str) -> bool:
        """Whether this fault would befall what the key names, without counting it: it may yet come to nothing."""
        chance: float = getattr(self.faults, fault)
        return chance > 0 and self.roll(fault, key) < chance

    def roll(self, purpose: str, key: str) -> float:
        """A number from 0 up to 1, always the same for the same purpose and key."""
        text = f"{self.faults.seed}\0{purpose}\0{key}"
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64

    def pick(self, purpose: str, key: str, choices: tuple[_Choice, ...]) -> _Choice:
        """One of the choices."""
        return choices[int(self.roll(purpose, key) * len(choices))]


def milliseconds(duration: timedelta | str) -> int:
    """A duration, as text such as PT30M or as a timedelta. Raises ValueError."""
    if isinstance(duration, str):
        return parse_duration(duration)
    return duration // timedelta(milliseconds=1)
