"""`module:attribute` leads to an agent, or to one line that says why not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from strabo_agents.errors import LoadError
from strabo_agents.loading import load_agent

SOURCES = {
    "good_agent": "from strabo_agents import Agent\nagent = Agent('s1')\nnumber = 1\n",
    "broken_syntax": "def (:\n",
    "raising": "raise RuntimeError('no key')\n",
    "needy": "import a_package_that_is_not_there\n",
    "wrong_handler": "from strabo_agents import Agent\nAgent('s1').role('P', 'R').on(print)\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in SOURCES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_an_agent_is_found_in_the_working_directory() -> None:
    assert load_agent("good_agent:agent").agent_id == "s1"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("good_agent", "write MODULE:ATTRIBUTE"),
        ("good_agent:", "write MODULE:ATTRIBUTE"),
        ("good_agent:agnt", "no attribute 'agnt'; did you mean agent?"),
        ("good_agent:number", "is not an Agent but int; did you mean agent?"),
        ("missing:agent", "there is no module missing in"),
        ("good_agent.py:agent", "without .py"),
        ("broken_syntax:agent", "cannot be loaded: SyntaxError"),
        ("raising:agent", r"raising.py:1: RuntimeError: no key"),
        ("needy:agent", "needs a_package_that_is_not_there, which is not installed"),
        ("wrong_handler:agent", "cannot be loaded: print"),
    ],
)
def test_what_is_no_agent_is_refused_in_one_line(path: str, message: str) -> None:
    with pytest.raises(LoadError) as caught:
        load_agent(path)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
