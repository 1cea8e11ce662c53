"""The models that are written for a protocol's payloads."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel, ValidationError

from strabo_runtime.language import load
from strabo_runtime.models import python_models

PROTOCOL = """
protocol: Odd
version: "1"
participants:
  - name: A
  - name: B
types:
  Tree:
    name: string
    children: list<Tree>
  Short: string
  Priority: enum(low, high)
  Field: {x: integer}
  str: {y: string}
  MNested: {z: boolean}
  Rows: list<Row>
  Money: Amount
  Amount: number
  Maybe: list<Rows>
  Row: {at: timestamp}
message_types:
  M:
    from: A
    to: B
    payload:
      class: string
      class_: string
      model_config: integer?
      tree: Tree
      short: Short
      choice: enum(yes, no)
      nested: {at: timestamp, took: duration?}
      a_b: {one: integer}
      aB: {two: integer}
      things: map<integer>
      anything: any
      list: list<integer>
      timedelta: duration?
      priority: Priority
      field: Field
      odd: str
      rows: Rows
      price: Money?
      tables: Maybe?
      copy: string?
  Open:
    from: A
    to: B
    payload: {open: true, x: string}
  class:
    from: A
    to: B
    payload: {Open: string}
states: [S, {name: E, final: success}]
transitions:
  - {from: S, to: E, trigger: [{message: M}, {message: Open}, {message: class}]}
"""
VALID = {
    "class": "c",
    "class_": "other",
    "tree": {"name": "root", "children": [{"name": "leaf", "children": []}]},
    "short": "s",
    "choice": "yes",
    "nested": {"at": "2030-01-01T00:00:00Z", "took": "PT30M"},
    "things": {"a": 1},
    "a_b": {"one": 1},
    "aB": {"two": 2},
    "anything": [None, 1.5],
    "list": [1],
    "timedelta": "PT1S",
    "priority": "low",
    "field": {"x": 1},
    "odd": {"y": "z"},
    "rows": [{"at": "2030-01-01T00:00:00Z"}],
    "price": 2.5,
    "tables": [[{"at": "2030-01-01T00:00:00Z"}]],
}


def module_of(text: str, name: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def odd() -> str:
    loaded = load(PROTOCOL, filename="odd.yaml")
    assert loaded.machine is not None, loaded.diagnostics
    return python_models(loaded.machine, loaded.machine.types)


def test_a_payload_survives_the_way_through_its_model(odd: str) -> None:
    model: type[BaseModel] = module_of(odd, "odd_models").M
    read = model.model_validate(VALID)
    assert json.loads(read.model_dump_json(by_alias=True, exclude_none=True)) == VALID


def test_a_message_type_that_python_cannot_spell_keeps_its_name(odd: str) -> None:
    model: type[BaseModel] = module_of(odd, "odd_models_class").class_
    assert model.__name__ == "class"
    assert json.loads(model.model_validate({"Open": "x"}).model_dump_json(by_alias=True)) == {"Open": "x"}


def test_unknown_fields_are_refused_unless_the_record_is_open(odd: str) -> None:
    module = module_of(odd, "odd_models_open")
    with pytest.raises(ValidationError):
        module.M.model_validate({**VALID, "extra": 1})
    assert module.Open.model_validate({"x": "y", "extra": 1}).model_extra == {"extra": 1}


def test_what_is_written_passes_mypy_strict(odd: str, tmp_path: Path) -> None:
    (tmp_path / "written.py").write_text(odd, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "written.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_the_demonstrations_messages_are_what_the_command_writes() -> None:
    text = (files("strabo_runtime.protocols") / "task_auction.yaml").read_text(encoding="utf-8")
    machine = load(text, filename="task_auction.yaml").machine
    assert machine is not None
    written = (files("strabo_runtime.demo") / "messages.py").read_text(encoding="utf-8")
    assert python_models(machine, machine.types) == written
