"""A command whose reader has gone (`strabo … | head`) ends quietly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUN = "from strabo_runtime.cli import entry; entry()"


@pytest.mark.parametrize("arguments", [["version"], ["schema"], ["--help"]], ids=" ".join)
def test_a_reader_who_has_gone_ends_the_command_without_a_word(arguments: list[str]) -> None:
    """The answers are shorter, longer than a pipe's buffer, and printed by the command line library."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", RUN, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_output_that_is_full_is_told() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-c", RUN, "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr == "strabo: the output cannot be written: No space left on device\n"
