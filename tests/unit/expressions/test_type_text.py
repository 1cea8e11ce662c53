"""Types: the text that an author writes for a type."""

from __future__ import annotations

import pytest

from strabo_runtime.expressions.type_text import TypeTextError, read_type_text
from strabo_runtime.expressions.types import (
    INTEGER,
    SCALARS,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    Reference,
    Scalar,
    Type,
)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        *((name, Scalar(name)) for name in SCALARS),
        ("list<integer>", ListOf(INTEGER)),
        ("map<list<integer>>", MapOf(ListOf(INTEGER))),
        ("enum(a, b-c)", EnumOf(("a", "b-c"))),
        (" integer ? ", OptionalOf(INTEGER)),
        ("list<Bid>?", OptionalOf(ListOf(Reference("Bid")))),
    ],
)
def test_a_text_gives_its_type(text: str, type_: Type) -> None:
    assert read_type_text(text).type == type_


def test_names_are_given_with_their_places() -> None:
    assert read_type_text("map<list<Bid>>?").references == (("Bid", 9),)


@pytest.mark.parametrize(
    ("text", "says", "offset"),
    [
        ("", "the type ends where a type should follow", 0),
        ("list<integer", "the type ends where `>` should follow", 11),
        ("list<integer> x", "`x` is not expected here", 14),
        ("strings<x>", "`strings` takes no `<`", 0),
        ("enum(a, a)", "`a` stands in the enum twice", 8),
        ("list<string?>", "cannot be optional", 11),
        ("integer!", "`!` has no place in a type", 7),
        ("list<" * 20 + "any" + ">" * 20, "nested too deep", 85),
    ],
)
def test_what_is_no_type_is_told_with_its_place(text: str, says: str, offset: int) -> None:
    with pytest.raises(TypeTextError) as caught:
        read_type_text(text)
    assert says in caught.value.message
    assert caught.value.offset == offset
