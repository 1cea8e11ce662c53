"""JSON values, as payloads hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value of a payload. Timestamps are RFC 3339 text in UTC, durations ISO 8601 text."""

JsonObject: TypeAlias = "dict[str, Json]"
"""A payload."""
