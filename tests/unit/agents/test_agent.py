"""An agent knows its id, from the code or the environment."""

from __future__ import annotations

import pytest

from strabo_agents import Agent
from strabo_agents.errors import SettingsError


def test_the_id_in_the_code_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_AGENT_ID", "other")

    assert Agent("s1").agent_id == "s1"


def test_the_id_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_AGENT_ID", "s1")

    assert Agent().agent_id == "s1"


def test_an_agent_without_an_id_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRABO_AGENT_ID", raising=False)

    with pytest.raises(SettingsError, match="set STRABO_AGENT_ID"):
        _ = Agent().agent_id


@pytest.mark.parametrize("agent_id", ["", " s1", "s\n1", "x" * 201])
def test_what_cannot_be_an_id_is_refused(agent_id: str) -> None:
    with pytest.raises(SettingsError, match="can be no id"):
        Agent(agent_id)
