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

from strabo_agents.payloads import to_payload
from strabo_runtime.authoring.shipped import shipped
from strabo_runtime.engine import Machine
from strabo_runtime.language import load
from strabo_runtime.models import python_models

pytestmark = pytest.mark.slow

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


DESCRIBED = """
protocol: Described
version: "1"
inputs:
  budget: number
  title: string?
  rounds: {type: integer, default: 3}
participants: [{name: A}, {name: B}]
message_types:
  Report:
    from: A
    to: B
    schema:
      type: object
      required: [text, inner]
      additionalProperties: false
      properties:
        text: {type: string, maxLength: 10}
        size: {type: integer}
        inner: {type: object, properties: {note: {type: string}}}
        when: {type: string, format: date-time}
  Anything: {from: A, to: B, schema: {}}
  Choice: {from: A, to: B, schema: {anyOf: [{type: object}, {type: "null"}]}}
states: [S, {name: E, final: success}]
transitions:
  - {from: S, to: E, trigger: [{message: Report}, {message: Anything}, {message: Choice}]}
"""


@pytest.fixture(scope="module")
def described() -> Machine:
    machine = load(DESCRIBED, filename="described.yaml").machine
    assert machine is not None
    return machine


def test_a_payload_of_a_schema_is_valid_for_it_as_its_model_is_sent(described: Machine) -> None:
    module = module_of(python_models(described, described.types), "described_models")
    report = module.Report(text="short", inner={})
    payload = to_payload("Report", report)
    assert payload == {"text": "short", "inner": {}}
    assert list(described.messages["Report"].validator.errors(payload)) == []


def test_a_payload_of_which_nothing_is_known_takes_any_object(described: Machine) -> None:
    module = module_of(python_models(described, described.types), "described_open")
    assert to_payload("Anything", module.Anything(a=[1], b=None)) == {"a": [1], "b": None}
    assert module.Choice.model_validate({"x": 1}).model_dump() == {"x": 1}


def test_inputs_have_a_model_that_leaves_out_what_has_a_default(described: Machine) -> None:
    inputs = module_of(python_models(described, described.types), "described_inputs").DescribedInputs
    assert to_payload("inputs", inputs(budget=5)) == {"budget": 5.0}
    assert to_payload("inputs", inputs(budget=5, rounds=2)) == {"budget": 5.0, "rounds": 2}
    with pytest.raises(ValidationError):
        inputs(title="no budget")


def test_models_of_every_protocol_that_ships_and_of_schemas_pass_mypy_strict(
    described: Machine, tmp_path: Path
) -> None:
    machines = [described, *(one.machine for one in shipped())]
    for number, machine in enumerate(machines):
        written = python_models(machine, machine.types)
        (tmp_path / f"written_{number}.py").write_text(written, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
