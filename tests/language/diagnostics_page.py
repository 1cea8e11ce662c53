"""Makes the manual's page of diagnostics from the registry: `python -m tests.language.diagnostics_page` writes it."""

from __future__ import annotations

from pathlib import Path

from strabo_runtime.language.codes import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "language" / "diagnostics.md"

_INTRODUCTION = """\
# Diagnostics

A protocol file is told all of its errors in one go: the place, a code, what is wrong, the line with a caret, what was
expected, and what was probably meant. `strabo verify -o json` prints each as an object with `code`, `severity`, `file`,
`line`, `column`, `end_line`, `end_column` (just behind it), `message`, `expected` and `hint`; lines and columns count
from 1, in characters.

The codes of the last group are found in files that load. Parts that can never work are errors; what is allowed and
probably not meant (`never-ends`, `event-never-raised`, `event-never-handled`, `ambiguous-recipient`) are warnings.
"""


def page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for title, codes in GROUPS.items():
        rows = [f"| `{code.name}` | {code.meaning} | {code.remedy} |" for code in codes]
        parts.append(
            "\n".join([f"## {title}", "", "| code | meaning | what to do |", "|---|---|---|", *rows]) + "\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
