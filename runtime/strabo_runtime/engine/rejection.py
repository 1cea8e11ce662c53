"""Why an input was refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

RefusedBy = Literal[
    "constraint",
    "unexpected",
    "finished",
    "schema",
    "unbound",
    "conflict",
    "stale",
    "unknown",
    "quorum",
    "overloaded",
]


_LONGEST_TEXT = 2000
_LONGEST_DESCRIPTION = 500


@dataclass(frozen=True, slots=True)
class Rejection:
    """A refusal: a value, never raised. `text` says what, where and what would be taken.

    `constraints` names the violated ones in order (when `by` is `constraint`), `descriptions` their texts.
    """

    by: RefusedBy
    text: str
    constraints: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()

    def clipped(self) -> Rejection:
        """The same refusal with texts of a bounded length: they may quote what was sent."""
        if len(self.text) <= _LONGEST_TEXT and all(
            len(one) <= _LONGEST_DESCRIPTION for one in self.descriptions
        ):
            return self
        return replace(
            self,
            text=clipped(self.text, _LONGEST_TEXT),
            descriptions=tuple(clipped(one, _LONGEST_DESCRIPTION) for one in self.descriptions),
        )


def clipped(text: str, length: int) -> str:
    """A text, cut to a length."""
    return text if len(text) <= length else text[: length - 3] + "..."
