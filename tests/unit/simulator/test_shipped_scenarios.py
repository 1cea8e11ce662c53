"""The protocols that ship pass their scenarios, and the scenarios reach all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.language import check_children, check_structure, load_file
from strabo_runtime.simulator import load_family, render_report, run_file

ROOT = Path(__file__).parents[3]
PROTOCOLS = ROOT / "runtime" / "strabo_runtime" / "protocols"
NAMES = sorted(path.name.removesuffix(".test.yaml") for path in PROTOCOLS.glob("*.test.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_passes_and_everything_is_reached(name: str) -> None:
    report = run_file(PROTOCOLS / f"{name}.test.yaml")
    assert report.passed, render_report(report)
    assert report.coverage is not None
    assert report.coverage.complete, render_report(report)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_its_structure_nor_between_it_and_its_children(name: str) -> None:
    path = PROTOCOLS / f"{name}.yaml"
    loaded = load_file(path)
    assert loaded.diagnostics == ()
    assert loaded.machine is not None
    assert loaded.definition is not None
    assert check_structure(loaded.machine, loaded.definition) == ()
    assert check_children(loaded.machine, loaded.definition, load_family(path).catalogue.find) == ()


def test_every_protocol_has_scenarios() -> None:
    protocols = {path.stem for path in PROTOCOLS.glob("*.yaml") if not path.name.endswith(".test.yaml")}
    assert protocols == set(NAMES)


def test_the_scenarios_cover_what_can_go_wrong() -> None:
    names = [
        result.name
        for protocol in ("task_auction", "code_review")
        for result in run_file(PROTOCOLS / f"{protocol}.test.yaml").results
    ]
    assert len(names) == len(set(names)) >= 36


def test_the_manual_names_every_protocol() -> None:
    page = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []
