"""Diagrams show every state and every arrow of the compiled table."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest

from strabo_runtime.diagram import edges, to_dot, to_mermaid, to_svg
from strabo_runtime.engine import Machine
from strabo_runtime.language import load, load_file

LONG_RUNNING = Path(__file__).parents[2] / "language" / "good" / "long_running.yaml"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=["task_auction", "code_review", "travel_booking", "task_delegation"])
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


@pytest.fixture(scope="module")
def long_running() -> Machine:
    machine = load_file(LONG_RUNNING).machine
    assert machine is not None
    return machine


def labels(machine: Machine) -> dict[str, str]:
    return {edge.label: edge.kind for edge in edges(machine)}


def effects_of(machine: Machine, label: str) -> tuple[str, ...]:
    return next(edge.effects for edge in edges(machine) if edge.label.startswith(label))


def test_the_end_of_a_child_is_an_arrow_of_its_own_kind(long_running: Machine) -> None:
    found = labels(long_running)
    assert found["child review ends in success"] == "child"
    assert found["child review ends in failure or child audit ends"] == "child"


def test_an_arrow_tells_what_reaches_beyond_the_instance(long_running: Machine) -> None:
    assert effects_of(long_running, "Ask") == (
        "send Call, for each of roles.Solver",
        "undone by send Call, cancel review",
    )
    assert effects_of(long_running, "Offer")[:1] == ("emit Progress to the parent",)
    assert effects_of(long_running, "event QuorumLost") == ("replace Solver",)
    assert "compensate" in effects_of(long_running, "child review ends in failure")


def test_a_state_tells_what_it_starts_binds_expects_and_keeps(long_running: Machine) -> None:
    drawn = to_mermaid(long_running)
    for note in (
        "entry / start CodeReview as review",
        "entry / start CodeReview as audit, detached, for each of names",
        "entry / bind 2 Solver",
        "entry / unbind Guest",
        "expects Offer from Solver within PT10M, reminds every PT2M, else replaces",
        "defers Ask",
    ):
        assert f"    Working : {note}\n" in drawn
    assert "    Idle : defers Join, Offer\n" in drawn


def test_every_form_of_picture_tells_the_same(long_running: Machine) -> None:
    for text in ("child review ends in success", "undone by send Call", "replace Reviewer", "defers Ask"):
        assert text in to_mermaid(long_running)
        assert text in to_dot(long_running)
    shown = "".join(ElementTree.fromstring(to_svg(long_running)).itertext()).replace("\xa0", " ")
    assert "replace Reviewer" in shown
    assert "child review ends in success" in shown


def test_every_protocol_that_ships_is_drawn() -> None:
    for path in sorted(Path(str(files("strabo_runtime.protocols"))).glob("*.yaml")):
        if not path.name.endswith(".test.yaml"):
            machine = load_file(path).machine
            assert machine is not None
            assert to_dot(machine).count("->") == len(edges(machine)) + 1
