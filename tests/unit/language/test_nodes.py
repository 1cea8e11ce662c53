"""Places inside scalars are found through quotes, escapes, indentation and folding."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    FoldedScalarString,
    LiteralScalarString,
    PlainScalarString,
    SingleQuotedScalarString,
)

from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import Fragment, MappingNode, ScalarNode, SequenceNode, node_at
from strabo_runtime.language.source import read

STYLES = [
    PlainScalarString,
    SingleQuotedScalarString,
    DoubleQuotedScalarString,
    LiteralScalarString,
    FoldedScalarString,
]


def node_of(text: str) -> ScalarNode:
    """The value of the key `text` in a document."""
    reporter = Reporter()
    root = read(text, filename="f.yaml", reporter=reporter)
    assert reporter.diagnostics == ()
    assert isinstance(root, MappingNode)
    node = root.get("text")
    assert isinstance(node, ScalarNode)
    return node


def place(node: ScalarNode, part: str) -> tuple[int, int, int]:
    """Line, column and length of a part of the scalar's text."""
    span = node.span_at(node.text.index(part), len(part))
    return span.line, span.column, span.length


@pytest.mark.parametrize(
    ("source", "part", "expected"),
    [
        ("text: one two three", "two", (1, 11, 3)),
        ("text: one\n  two\n  three", "three", (3, 3, 5)),
        ("text: 'it''s one'", "one", (1, 14, 3)),
        ("text: 'one\n\n  two'", "two", (3, 3, 3)),
        ('text: "a \\"b\\" \\x41 \\u00e9 two"', "two", (1, 28, 3)),
        ('text: "a \\\n   two"', "two", (2, 4, 3)),
        ('text: "one\n  \\  two"', "two", (2, 6, 3)),
        ('text: "\\ttwo"', "two", (1, 10, 3)),
        ("text: |\n  one\n    two\n  three\n", "two", (3, 5, 3)),
        ("text: |2-\n   one\n\n   two\n", "two", (4, 4, 3)),
        ("text: >-\n  one\n  two\n\n  three\n", "three", (5, 3, 5)),
        ("text: >+ # why\n  one\n    two\n  three\n\n", "three", (4, 3, 5)),
        ("text: !!str one two", "two", (1, 17, 3)),
        ("text: &anchor one two", "two", (1, 19, 3)),
        ("text: ünï 😀 two", "two", (1, 13, 3)),
        ("other: 1\r\ntext: one two\r\n", "two", (2, 11, 3)),
        ("text: >-\r\n  one\r\n  two\r\n", "two", (3, 3, 3)),
        ("text: >-\r  one\r  two\r", "two", (3, 3, 3)),
    ],
)
def test_a_part_of_a_scalar_is_found_in_every_style(
    source: str, part: str, expected: tuple[int, int, int]
) -> None:
    assert place(node_of(source), part) == expected


@given(
    st.text(alphabet="ab ':\"\\\n#{}é😀\t", min_size=1, max_size=40).filter(str.strip),
    st.sampled_from(STYLES),
)
def test_every_visible_character_of_a_scalar_is_found_where_it_stands(text: str, style: type[str]) -> None:
    stream = io.StringIO()
    YAML().dump({"text": style(text)}, stream)
    source = stream.getvalue()
    node = node_of(source)
    lines = source.split("\n")
    for offset, character in enumerate(node.text):
        if character.isspace():
            continue
        span = node.span_at(offset, 1)
        found = lines[span.line - 1][span.column - 1]
        assert found == character or (found == "\\" and node.style == "double"), (source, offset)


def test_a_span_ends_with_its_line() -> None:
    span = node_of("text: one\n  two").span
    assert (span.line, span.column, span.length) == (1, 7, 3)


def test_a_fragment_is_placed_inside_its_scalar() -> None:
    node = node_of("text: Solver[all] except ${ winner }")
    fragment = Fragment(node, node.text.index("${"), "${ winner }")
    assert (fragment.span.column, fragment.span.length) == (26, 11)
    assert fragment.span_at(3, 6).column == 29
    assert fragment.json == "${ winner }"


def test_a_path_leads_to_a_node_or_as_near_as_it_can() -> None:
    reporter = Reporter()
    root = read("a: [{b: 1}, 2]", filename="f.yaml", reporter=reporter)
    assert isinstance(root, MappingNode)
    assert node_at(root, ("a", 0, "b")).json == 1
    assert node_at(root, ("a", 0, "c")).json == {"b": 1}
    assert isinstance(node_at(root, ("a", 7)), SequenceNode)
    assert node_at(root, ("a", 1, "b")).json == 2
