"""Which tests run which lines of the rooms under test, recorded by pytest: `-p tests.mutation.reach`.

Every test's lines are recorded by coverage.py under the test's node id; what each test costs lies beside it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

LINES_FILE = "MUTATION_LINES"  # the file for coverage.py's data
ROOM_FOLDERS = "MUTATION_ROOMS"  # the folders to record, with os.pathsep between them
COSTS_BESIDE = ".costs.json"

_costs: dict[str, float] = {}
_failed: set[str] = set()
_records: list[coverage.Coverage] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Record from the first import on: what importing runs is to be told from what nothing runs."""
    record = coverage.Coverage(
        data_file=os.environ[LINES_FILE],
        config_file=False,
        include=[f"{room}/*" for room in os.environ[ROOM_FOLDERS].split(os.pathsep)],
    )
    record.start()
    _records.append(record)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record what the test runs, its fixtures included, and the processor seconds it takes."""
    (record,) = _records
    record.switch_context(item.nodeid)
    began = time.process_time()
    result = yield
    _costs[item.nodeid] = time.process_time() - began
    record.switch_context("")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that fails unchanged: it can notice nothing."""
    if report.failed:
        _failed.add(report.nodeid)


def pytest_unconfigure() -> None:
    """Write what was recorded."""
    (record,) = _records
    record.stop()
    record.save()
    Path(os.environ[LINES_FILE] + COSTS_BESIDE).write_text(
        json.dumps({test: cost for test, cost in _costs.items() if test not in _failed})
    )
