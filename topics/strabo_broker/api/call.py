"""What a request's answer may depend on besides its body, and the table from API number to function."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

Answer = Callable[[Any, "Call"], Awaitable[object | None]]
"""From a request's body and its call to a response's body; None when the client wants no answer."""

Answers = Mapping[int, Answer]
"""By API number."""


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, and in which version."""

    version: int
    client_id: str
    client_host: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The one broker of this cluster, as its clients are to reach it."""

    node_id: int
    host: str
    port: int
    cluster_id: str


def now_ms() -> int:
    """The broker's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
