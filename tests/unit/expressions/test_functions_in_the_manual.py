"""The manual's registered functions work as they are written there."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import Function
from strabo_runtime.expressions.installed import check_function
from tests.language.manual import blocks


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    [block] = [block for block in blocks("python") if "strabo_runtime.functions" in block.text]
    names: dict[str, Any] = {}
    exec(compile(block.text, str(block), "exec"), names)
    return names


def test_all_of_them_can_be_registered(written: dict[str, Any]) -> None:
    functions: list[Function] = written["exported"]
    for function in functions:
        check_function(function)
    assert [(function.name, function.version) for function in functions] == [
        ("shipping_cost", "1.0"),
        ("next_slot", "1.0"),
        ("ranked", "2.1"),
        ("total", "1.0"),
    ]


def test_they_give_what_they_say(written: dict[str, Any]) -> None:
    assert written["shipping_cost"].apply([2.5, "NL"]) == 6.5
    assert written["shipping_cost"].apply([2.5, "NL", True]) == 9.0
    assert written["next_slot"].apply(["2030-01-01T00:00:00Z", "PT1H"]) == "2030-01-01T02:00:00Z"
    assert written["rank"].apply([[{"cost": 2}, {"cost": 1}], "cost"]) == [{"cost": 1}, {"cost": 2}]
    assert written["total"].apply([[{"unit": "kg", "count": 2}], {"kg": 1.5}]) == 3.0
