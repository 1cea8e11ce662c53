"""No child process outlives the tests, however they end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.child_process import ChildProcess

ROOT = Path(__file__).parents[2]
PARENT = """
import sys, time
from pathlib import Path
from tests.support.child_process import ChildProcess

child = ChildProcess(["sleep", "300"], Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(300)
"""


def ends_soon(pid: int) -> bool:
    """True when the process is gone, or only its exit code is left of it."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_child_ends_with_the_process_that_started_it(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(number)
    assert ends_soon(child)


def test_a_paused_child_can_be_terminated(tmp_path: Path) -> None:
    child = ChildProcess(["sleep", "300"], tmp_path / "log")
    child.pause()
    assert child.terminate() == -signal.SIGTERM
    assert not child.runs


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    child = ChildProcess(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], tmp_path / "log"
    )
    while not child.log_tail():
        time.sleep(0.01)
    assert child.terminate(patience_s=0.2) == -signal.SIGKILL
