"""Every setting that the README or the manual names exists."""

from __future__ import annotations

import re
from pathlib import Path

from strabo_agents.settings import AgentSettings
from strabo_runtime.worker import WorkerSettings
from strabo_topics.settings import KafkaSettings

ROOT = Path(__file__).parents[3]
# Read by the command line and the tests' services, not by a settings class.
OTHERS = {"STRABO_DEBUG", "STRABO_TEST_KAFKA", "STRABO_TEST_KAFKA_LIBS", "STRABO_TEST_KAFKA_IMAGE"}


def test_every_setting_that_is_named_exists() -> None:
    known = {
        f"STRABO_{name.upper()}"
        for settings in (AgentSettings, KafkaSettings, WorkerSettings)
        for name in settings.model_fields
    }
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        named = set(re.findall(r"\bSTRABO_[A-Z_]*[A-Z]\b(?!_?\*)", page.read_text(encoding="utf-8")))
        assert named - known - OTHERS == set(), page
