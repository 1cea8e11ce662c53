"""Where code, string literals and comments begin and end in an expression's text, without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LITERAL_OR_COMMENT = re.compile(
    r"""
    [rR]['"]{3}.*?['"]{3}                                   # raw and triple: up to the next triple
    | '''(?:\\.|[^\\])*?''' | \"\"\"(?:\\.|[^\\])*?\"\"\"
    | [rR]'[^'\n]*' | [rR]"[^"\n]*"
    | '(?:\\.|[^\\'\n])*' | "(?:\\.|[^\\"\n])*"
    | //[^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"


def code_spans(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """The stretches of the text that are neither string literal nor comment."""
    position = start
    for match in _LITERAL_OR_COMMENT.finditer(text, start):
        yield position, match.start()
        position = match.end()
    yield position, len(text)


def closing_brace(text: str, start: int) -> int | None:
    """The index of the `}` that closes a brace opened just before `start`; None when there is none."""
    depth = 0
    for first, last in code_spans(text, start):
        for index in range(first, last):
            if text[index] == "{":
                depth += 1
            elif text[index] == "}":
                if depth == 0:
                    return index
                depth -= 1
    return None


def nesting(text: str) -> int:
    """The most brackets that are open at once."""
    depth = deepest = 0
    for first, last in code_spans(text):
        for index in range(first, last):
            if text[index] in _OPENING:
                depth += 1
                deepest = max(deepest, depth)
            elif text[index] in _CLOSING:
                depth -= 1
    return deepest
