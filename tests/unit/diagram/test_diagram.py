"""Diagrams show every state and every arrow of the compiled table."""

from __future__ import annotations

import re
from importlib.resources import files
from xml.etree import ElementTree

import pytest

from strabo_runtime.diagram import edges, to_dot, to_mermaid, to_svg
from strabo_runtime.engine import Machine
from strabo_runtime.language import load

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=["task_auction", "code_review"])
def machine(request: pytest.FixtureRequest) -> Machine:
    text = (files("strabo_runtime.protocols") / f"{request.param}.yaml").read_text(encoding="utf-8")
    loaded = load(text, filename=request.param)
    assert loaded.machine is not None
    return loaded.machine


def test_every_transition_of_the_table_is_an_arrow(machine: Machine) -> None:
    drawn = {(edge.source, edge.target) for edge in edges(machine)}
    for (source, _trigger), transitions in machine.table.items():
        for transition in transitions:
            assert (source, transition.target or source) in drawn


def test_time_that_moves_a_state_is_an_arrow() -> None:
    loaded = load(
        (files("strabo_runtime.protocols") / "code_review.yaml").read_text(encoding="utf-8"),
        filename="code_review",
    )
    assert loaded.machine is not None
    timed = [
        (edge.source, edge.target, edge.label) for edge in edges(loaded.machine) if edge.kind == "timeout"
    ]
    assert ("arbitration_pending", "failed", "after PT45M") in timed
    assert ("idle", "failed", "deadline after PT1H") in timed
    assert not [edge for edge in timed if edge[0] in ("completed", "failed")]


def test_mermaid_names_every_state_and_its_labels_cannot_break_out(machine: Machine) -> None:
    text = to_mermaid(machine)
    assert text.startswith("stateDiagram-v2\n    [*] --> ")
    for state in machine.states.values():
        assert re.search(rf"\b{state.name}\b", text)
    for line in text.splitlines()[1:]:
        assert line.count(" : ") <= 1
        assert ";" not in line.replace("#58;", "").replace("#59;", "").replace("#35;", "")


def test_dot_gives_states_and_arrows_ids_for_highlighting(machine: Machine) -> None:
    text = to_dot(machine)
    for state in machine.states.values():
        assert f'id="{state.name}"' in text
    for index in range(len(edges(machine))):
        assert f'id="e{index}"' in text


def test_svg_is_drawn_with_the_same_ids(machine: Machine) -> None:
    root = ElementTree.fromstring(to_svg(machine))
    ids = {group.get("id") for group in root.iter(f"{SVG}g")}
    assert set(machine.states) <= ids
    assert {f"e{index}" for index in range(len(edges(machine)))} <= ids
