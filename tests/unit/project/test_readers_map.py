"""The README's reading order, the manual's pages and the Makefile's targets are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_file_of_the_reading_order_exists() -> None:
    section = README.partition("## Read the code in this order")[2]
    files = re.findall(r"`((?:avro|topics|agents_sdk|runtime)/[\w./]+)`", section)
    assert len(files) >= 7
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_every_page_that_a_page_links_to_exists() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_the_targets_that_the_readme_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)\b", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_nothing_stands_directly_in_the_package_folders() -> None:
    """An `__init__.py` in `avro/` would hide PyPI's `avro`."""
    for folder in ("avro", "topics", "agents_sdk", "runtime"):
        assert list((ROOT / folder).glob("*.py")) == []
