"""The known name that an unknown one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The closest known name, or None when none is near."""
    names = sorted(set(known))
    by_lower = {candidate.lower(): candidate for candidate in reversed(names)}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    matches = get_close_matches(name, names, n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The hint for an unknown name."""
    candidate = nearest(name, known)
    return f"did you mean `{candidate}`?" if candidate is not None else None
