"""The limits that the manual names are those of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.engine.changes import KEPT_INCIDENTS
from strabo_runtime.engine.execution import MOST_WRITTEN
from strabo_runtime.engine.repetition import MOST_ITEMS

CHOICES = Path(__file__).parents[3] / "docs" / "language" / "choices.md"


@pytest.mark.parametrize(
    ("sentence", "limit", "stated"),
    [
        ("The newest 100 incidents are kept.", KEPT_INCIDENTS, 100),
        ("One step writes at most 16 MiB beside that", MOST_WRITTEN, 16_777_216),
        ("for at most 10,000 items in all", MOST_ITEMS, 10_000),
    ],
)
def test_a_limit_is_the_one_that_the_manual_names(sentence: str, limit: int, stated: int) -> None:
    assert sentence in CHOICES.read_text(encoding="utf-8")
    assert limit == stated
