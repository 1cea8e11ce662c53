"""W3C trace context without a tracer: one trace an instance, its id a function of the instance's id.

So agents, clients and workers that share nothing but the instance's id put their spans into one trace.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

TRACE_FLAG_SAMPLED = 0x01
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16


@dataclass(frozen=True, slots=True)
class TraceParent:
    """A span as others refer to it. Ids are lower-case hexadecimal text of 32 and 16 digits."""

    trace_id: str
    span_id: str
    sampled: bool = True

    def __str__(self) -> str:
        """The header's text, version 00."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def child(self, cause: str) -> TraceParent:
        """The span for what follows from this one; the same cause gives the same span."""
        return TraceParent(self.trace_id, span_id(self.trace_id, self.span_id, cause), self.sampled)


@lru_cache(maxsize=16_384)
def for_instance(instance_id: str) -> TraceParent:
    """The root span of an instance's trace."""
    trace_id = hashlib.sha256(b"trace\0" + instance_id.encode()).hexdigest()[:32]
    return TraceParent(trace_id, span_id(instance_id))


def span_id(*parts: str) -> str:
    """A span's id out of what names it."""
    return hashlib.sha256(b"span\0" + "\0".join(parts).encode()).hexdigest()[:16]


def parse(text: str | None) -> TraceParent | None:
    """A `traceparent` header read; None where it is absent or not valid, as W3C asks (a broken one starts a
    new trace)."""
    found = _TRACEPARENT.fullmatch(text) if text else None
    if found is None:
        return None
    version, trace, span, flags, rest = found.groups()
    if version == "ff" or (version == "00" and rest) or trace == _NO_TRACE or span == _NO_SPAN:
        return None
    return TraceParent(trace, span, bool(int(flags, 16) & TRACE_FLAG_SAMPLED))
