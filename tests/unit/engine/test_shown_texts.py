"""What is quoted of others' values is cut to a length, so that nobody fills a state or a log with texts."""

from __future__ import annotations

import pytest

from strabo_runtime.engine.execution import stored_text
from strabo_runtime.engine.rejection import Rejection, clipped


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("abcdefghi", "abcdefghi"), ("abcdefghij", "abcdefghij"), ("abcdefghijk", "abcdefg...")],
)
def test_a_text_is_cut_to_its_length_and_shows_that_it_was(text: str, shown: str) -> None:
    assert clipped(text, 10) == shown


def test_a_refusal_with_short_texts_stays_as_it_is() -> None:
    refusal = Rejection("schema", "x" * 2000, ("one",), ("y" * 500,))
    assert refusal.clipped() is refusal


def test_the_texts_of_a_refusal_are_cut_each_to_its_length() -> None:
    refusal = Rejection("constraint", "x" * 2001, ("one", "two"), ("y" * 501, "short"))
    assert refusal.clipped() == Rejection(
        "constraint", "x" * 1997 + "...", ("one", "two"), ("y" * 497 + "...", "short")
    )


def test_one_long_description_is_cut_though_the_text_is_short() -> None:
    refusal = Rejection("constraint", "x", ("one",), ("y" * 501,))
    assert refusal.clipped().descriptions == ("y" * 497 + "...",)


def test_a_value_in_an_error_is_cut_to_eighty_characters() -> None:
    assert stored_text("x" * 78) == '"' + "x" * 78 + '"'
    assert stored_text("x" * 79) == '"' + "x" * 76 + "..."
    assert len(stored_text(["x"] * 1000)) == 80
