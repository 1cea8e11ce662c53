"""Reads the manual's examples: its fenced blocks, by what the fence says they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "language"
_FENCE = re.compile(r"^```(?P<kind>[a-z ]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TOP_LEVEL_KEY = re.compile(r"^(?P<key>[a-z_]+):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `kind` is all that its fence says: `yaml protocol`, `yaml section`, `yaml wrong`, `text`, …"""

    page: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(kind: str | None = None) -> list[Block]:
    """Every block of the manual, or those of one kind."""
    found = [block for page in sorted(PAGES.glob("*.md")) for block in _of_page(page)]
    return [block for block in found if kind in (None, block.kind)]


def _of_page(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(page.name, text.count("\n", 0, match.start()) + 1, match["kind"], match["text"])


def base_of(page: str) -> Block:
    """The protocol that a page's sections belong to: the first one on it."""
    return next(block for block in blocks("yaml protocol") if block.page == page)


def protocol_of(scenarios: Block) -> Block:
    """The protocol that a block of scenarios tests, by its name: one of the manual's."""
    [name] = re.findall(r"^protocol: (\w+)$", scenarios.text, re.MULTILINE)
    return next(block for block in blocks("yaml protocol") if f"protocol: {name}\n" in block.text)


def following(block: Block) -> Block:
    """The next block on the same page."""
    rest = [other for other in blocks() if other.page == block.page and other.line > block.line]
    return rest[0]


def with_section(protocol: str, section: str) -> str:
    """The protocol's text with the top-level keys of `section` put in place of its own."""
    replaced = {match["key"] for match in _TOP_LEVEL_KEY.finditer(section)}
    starts = [(match.start(), match["key"]) for match in _TOP_LEVEL_KEY.finditer(protocol)]
    ends = [start for start, _ in starts[1:]] + [len(protocol)]
    kept = [
        protocol[start:end] for (start, key), end in zip(starts, ends, strict=True) if key not in replaced
    ]
    return "".join(kept).rstrip("\n") + "\n" + section
