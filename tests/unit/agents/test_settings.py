"""Settings come from the environment, and bad ones are named."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from strabo_agents.settings import AgentSettings
from strabo_topics.errors import SettingsError


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_AGENT_LEASE", "2m")
    monkeypatch.setenv("STRABO_AGENT_STORE", "memory")

    settings = AgentSettings.load()

    assert (settings.agent_lease, settings.agent_store) == (timedelta(minutes=2), "memory")


def test_a_bad_setting_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRABO_AGENT_CONCURRENCY", "0")

    with pytest.raises(SettingsError, match="STRABO_AGENT_CONCURRENCY"):
        AgentSettings.load()


def test_the_store_is_a_file_for_the_namespace_and_the_agent() -> None:
    settings = AgentSettings.load(data_dir=Path("data"))

    assert settings.sqlite_path("ns", "human:a/b") == Path("data/agents/ns/human%3Aa%2Fb.sqlite")
    assert AgentSettings.load(agent_store_path=Path("x.db")).sqlite_path("ns", "a") == Path("x.db")
