"""The benchmarks run, and write what they promise."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tests.benchmarks.auctions import NOW, bid, open_auction
from tests.benchmarks.catalogue import NAMES
from tests.benchmarks.engine_steps import take_bid
from tests.benchmarks.figures import AIMS, Aim, Figure, paired, table

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_quick_run_prints_a_table_and_writes_each_figure_with_its_baseline(tmp_path: Path) -> None:
    output = tmp_path / "folder" / "bench.json"
    command = [sys.executable, "-m", "tests.benchmarks", "--quick", "--only", "engine_steps_per_s"]
    done = subprocess.run(
        [*command, "--output", str(output)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = orjson.loads(output.read_bytes())
    assert list(found) == ["engine_steps_per_s"]
    assert set(found["engine_steps_per_s"]) == {"value", "unit", "baseline", "ratio"}
    assert found["engine_steps_per_s"]["unit"] == "steps/s"
    assert all(found["engine_steps_per_s"][key] > 0 for key in ("value", "baseline", "ratio"))
    assert "engine_steps_per_s" in done.stdout


def test_an_unknown_name_is_refused_in_one_line() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "--only", "nonsense"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nonsense" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_every_aim_is_of_a_figure_that_is_measured() -> None:
    assert set(AIMS) <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


def test_the_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    figure = paired("rate", "steps/s", [(10.0, 100.0), (30.0, 60.0), (1.0, 50.0)])
    assert figure == Figure("rate", 10.0, "steps/s", 60.0, 0.1)


def test_the_table_says_whether_an_aim_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AIMS, "slow", Aim("at most", 6))
    monkeypatch.setitem(AIMS, "fast", Aim("at least", 2.0))
    figures = [Figure("slow", 7.0, "ms", 5.0, 1.4), Figure("fast", 2_000.0, "steps/s", 5.0, 400.0)]
    lines = table(figures).splitlines()
    assert lines[2].endswith("at most 6: missed")
    assert lines[3].endswith("at least 2: met")


def test_the_hand_written_bid_is_refused_by_each_of_the_four_constraints() -> None:
    auction = {
        **open_auction("auction-1", solvers=3, bids=1).variables.json,
        "bid_submission_deadline": NOW + 10,
    }
    good = bid("auction-1", 1)
    taken = take_bid(auction, good)
    assert taken is not None and len(taken["received_bids"]) == 2
    assert take_bid(taken, good) is None
    assert take_bid({**auction, "bid_submission_deadline": NOW}, good) is None
    assert take_bid({**auction, "task_info": {"budget": 1.0}}, good) is None
    assert take_bid(auction, replace(good, sender="solver-3")) is None
