"""The protocols that ship pass their scenarios, and the scenarios reach all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.simulator import render_report, run_file

PROTOCOLS = Path(__file__).parents[3] / "runtime" / "strabo_runtime" / "protocols"


@pytest.mark.parametrize("name", ["task_auction", "code_review"])
def test_every_scenario_passes_and_everything_is_reached(name: str) -> None:
    report = run_file(PROTOCOLS / f"{name}.test.yaml")
    assert report.passed, render_report(report)
    assert report.coverage is not None
    assert report.coverage.complete, render_report(report)


def test_the_scenarios_cover_what_can_go_wrong() -> None:
    names = [
        result.name
        for protocol in ("task_auction", "code_review")
        for result in run_file(PROTOCOLS / f"{protocol}.test.yaml").results
    ]
    assert len(names) == len(set(names)) >= 36
