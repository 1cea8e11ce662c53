"""What make says on a machine that lacks something: one line, and what to do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile and what it depends on."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-s", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Our own line on stderr; make adds its own after it."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_python_without_venv_says_what_to_install(checkout: Path) -> None:
    python = checkout / "python-without-venv"
    python.write_text('#!/bin/sh\ncase "$2" in *venv*) exit 1;; esac\nexit 0\n', encoding="utf-8")
    python.chmod(0o755)
    done = make(checkout, "setup", f"PYTHON={python}")
    assert done.returncode == 2
    assert "apt-get install python3-venv" in complaint(done)
    assert not (checkout / ".venv").exists()


def test_an_old_or_missing_python_says_which_is_needed(checkout: Path) -> None:
    done = make(checkout, "run", "PYTHON=no-such-python")
    assert done.returncode == 2
    assert "3.11" in complaint(done)


def test_help_lists_every_target(checkout: Path) -> None:
    text = make(checkout).stdout
    for target in ("run", "setup", "test", "check", "bench", "clean"):
        assert f"make {target}" in text
