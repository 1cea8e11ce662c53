"""The schema of protocol files and the parser say the same: every key, every form, every damage."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from strabo_runtime.authoring import protocol_schema
from strabo_runtime.language import parser
from strabo_runtime.language.compiler import check_and_compile
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.registered import Registered
from strabo_runtime.language.source import read
from tests.language import expectations
from tests.unit.authoring.damages import SHAPE, closed_forms, damages, forms_at
from tests.unit.authoring.documents import Listener, from_json, node_of, protocol_files

pytestmark = pytest.mark.slow

SCHEMA = protocol_schema()
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)


@pytest.mark.parametrize("path", protocol_files(), ids=lambda path: path.name)
def test_every_good_file_is_valid(path: Path) -> None:
    found = [f"{error.instance_path}: {error.message}" for error in VALIDATOR.iter_errors(node_of(path).json)]
    assert found == []


@pytest.mark.parametrize("path", protocol_files(), ids=lambda path: path.name)
def test_every_mapping_that_the_parser_reads_has_the_same_keys_in_the_schema(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener(monkeypatch)
    root = node_of(path)
    parser.parse(root, source="", filename=path.name, reporter=Reporter())
    asked = listener.asked(root)
    assert asked
    for one in asked:
        forms = [
            form for form in forms_at(SCHEMA, one.way) if form.get("properties", {}).keys() == one.allowed
        ]
        assert forms, (one.what, one.way, one.allowed)
        assert any(one.required <= set(form.get("required", ())) for form in forms), (one.what, one.way)


def test_every_mapping_of_the_schema_is_read_by_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener(monkeypatch)
    asked: set[frozenset[str]] = set()
    for path in protocol_files():
        root = node_of(path)
        parser.parse(root, source="", filename=path.name, reporter=Reporter())
        asked |= {one.allowed for one in listener.asked(root)}
    never = [
        sorted(form["properties"])
        for form in closed_forms(SCHEMA)
        if frozenset(form["properties"]) not in asked
    ]
    assert never == []


@pytest.mark.parametrize("path", expectations.files("bad"), ids=lambda path: path.name)
def test_a_file_of_a_bad_shape_is_not_valid(path: Path) -> None:
    root = read(path.read_text(encoding="utf-8"), filename=path.name, reporter=Reporter())
    if root is None or not any(code in SHAPE for code in errors_of(root.json)):
        pytest.skip("its errors are not of the shape")
    assert not VALIDATOR.is_valid(root.json)


def errors_of(document: Any) -> list[str]:
    """The codes of what is wrong: to the parser, or where it is a matter of content to the compiler."""
    reporter = Reporter()
    definition = parser.parse(from_json(document), source="", filename="made.yaml", reporter=reporter)
    if definition is not None and not reporter.failed and not VALIDATOR.is_valid(document):
        check_and_compile(definition, Registered(), reporter)
    return [found.code for found in reporter.diagnostics]


def disagreements(document: Any, damaged: Iterable[tuple[str, Any]]) -> list[str]:
    """The damages that only one of schema and parser refuses."""
    assert errors_of(document) == []
    found = []
    for what, one in damaged:
        codes, valid = errors_of(one), VALIDATOR.is_valid(one)
        if valid and any(code in SHAPE for code in codes):
            found.append(f"only the parser refuses: {what}: {codes}")
        elif not valid and not codes:
            found.append(f"only the schema refuses: {what}")
    return found


@pytest.mark.parametrize("path", expectations.files("good"), ids=lambda path: path.name)
def test_schema_and_parser_agree_on_damaged_files(path: Path) -> None:
    document = node_of(path).json
    every = list(damages(document))
    some = random.Random(path.name).sample(every, min(len(every), 250))
    assert disagreements(document, some) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", expectations.files("good"), ids=lambda path: path.name)
def test_schema_and_parser_agree_on_every_damage(path: Path) -> None:
    document = node_of(path).json
    assert disagreements(document, damages(document)) == []
