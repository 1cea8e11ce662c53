"""What instances tell each other, and the directory's answers: outputs that become inputs of another step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from strabo_runtime.engine.outputs import (
    BindRequest,
    ChildCancel,
    ChildStart,
    Outcome,
    Output,
    ParentEvent,
)

Told: TypeAlias = ChildStart | ChildCancel | ParentEvent | Outcome | BindRequest


@dataclass(frozen=True, slots=True)
class Errand:
    """An output on its way. `source` is the instance that gave it, `to` the one whose input it becomes."""

    source: str
    to: str
    told: Told

    @property
    def id(self) -> str:
        """The id of what is told."""
        return self.told.id


def errand_of(source: str, output: Output) -> Errand | None:
    """The errand that an output is; None for those that go to agents, or to a starter outside."""
    match output:
        case ChildStart() | ChildCancel() | ParentEvent():
            return Errand(source, output.to, output)
        case Outcome(to_parent=True):
            return Errand(source, output.to, output)
        case BindRequest():
            return Errand(source, source, output)
        case _:
            return None
