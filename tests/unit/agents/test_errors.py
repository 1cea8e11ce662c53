"""The tree of errors is as it is drawn, and the package gives out what it says."""

from __future__ import annotations

import inspect
import re

import strabo_agents
from strabo_agents import errors


def test_the_tree_is_as_it_is_drawn() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (inspect.getdoc(errors) or "").splitlines():
        found = re.match(r"^([│ ├└─]*)([A-Z]\w+)\b", line)
        if found is None or not (found[1] or line == "AgentsError"):
            continue
        depth = len(found[1]) // 4
        path[depth:] = [found[2]]
        drawn[found[2]] = path[depth - 1] if depth else "Exception"
    classes = [
        each for _, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__
    ]

    assert drawn == {each.__name__: each.__bases__[0].__name__ for each in classes}


def test_what_the_package_gives_out_is_there() -> None:
    assert all(hasattr(strabo_agents, name) for name in strabo_agents.__all__)
    assert sorted(strabo_agents.__all__) == strabo_agents.__all__
