"""YAML is read as plain data, in the core schema of YAML 1.2, and bounded in every way."""

from __future__ import annotations

import pytest

from strabo_runtime.expressions.types import Json
from strabo_runtime.language.diagnostics import Diagnostic, Reporter
from strabo_runtime.language.source import MAXIMUM_CHARACTERS, MAXIMUM_DEPTH, MAXIMUM_NODES, read


def value(text: str) -> Json:
    """What the text holds; it must have no errors."""
    reporter = Reporter()
    root = read(text, filename="f.yaml", reporter=reporter)
    assert reporter.diagnostics == ()
    assert root is not None
    return root.json


def only_error(text: str) -> Diagnostic:
    """The one error of the text."""
    reporter = Reporter()
    read(text, filename="f.yaml", reporter=reporter)
    [error] = reporter.diagnostics
    return error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null", None),
        ("~", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("off", "off"),
        ("12", 12),
        ("-3", -3),
        (f"+{'0' * 150}7", 7),
        ("0o17", 15),
        ("017", 17),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.0.0", "1.0.0"),
        ("2001-01-01", "2001-01-01"),
        ("12:30:45", "12:30:45"),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, expected: Json) -> None:
    found = value(f"a: {text}")
    assert found == {"a": expected}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(expected)


def test_an_alias_stands_for_its_anchor() -> None:
    assert value("a: &x [1, {b: 2}]\nc: *x") == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert value("\ufeffa: 1") == {"a": 1}


def test_a_merge_key_is_an_ordinary_key() -> None:
    assert value("a: &x {b: 1}\nc: {<<: *x}") == {"a": {"b": 1}, "c": {"<<": {"b": 1}}}


def test_too_much_text_is_refused_before_it_is_parsed() -> None:
    error = only_error("# " + "x" * MAXIMUM_CHARACTERS)
    assert (error.code, error.span.line) == ("yaml-limit", 1)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_too_deep_nesting_is_refused_however_it_is_written(opening: str) -> None:
    assert only_error("a:\n  " + opening * (MAXIMUM_DEPTH + 5)).code == "yaml-limit"


def test_a_hundred_thousand_brackets_are_refused_at_once() -> None:
    assert only_error("[" * 100_000).code == "yaml-limit"


def test_aliases_count_with_all_that_they_stand_for() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 30)]
    assert only_error("\n".join(lines)).code == "yaml-limit"


def test_as_many_values_as_allowed_are_read() -> None:
    text = "[" + "1," * (MAXIMUM_NODES - 1) + "]"
    found = value(text)
    assert isinstance(found, list)
    assert len(found) == MAXIMUM_NODES - 1


def test_every_duplicate_key_is_told_and_the_first_one_counts() -> None:
    reporter = Reporter()
    root = read("a: 1\nb: {c: 1, c: 2}\na: 3", filename="f.yaml", reporter=reporter)
    assert [(error.code, error.span.line, error.span.column) for error in reporter.diagnostics] == [
        ("duplicate-key", 2, 11),
        ("duplicate-key", 3, 1),
    ]
    assert root is not None
    assert root.json == {"a": 1, "b": {"c": 1}}


def test_a_missing_value_is_placed_at_its_key() -> None:
    reporter = Reporter()
    root = read("a: 1\nempty:\n\nb: 2", filename="f.yaml", reporter=reporter)
    assert root is not None
    assert [(node.span.line, node.span.column) for key, node in root if key.text == "empty"] == [(2, 1)]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", ["a: [1", "a: b: c", "\ta: 1", "a: 'x", "%YAML 1.2", "a: @x", "a: |x\n", "--- a\n...\nb"]
)
def test_what_is_no_yaml_is_one_error_with_a_place(text: str) -> None:
    error = only_error(text)
    assert error.code == "yaml-syntax"
    assert error.span.line <= text.count("\n") + 1


@pytest.mark.parametrize("escape", ["\\UFFFFFFFF", "\\U00110000"])
def test_an_escape_beyond_unicode_is_told_at_its_place(escape: str) -> None:
    error = only_error(f'a: 1\nb: "x{escape}"\n')
    assert (error.code, error.span.line, error.span.column) == ("yaml-syntax", 2, 6)


def test_a_directive_with_a_number_of_thousands_of_digits_is_an_error() -> None:
    assert only_error(f"a: 1\n...\n%YAML 1.{'9' * 5000}\n---\nb: 1\n").code == "yaml-syntax"


@pytest.mark.parametrize("version", ["1.1", "1.3", "2.0", "x"])
def test_a_directive_for_another_version_of_yaml_is_refused(version: str) -> None:
    error = only_error(f"# a comment\n\n%YAML {version}\n---\na: 1\n")
    assert error.code == "yaml-syntax"
    assert (error.span.line, error.span.column) == (3, 7)


def test_a_directive_for_the_version_that_is_read_is_accepted() -> None:
    assert value("%YAML 1.2\n---\na: yes\n") == {"a": "yes"}


@pytest.mark.parametrize("escaped", ["\\ud800", "a\\uDFFFb", "\\ud83d\\ude00"])
def test_half_a_character_is_refused_for_no_record_could_hold_it(escaped: str) -> None:
    error = only_error(f'a: 1\nb: "{escaped}"\n')
    assert (error.code, error.span.line, error.span.column) == ("bad-value", 2, 4)


@pytest.mark.parametrize("digits", ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000, str(2**63)])
def test_an_integer_beyond_64_bits_is_refused_however_long_it_is(digits: str) -> None:
    assert only_error(f"a: {digits}").code == "bad-value"
