"""The limits of what a file may hold are those of the manual, and what lies on a limit is read."""

from __future__ import annotations

import pytest

from strabo_runtime.expressions.types import Json
from strabo_runtime.language import load
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import ScalarNode
from strabo_runtime.language.shape import describe
from strabo_runtime.language.source import read

PROTOCOL = """\
protocol: P
version: "1"
participants: [{name: Client}, {name: Desk, played_by: engine}]
message_types: {Go: {from: Client, to: Desk}}
states: [Idle, {name: Done, final: success}]
transitions: [{from: Idle, to: Done, trigger: {message: Go}}]
"""


def held(text: str) -> tuple[Json, list[str]]:
    """What a text holds, and the codes of its errors."""
    reporter = Reporter()
    root = read(text, filename="f.yaml", reporter=reporter)
    return None if root is None else root.json, [each.code for each in reporter.diagnostics]


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**62, -(2**62) - 1])
def test_every_integer_of_64_bits_is_read(number: int) -> None:
    assert held(f"a: {number}") == ({"a": number}, [])


@pytest.mark.parametrize(("number", "nearest"), [(2**63, 2**63 - 1), (-(2**63) - 1, -(2**63))])
def test_what_64_bits_cannot_hold_is_an_error_and_the_nearest_stands_for_it(
    number: int, nearest: int
) -> None:
    assert held(f"a: {number}") == ({"a": nearest}, ["bad-value"])


def test_sixty_four_levels_are_read_and_one_more_is_an_error() -> None:
    assert held("[" * 64 + "]" * 64)[1] == []
    assert held("[" * 65 + "]" * 65)[1] == ["yaml-limit"]


def test_a_text_of_262144_characters_is_read_and_a_longer_one_is_an_error() -> None:
    text = "a: 1 #"
    assert held(text + "x" * (262_144 - len(text))) == ({"a": 1}, [])
    assert held(text + "x" * (262_145 - len(text)))[1] == ["yaml-limit"]


def test_a_long_text_in_a_message_is_cut_to_sixty_characters() -> None:
    def described(text: str) -> str:
        root = read(text, filename="f.yaml", reporter=Reporter())
        assert isinstance(root, ScalarNode)
        return describe(root)

    assert described("x" * 60) == f"the text `{'x' * 60}`"
    assert described("x" * 61) == f"the text `{'x' * 57}...`"


@pytest.mark.parametrize(
    ("written", "size"),
    [("2000", 2000), ("2 KiB", 2048), ("3KiB", 3072), ("1 MiB", 1_048_576), ("2 MiB", 2_097_152)],
)
def test_a_size_is_a_number_of_bytes_or_of_their_multiples(written: str, size: int) -> None:
    loaded = load(f"{PROTOCOL}limits: {{state_bytes: {written}}}\n", filename="p.yaml")
    assert loaded.diagnostics == ()
    assert loaded.machine is not None
    assert loaded.machine.limits.state_bytes == size


@pytest.mark.parametrize("limit", ["steps", "deferred", "microsteps"])
def test_a_limit_is_at_least_one(limit: str) -> None:
    one = load(f"{PROTOCOL}limits: {{{limit}: 1}}\n", filename="p.yaml")
    assert one.diagnostics == ()
    assert one.machine is not None
    assert getattr(one.machine.limits, limit) == 1
    none = load(f"{PROTOCOL}limits: {{{limit}: 0}}\n", filename="p.yaml")
    assert [each.code for each in none.diagnostics] == ["bad-value"]
