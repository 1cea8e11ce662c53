"""What a record of the inbox may be: for workers, who read it, and who write it for children and parents."""

from __future__ import annotations

from typing import Any

import orjson

MAX_MESSAGE_BYTES = 1024 * 1024
"""What one message may be, though topics take more: agents of any make read them with their clients' usual limits."""

MAX_NAME_LENGTH = 1_000
MAX_CHILD_ID_LENGTH = MAX_NAME_LENGTH - 64
"""What a child's id may be: the ids of all that it tells its parent begin with it, and are longer."""

MAX_DEPTH = 100

EVENT = "Event"
OUTCOME = "Outcome"
"""The types of what a child tells its parent."""

CANCEL = "Cancel"
"""The type of a command."""


def is_too_deep(text: bytes) -> bool:
    """Whether a JSON text is nested deeper than the inbox takes."""
    # The records that hold it nest it further, and JSON writers have their limits.
    return text.count(b"{") + text.count(b"[") > MAX_DEPTH and _is_deeper(orjson.loads(text), MAX_DEPTH)


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (levels == 0 and isinstance(value, dict | list)) or any(
        _is_deeper(one, levels - 1) for one in inner
    )
