"""Loading takes any text and any file, and says what is wrong instead of raising."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strabo_runtime.language import (
    LanguageError,
    UnreadableFileError,
    load,
    load_file,
)
from tests.language.robustness import check

GOOD = (Path(__file__).parents[2] / "language/good/long_running.yaml").read_text(encoding="utf-8")
LINES = GOOD.split("\n")


@given(st.text(alphabet="ab:-[]{}\"'|>&*!%#?@`,\\\n\t \x00\u2028é😀", max_size=60))
def test_any_text_is_loaded_or_told_what_is_wrong(text: str) -> None:
    check(text)


@settings(max_examples=25, deadline=None)
@given(
    at=st.integers(0, len(LINES) - 1),
    other=st.sampled_from(
        [*LINES, "  - null", "    to: []", "      - {}", "  x: {a: [1, {b: c}]}", "- 1", "  ${", ""]
    ),
    insert=st.booleans(),
)
def test_a_protocol_with_one_line_changed_is_loaded_or_told_what_is_wrong(
    at: int, other: str, insert: bool
) -> None:
    check("\n".join([*LINES[:at], other, *LINES[at if insert else at + 1 :]]))


@settings(max_examples=25, deadline=None)
@given(
    value=st.sampled_from(
        ["null", "[]", "{}", "5", "true", '""', "'$x'", '"${ x"', "x.y", "[[1]]", "{a: {b: 1}}"]
    ),
    key=st.sampled_from(sorted({line.split(":")[0] for line in LINES if line[:1].isalpha() and ":" in line})),
)
def test_a_section_with_any_value_is_loaded_or_told_what_is_wrong(value: str, key: str) -> None:
    kept: list[str] = []
    inside = False
    for line in LINES:
        if line[:1].isalpha():
            inside = line.startswith(f"{key}:")
        if not inside:
            kept.append(line)
    check("\n".join([*kept, f"{key}: {value}"]))


def test_a_file_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("protocol: 5", encoding="utf-8")
    assert {told.span.file for told in load_file(path).diagnostics} == {str(path)}


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(
        UnreadableFileError, match=r"missing\.yaml: cannot be read: no such file or directory$"
    ):
        load_file(tmp_path / "missing.yaml")


def test_a_folder_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"cannot be read: is a directory$"):
        load_file(tmp_path)


def test_a_file_that_is_not_utf_8_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"protocol: \xff")
    with pytest.raises(
        UnreadableFileError, match=r"p\.yaml: not UTF-8 text \(byte 10\); save the file as UTF-8$"
    ):
        load_file(path)


def test_the_same_text_has_the_same_hash_and_another_text_another() -> None:
    one, same, other = (
        load(text, filename="p.yaml").definition for text in (GOOD, GOOD, GOOD + "\n# more\n")
    )
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.hash == same.hash != other.hash
    assert len(one.hash) == 16
