"""A protocol with any part of it changed is loaded, or told what is wrong: no crash, no hang, no end of memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.language.expectations import files
from tests.language.robustness import check

pytestmark = pytest.mark.slow

TREES: list[Any] = [
    YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")) for path in files("good")
]
WORDS = (
    *("role", "agents", "count", "for_each", "into", "as", "protocol", "inputs", "roles", "detach", "child"),
    *(
        "outcome",
        "schema",
        "default",
        "open",
        "compensation",
        "compensate",
        "replace",
        "defer",
        "to",
        "event",
    ),
)
VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        3,
        2**70,
        1.5,
        "",
        " ",
        "x",
        "*",
        "parent",
        "all",
        "$each",
        "$a.b",
        "$$",
        "defer",
    ),
    *(
        "${ each }",
        "${ each.name }",
        "${ child.result }",
        "${ children.review }",
        "${ x",
        "${ }",
        "${ 1 / 0 }",
    ),
    *(
        "Solver",
        "Desk",
        "Solver[all]",
        "Solver[all] except ${ each }",
        "list<list<string>>",
        "enum(a)",
        "a?b",
    ),
    *(
        "roles.Solver",
        "[1, 'a', null].map(x, x)",
        "Cancelled",
        "Bound",
        "2030-01-01T00:00:00Z",
        "PT1M",
        "1000Y",
    ),
    *([], {}, [[]], [{}], {"": None}, {"a": {"b": ["${ each }"]}}, ["Solver", "$each"], [None]),
    {"$ref": "#"},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    {"type": "object", "properties": {"in": {"type": "string", "pattern": "("}}, "allOf": [{"type": 3}]},
    {"for_each": "[1]", "text": "${ each }"},
    {"child": "review", "outcome": "success"},
    {"start_protocol": {"protocol": "LongRunning", "for_each": "[1]"}},
]


def places(tree: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to every value of a tree."""
    found = [path] if path else []
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += places(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found += places(value, (*path, index))
    return found


def copied(tree: Any) -> Any:
    """A tree that shares nothing with this one: it is changed in place. Dates become text."""
    return json.loads(json.dumps(tree, default=str))


@st.composite
def changed_protocols(draw: st.DrawFn) -> str:
    """The text of a good protocol of which up to three values are other ones, moved, renamed or gone."""
    tree = copied(draw(st.sampled_from(TREES)))
    for _ in range(draw(st.integers(1, 3))):
        listed = places(tree)
        path = draw(st.sampled_from(listed))
        holder = tree
        for part in path[:-1]:
            holder = holder[part]
        match draw(st.sampled_from(("value", "moved", "gone", "renamed", "added"))):
            case "value":
                holder[path[-1]] = copied(draw(st.sampled_from(VALUES)))
            case "moved":
                value = tree
                for part in draw(st.sampled_from(listed)):
                    value = value[part]
                holder[path[-1]] = copied(value)
            case "gone":
                del holder[path[-1]]
            case "renamed" if isinstance(holder, dict):
                holder[draw(st.sampled_from(WORDS))] = holder.pop(path[-1])
            case _ if isinstance(holder, dict):
                holder[draw(st.sampled_from(WORDS))] = copied(draw(st.sampled_from(VALUES)))
            case _:
                holder.insert(0, copied(draw(st.sampled_from(VALUES))))
    return json.dumps(tree, indent=1)


@settings(max_examples=30, deadline=None)
@given(changed_protocols())
def test_a_protocol_with_parts_changed_is_loaded_or_told_what_is_wrong(text: str) -> None:
    check(text)
