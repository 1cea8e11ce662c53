"""The known name that an unknown one was probably meant to be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

_MOST_COMPARED = 100
"""Comparing is slow: a file with thousands of names of which thousands are misspelt would take minutes."""
_NEIGHBOURS = 20


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The closest known name whatever its case, or None when none is near."""
    index = _index(tuple(known))
    sought = name.casefold()
    if sought in index.folded:
        return index.folded[sought]
    matches = get_close_matches(sought, _candidates(sought, index), n=1, cutoff=0.6)
    return index.folded[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The hint for an unknown name."""
    candidate = nearest(name, known)
    return f"did you mean `{candidate}`?" if candidate is not None else None


class _Index(NamedTuple):
    """Known names by their folded form, and the folded forms sorted from their beginnings and from their ends."""

    folded: Mapping[str, str]
    forward: Sequence[str]
    backward: Sequence[str]


@lru_cache(maxsize=16)
def _index(known: tuple[str, ...]) -> _Index:
    folded = {name.casefold(): name for name in reversed(known)}
    return _Index(folded, sorted(folded), sorted(name[::-1] for name in folded))


def _candidates(sought: str, index: _Index) -> Iterable[str]:
    """What is compared: everything, or among very many names those that begin or end as this one does."""
    if len(index.forward) <= _MOST_COMPARED:
        return index.forward
    begin = _around(sought, index.forward)
    end = [name[::-1] for name in _around(sought[::-1], index.backward)]
    return dict.fromkeys([*begin, *end])


def _around(sought: str, names: Sequence[str]) -> Sequence[str]:
    place = bisect_left(names, sought)
    return names[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS]
