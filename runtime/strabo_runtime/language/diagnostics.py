"""What the loader has to say about a protocol file: diagnostics, how they are collected and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]
_LONGEST_SHOWN: Final = 160
"""Characters of a source line that are shown."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one line of a file. `line` and `column` count from 1, in characters; `length` is at least 1."""

    file: str
    line: int
    column: int
    length: int

    def to_json(self) -> dict[str, str | int]:
        """Both ends for programs: `end_column` is that of the first character behind it."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_line": self.line,
            "end_column": self.column + self.length,
        }


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong, or doubtful, at one place. `code` is one of `codes.CODES`."""

    code: str
    severity: Severity
    span: Span
    message: str
    expected: str | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, str | int | None]:
        """The diagnostic for programs: what `-o json` prints."""
        return {
            "code": self.code,
            "severity": self.severity,
            **self.span.to_json(),
            "message": self.message,
            "expected": self.expected,
            "hint": self.hint,
        }


class Reporter:
    """Collects the diagnostics of one file."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def error(
        self, code: str, span: Span, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> None:
        """Notes an error; the same one twice counts once."""
        self._found[Diagnostic(code, "error", span, message, expected, hint)] = None

    def warning(
        self, code: str, span: Span, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> None:
        """Notes something that is doubtful and yet allowed."""
        self._found[Diagnostic(code, "warning", span, message, expected, hint)] = None

    @property
    def failed(self) -> bool:
        """Whether any error was noted."""
        return any(diagnostic.severity == "error" for diagnostic in self._found)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything noted, in the order of the file."""
        return tuple(sorted(self._found, key=lambda found: (found.span.line, found.span.column)))


def one_of(names: Iterable[str]) -> str:
    """The names as a list to choose from."""
    listed = list(names)
    if not listed:
        return "a declared name, and there is none"
    shown = ", ".join(f"`{name}`" for name in listed[:20])
    more = f" and {len(listed) - 20} more" if len(listed) > 20 else ""
    return shown if len(listed) == 1 else f"one of {shown}{more}"


def render(diagnostic: Diagnostic, source: str) -> str:
    """The diagnostic as lines for a terminal: where and what, the source line, a caret, what was expected, a hint."""
    span = diagnostic.span
    lines = [
        f"{span.file}:{span.line}:{span.column}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    ]
    lines += excerpt(span, source)
    if diagnostic.expected:
        lines.append(f"      expected: {diagnostic.expected}")
    if diagnostic.hint:
        lines.append(f"      hint: {diagnostic.hint}")
    return "\n".join(lines)


def excerpt(span: Span, source: str) -> list[str]:
    """The source line and a line of carets below the span; nothing where the text has no such line."""
    source_lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not source or span.line > len(source_lines):
        return []
    shown, column = _clipped(source_lines[span.line - 1], span.column - 1)
    gutter = f"{span.line:>5} | "
    # Tabs are kept in the caret line, so that it stands under the right place however wide a tab is.
    indent = "".join("\t" if character == "\t" else " " for character in shown[:column])
    carets = "^" * max(1, min(span.length, len(shown) - column))
    return [gutter + shown, " " * (len(gutter) - 2) + "| " + indent + carets]


def _clipped(line: str, column: int) -> tuple[str, int]:
    """The line, or of a very long one the part around the column; and the column in it."""
    if len(line) <= _LONGEST_SHOWN:
        return line, column
    start = max(0, column - _LONGEST_SHOWN // 2)
    part = line[start : start + _LONGEST_SHOWN]
    before = "…" if start else ""
    after = "…" if start + _LONGEST_SHOWN < len(line) else ""
    return before + part + after, column - start + len(before)
