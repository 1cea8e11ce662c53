"""The embedded broker for tests, as a separate process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.child_process import ChildProcess
from tests.support.services import free_port, wait_until_it_answers

# Retention and compaction run often, as in `tests/kafka/server.properties`.
QUICK = ("--maintenance-interval-ms", "300")


class EmbeddedBroker:
    """`python -m strabo_broker` on loopback, its data under `folder`."""

    def __init__(self, folder: Path, arguments: Sequence[str] = ()) -> None:
        port = free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        self._log = folder / "broker.log"
        data = ["--data-dir", str(folder / "data"), "--port", str(port), "--port-file", str(folder / "port")]
        self._command = [sys.executable, "-m", "strabo_broker", *data, *QUICK, *arguments]
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The process id of the one that runs now."""
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()

    def restart(self) -> None:
        if self._process.runs:
            self._process.terminate()
        self._process = self._start()

    def pause(self) -> None:
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def stop(self) -> None:
        self._process.terminate()

    def _start(self) -> ChildProcess:
        process = ChildProcess(self._command, self._log)
        try:
            wait_until_it_answers(self.bootstrap, lambda: process.runs, process.log_tail)
        except BaseException:
            process.kill()
            raise
        return process
