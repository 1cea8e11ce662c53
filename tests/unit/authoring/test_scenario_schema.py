"""The schema of scenario files and their reader say the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from strabo_runtime.authoring import scenario_schema
from strabo_runtime.engine import Machine
from strabo_runtime.language import load_file
from strabo_runtime.simulator import read_scenarios, reading
from tests.unit.authoring.damages import SHAPE, closed_forms, damages, forms_at
from tests.unit.authoring.documents import Listener, from_json, node_of, scenario_files

SCHEMA = scenario_schema()
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)

MADE: dict[str, Any] = {
    "protocol": "LongRunning",
    "scenarios": [
        {
            "name": "every step",
            "description": "Each kind of step once.",
            "roles": {"Client": "c1"},
            "steps": [
                {
                    "start": {
                        "message": {"from": "c1", "send": "Ask"},
                        "inputs": {"budget": 5},
                        "roles": {"Client": ["c1"]},
                    }
                },
                {
                    "from": "c1",
                    "send": "Ask",
                    "payload": {},
                    "id": "m",
                    "to": ["a"],
                    "user": "anna",
                    "role": "Client",
                },
                {"advance": "PT5M"},
                {"child": "review", "outcome": "success", "result": {"a": 1}},
                {"child": "review", "outcome": "failure", "error": "it broke"},
                {"child": "audit", "event": "Progress", "payload": {"percent": 5}},
                {"bind": {"role": "Solver", "agents": ["s1"]}},
                {"cancel": "enough"},
                {
                    "expect": {
                        "state": "Idle",
                        "status": "running",
                        "variables": {"names": []},
                        "result": {"parent": "nobody"},
                        "pending": {"Solver": "s1"},
                        "timers": [],
                        "incidents": 0,
                        "received": {"c1": ["Call"]},
                        "rejected": [{"from": "c1", "message": "Ask", "by": "unexpected"}],
                    }
                },
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def machine() -> Machine:
    good = Path(__file__).parents[2] / "language" / "good" / "long_running.yaml"
    made = load_file(good).machine
    assert made is not None
    return made


def errors_of(document: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes of what the reader has to say."""
    with monkeypatch.context() as patched:
        patched.setattr(reading, "read", lambda *_, **__: from_json(document))
        return [found.code for found in read_scenarios("", machine, filename="made.test.yaml").diagnostics]


@pytest.mark.parametrize("path", scenario_files(), ids=lambda path: path.name)
def test_every_scenario_file_that_ships_is_valid(path: Path) -> None:
    found = [f"{error.instance_path}: {error.message}" for error in VALIDATOR.iter_errors(node_of(path).json)]
    assert found == []


def test_every_mapping_has_the_same_keys_in_the_schema(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener(monkeypatch)
    root = from_json(MADE)
    monkeypatch.setattr(reading, "read", lambda *_, **__: root)
    read_scenarios("", machine, filename="made.test.yaml")
    asked = listener.asked(root)
    for one in asked:
        forms = [
            form for form in forms_at(SCHEMA, one.way) if form.get("properties", {}).keys() == one.allowed
        ]
        assert any(one.required <= set(form.get("required", ())) for form in forms), (one.what, one.way)
    read = {one.allowed for one in asked}
    assert [
        sorted(form["properties"])
        for form in closed_forms(SCHEMA)
        if frozenset(form["properties"]) not in read
    ] == []


def test_schema_and_reader_agree_on_damaged_files(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert VALIDATOR.is_valid(MADE)
    assert errors_of(MADE, machine, monkeypatch) == []
    # The protocol's name is looked up, and a scenario's description is not read at all.
    every = [one for one in damages(MADE) if "protocol" not in one[0] and "description" not in one[0]]
    found = []
    for what, damaged in random.Random("scenarios").sample(every, min(len(every), 600)):
        codes, valid = errors_of(damaged, machine, monkeypatch), VALIDATOR.is_valid(damaged)
        if valid and any(code in SHAPE for code in codes):
            found.append(f"only the reader refuses: {what}: {codes}")
        elif not valid and not codes:
            found.append(f"only the schema refuses: {what}")
    assert found == []
