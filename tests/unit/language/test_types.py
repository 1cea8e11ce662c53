"""Types are read from text and field maps, and everything in them that is wrong is told."""

from __future__ import annotations

import pytest

from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    EnumOf,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Type,
)
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import MappingNode
from strabo_runtime.language.source import read
from strabo_runtime.language.types import check_types, field_at, read_type


def types_of(text: str) -> tuple[dict[str, Type], list[tuple[str, int, int]]]:
    """The named types of a mapping, resolved, and what is told of them."""
    reporter = Reporter()
    root = read(text, filename="f.yaml", reporter=reporter)
    assert isinstance(root, MappingNode)
    named = {key.text: read_type(value, key.text, reporter) for key, value in root}
    resolved = check_types(named, (), reporter)
    return resolved, [(told.code, told.span.line, told.span.column) for told in reporter.diagnostics]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("string", STRING),
        (" integer ? ", OptionalOf(INTEGER)),
        ("list<number>", ListOf(NUMBER)),
        ("list < map< list<object> > >?", OptionalOf(ListOf(MapOf(ListOf(OBJECT))))),
        ("enum(a, b-c , d)", EnumOf(("a", "b-c", "d"))),
        ("map<duration>", MapOf(DURATION)),
        ("T", Reference("T")),
        ("list<T>?", OptionalOf(ListOf(Reference("T")))),
        (
            "{a: T?, b: {c: any}}",
            Record((Field("a", OptionalOf(Reference("T"))), Field("b", Record((Field("c", ANY),))))),
        ),
        ("{a: string, open: true}", Record((Field("a", STRING),), open=True)),
        ("{open: boolean?}", Record((Field("open", OptionalOf(BOOLEAN)),))),
    ],
)
def test_a_type_is_read(text: str, expected: Type) -> None:
    quoted = text if text.startswith("{") else f"'{text}'"
    resolved, told = types_of(f"T: string\nX: {quoted}")
    assert told == []
    assert resolved["X"] == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("list<string", 15),
        ("list<>", 10),
        ("list<string>>", 17),
        ("enum(a a)", 12),
        ("enum(a, a)", 13),
        ("string??", 12),
        ("list<string?>", 16),
        ("String<a>", 5),
        ("a b", 7),
        ("3", 5),
        ("my-type", 5),
        ("<", 5),
    ],
)
def test_a_type_that_cannot_be_read_is_told_at_its_place_and_counts_as_any(text: str, column: int) -> None:
    resolved, told = types_of(f"X: '{text}'")
    assert told == [("bad-type", 1, column)]
    assert resolved["X"] == ANY


def test_a_type_nested_without_end_is_refused() -> None:
    _, told = types_of("X: " + "list<" * 500 + "string" + ">" * 500)
    assert [code for code, _, _ in told] == ["bad-type"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("A: {a: A}", ["A"]),
        ("A: {b: B}\nB: {a: A}", ["A"]),
        ("A: B\nB: A", ["A"]),
        ("A: list<A>", ["A"]),
        ("A: A?", ["A"]),
        ("A: {a: A?}", []),
        ("A: {a: list<A>}", []),
        ("A: list<B>\nB: {a: A}", []),
        ("A: B?\nB: {a: A}", []),
        ("A: {b: B}\nB: {c: list<A>}", []),
    ],
)
def test_a_type_recurs_through_fields_that_may_be_empty_only(text: str, wrong: list[str]) -> None:
    resolved, told = types_of(text)
    assert [code for code, _, _ in told] == ["recursive-type"] * len(wrong)
    assert [name for name, type_ in resolved.items() if type_ == ANY] == wrong


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", True),
        ("b.c", True),
        ("b.x", False),
        ("items.b.c", True),
        ("items.x", False),
        ("named.any_key.c", True),
        ("named.any_key.x", False),
        ("free.what.ever", True),
        ("a.b", False),
    ],
)
def test_a_path_leads_through_records_lists_maps_and_untyped_values(path: str, found: bool) -> None:
    resolved, told = types_of(
        "T: {a: string, b: Inner?, items: list<Item>?, named: map<Inner>, free: object}\n"
        "Item: {b: Inner}\n"
        "Inner: {c: any}"
    )
    assert told == []
    assert field_at(Reference("T"), tuple(path.split(".")), resolved) is found
