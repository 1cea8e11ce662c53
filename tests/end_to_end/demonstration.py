"""Start `strabo` as a user does, and see what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

STRABO = (sys.executable, "-m", "strabo_runtime.cli.main")


def start(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start `strabo ARGUMENTS` in `folder`, in a process group of its own, with none of the caller's settings."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("STRABO_")}
    return subprocess.Popen(
        [*STRABO, *arguments],
        cwd=folder,
        env={**clean, "TMPDIR": str(folder), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `strabo ARGUMENTS` to its end."""
    process = start(folder, *arguments, environment=environment)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"strabo {' '.join(arguments)} did not end\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def left_behind(folder: Path) -> list[str]:
    """The processes that still use `folder`, which every child of a command started there does."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        try:
            if (
                str(folder) in process.environ().get("TMPDIR", "")
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(f"{process.pid} {' '.join(process.info['cmdline'] or [])}")
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            continue
    return found
