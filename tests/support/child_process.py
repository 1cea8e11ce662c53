"""A child process of the tests that dies with them, however they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The kernel ends a child when the *thread* that started it ends. This one lives as long as the process, so a
# test may start services from any thread.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="child-process-starter")


class ChildProcess:
    """One command, started at once, in a process group of its own, its output appended to a log file.

    The group keeps Ctrl-C in the terminal from the child: the fixtures end it in order.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = _STARTER.submit(
                subprocess.Popen,
                _bound_to_this_process(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if environment is None else {**os.environ, **environment},
                cwd=folder,
                start_new_session=True,
            ).result()

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """False once it has ended."""
        return self._process.poll() is None

    def wait(self, timeout_s: float) -> int:
        """Wait for its end; returns the exit code, raises `subprocess.TimeoutExpired`."""
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        """SIGKILL to the whole group, and wait for the end."""
        self._send(signal.SIGKILL)
        self._process.wait()

    def terminate(self, patience_s: float = 15.0) -> int:
        """SIGTERM, and SIGKILL when that does not end it in time; returns the exit code."""
        self._send(signal.SIGCONT)
        self._send(signal.SIGTERM)
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
        return self._process.wait()

    def pause(self) -> None:
        """SIGSTOP."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._send(signal.SIGCONT)

    def log_tail(self, size: int = 3_000) -> str:
        """The last bytes of its output."""
        return self.log.read_bytes()[-size:].decode(errors="replace")

    def _send(self, number: signal.Signals) -> None:
        if self.runs:
            os.killpg(self.pid, number)


def _bound_to_this_process(command: Sequence[str]) -> list[str]:
    """The command, killed by the kernel when this process is gone without having ended it.

    `setpriv` (util-linux) asks for that; the shell then looks whether this process was gone before the asking.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    unless_orphaned = f'[ "$PPID" -eq {os.getpid()} ] && exec "$@"'
    return [setpriv, "--pdeathsig", "KILL", "--", "sh", "-c", unless_orphaned, "sh", *command]
