"""The manual's page of tools says what the tools do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson
import pytest

from strabo_avro.records import StepRecord
from strabo_runtime.authoring.shipped import template
from strabo_runtime.history_file import History, history_lines, read_history
from strabo_runtime.language.diff import KINDS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
EDITS = (
    ('version: "1" ', 'version: "2" '),
    ("payload: {name: string}", "payload: {name: string, language: string}"),
    ("within: PT1M", "within: PT2M"),
    ("expression: message.payload.text != ''", "expression: message.payload.text.size() > 3"),
)


def rows(title: str) -> list[list[str]]:
    """The rows of the first table behind a line."""
    table = PAGE.split(title, 1)[1].lstrip("\n").split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def words(cell: str) -> list[str]:
    return re.findall(r"`([a-z_]+)`", cell)


def test_every_kind_of_change_is_listed() -> None:
    assert {kind.strip("`"): what for kind, what in rows("The kinds of change:")} == dict(KINDS)


def test_the_example_of_a_comparison_is_what_the_command_prints(
    strabo: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = next(path for path in template() if path.name == "greeting.yaml").read_text(encoding="utf-8")
    Path("greeting.yaml").write_text(text, encoding="utf-8")
    for before, after in EDITS:
        assert before in text
        text = text.replace(before, after)
    Path("greeting_2.yaml").write_text(text, encoding="utf-8")
    shown = PAGE.split("$ strabo diff greeting.yaml greeting_2.yaml\n", 1)[1].split("```", 1)[0]
    assert strabo("diff", "greeting.yaml", "greeting_2.yaml").out == shown


def test_every_option_that_the_page_names_exists(strabo: Callable[..., Any]) -> None:
    for verb, rest in re.findall(r"^\$ strabo (\w+)(.*)$", PAGE, re.MULTILINE):
        helped = strabo(verb, "--help").out
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in helped, (verb, option)


@pytest.fixture(scope="module")
def history() -> History:
    return read_history(next((ROOT / "tests" / "histories").glob("every_input.*.every_kind_of_input.jsonl")))


def test_every_field_of_a_history_is_explained(history: History) -> None:
    header = orjson.loads(next(iter(history_lines(history))))
    assert {word for row in rows("The first line:") for word in words(row[0])} == set(header)
    steps = rows("Every other line is one input, refused ones included, in order:")
    assert {word for row in steps for word in words(row[0])} == {field.name for field in fields(StepRecord)}


def test_every_kind_of_input_is_named(history: History) -> None:
    kinds = {orjson.loads(record.input)["kind"] for record in history.records} | {"cancel"}
    assert kinds == set(words(PAGE.split("| `input` |", 1)[1].split("\n", 1)[0])) - {"kind"}
