"""Why an input was refused."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Rejection:
    """A refusal: a value, never raised. `text` says what, where and what would be taken.

    `constraints` names the violated ones in order (when `by` is `constraint`), `descriptions` their texts.
    """

    by: RefusedBy
    text: str
    constraints: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
