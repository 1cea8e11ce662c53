"""A part of a text is placed exactly, through escapes, and a place beyond the text is cut to it."""

from __future__ import annotations

import pytest

from strabo_runtime.language.diagnostics import Reporter, Span
from strabo_runtime.language.nodes import ScalarNode, SourceText
from strabo_runtime.language.source import read


def scalar(text: str) -> ScalarNode:
    """The one scalar of a text."""
    node = read(text, filename="f.yaml", reporter=Reporter())
    assert isinstance(node, ScalarNode)
    return node


@pytest.mark.parametrize("escape", ["\\x41", "\\u0041", "\\U00000041"])
@pytest.mark.parametrize("between", ["", " "])
def test_a_place_behind_an_escape_is_exact(escape: str, between: str) -> None:
    text = f'"{escape}{between}word"'
    span = scalar(text).span_at(1 + len(between), 4)
    assert (span.column, span.length) == (text.index("word") + 1, 4)


@pytest.mark.parametrize("text", ["word", "'word'", '"word"'])
@pytest.mark.parametrize(
    ("offset", "length", "shown"), [(0, 99, "word"), (2, 99, "rd"), (99, 1, "d"), (1, 0, "o")]
)
def test_a_place_beyond_the_text_is_cut_to_it(text: str, offset: int, length: int, shown: str) -> None:
    span = scalar(text).span_at(offset, length)
    assert text[span.column - 1 :][: span.length] == shown


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    text = f"one{end}two{end}{end}four"
    assert SourceText("f.yaml", text).span(text.index("four"), len(text)) == Span("f.yaml", 4, 1, 4)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_place_ends_with_its_line(end: str) -> None:
    text = f"one{end}two{end}{end}four"
    assert SourceText("f.yaml", text).span(text.index("two") + 1, len(text)) == Span("f.yaml", 2, 2, 2)
