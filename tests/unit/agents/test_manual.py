"""The manual's examples work as they stand, and its table of settings is complete."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import strabo_runtime
from strabo_agents import Agent
from strabo_agents.settings import AgentSettings
from strabo_agents.testing import AgentHarness

MANUAL = Path(__file__).parents[3] / "docs" / "agents.md"
BLOCK = re.compile(r"```python\n# (\w+)\.py\n(.*?)```", re.DOTALL)
EXAMPLES = dict(BLOCK.findall(MANUAL.read_text(encoding="utf-8")))
ROW = re.compile(r"^\| `(STRABO_\w+)` \| (?:`([^`]*)`)? ?\|", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in EXAMPLES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    protocols = Path(strabo_runtime.__file__).parent / "protocols"
    shutil.copy(protocols / "task_auction.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_every_example_is_named() -> None:
    assert list(EXAMPLES) == [
        "solver",
        "plain_solver",
        "patient_solver",
        "announce",
        "test_solver",
        "test_auction",
    ]


@pytest.mark.parametrize("name", ["test_solver", "test_auction"])
async def test_the_tests_of_the_manual_pass(name: str, folder: Path) -> None:
    tests = [function for found, function in vars(load(name)).items() if found.startswith("test_")]
    assert tests
    for test in tests:
        assert inspect.iscoroutinefunction(test)
        await test()


async def test_the_plain_solver_bids(folder: Path) -> None:
    agent = load("plain_solver").agent
    assert isinstance(agent, Agent)
    async with AgentHarness(agent, agent_id="s1") as harness:
        [bid] = await harness.deliver(("CallForBids", {"task_id": "t1"}))

    assert (bid.payload["solver_id"], bid.payload["time_estimate"]) == ("s1", "PT30M")


async def test_the_patient_solver_halves_a_bid_that_is_refused(folder: Path) -> None:
    module = load("patient_solver")
    call = {"task_id": "t1", "spec": {"size": 8}, "bid_submission_deadline": "2030-01-01T00:00:00Z"}

    def refuse(sent: object) -> None:
        raise module.Rejected(
            "over budget", by="constraint", message_id="m", instance_id="i", constraints=["bid_within_budget"]
        )

    async with AgentHarness(module.agent, agent_id="s1", answer=refuse) as harness:
        bids = await harness.deliver(("CallForBids", call))

    assert [(bid.payload["cost"], bid.waited) for bid in bids] == [(80.0, True), (40.0, False)]


def test_the_announcing_client_loads(folder: Path) -> None:
    assert inspect.iscoroutinefunction(load("announce").main)


def test_every_setting_is_in_the_manual_with_its_default() -> None:
    written = dict(ROW.findall(MANUAL.read_text(encoding="utf-8")))
    declared = {f"STRABO_{name.upper()}": field.default for name, field in AgentSettings.model_fields.items()}

    assert written.keys() == declared.keys()
    for name, default in declared.items():
        assert AgentSettings.load(**{name.removeprefix("STRABO_").lower(): written[name] or None}) == (
            AgentSettings.load()
        ), f"{name}: the default is {default}"
