"""Child processes of one command: started together, watched, and ended with it however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_S = 10.0
"""How long a child may take over an orderly end before it is killed."""


class ChildEnded(Exception):
    """A child that was to stay up has ended; the text names it and shows the end of its log."""


class Child:
    """One running child process; its output goes to `log`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    @property
    def pid(self) -> int:
        """The process id, which is also its process group."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code (negative: the signal that ended it), None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Wait for its end and return the exit code."""
        return await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child's whole group; nothing when it has ended."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def log_tail(self, lines: int = 12) -> str:
        """The last lines that it printed."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


class Processes:
    """A group of children; leaving the context ends them all, in reverse order of their start."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._children: list[Child] = []

    async def __aenter__(self) -> Processes:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.stop())

    async def start(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Child:
        """Start `python <arguments>` under this interpreter.

        It gets no Ctrl-C of the terminal: `stop` ends it in order.
        """
        log = self._logs / f"{name}.log"
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *_dies_with_parent([sys.executable, *arguments]),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        child = Child(name, process, log)
        self._children.append(child)
        return child

    async def first_ended(self, *children: Child) -> Child:
        """Wait until one of the children ends and return it."""
        waits = {asyncio.create_task(child.wait()): child for child in children}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return waits[next(iter(done))]

    async def stop(self) -> None:
        """End every child in order: the last started first, each asked before it is killed."""
        while self._children:
            child = self._children.pop()
            child.signal(signal.SIGCONT)
            child.signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(child.wait(), PATIENCE_S)
            except TimeoutError:
                child.signal(signal.SIGKILL)
                await child.wait()


def _dies_with_parent(command: list[str]) -> list[str]:
    """Have the kernel end the child with this process, so that even SIGKILL leaves nothing behind (Linux only)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *command] if setpriv else command


async def start_embedded_broker(
    processes: Processes, data: Path, *, port: int = 0, wait_s: float = 20.0
) -> tuple[Child, str]:
    """Start the embedded broker on `data` and return it with its `host:port`.

    Raises:
        ChildEnded: it did not come up; the text is its own last line.
    """
    port_file = data.parent / f"{data.name}.port"
    port_file.unlink(missing_ok=True)
    child = await processes.start(
        "broker",
        ["-m", "strabo_broker", "--data-dir", str(data), "--port", str(port), "--port-file", str(port_file)],
    )
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    while loop.time() < deadline:
        if child.code is not None:
            raise ChildEnded(
                child.log_tail(1).removeprefix("strabo_broker: ")
                or f"the embedded broker ended with {child.code}"
            )
        with contextlib.suppress(OSError, ValueError):
            return child, f"127.0.0.1:{int(port_file.read_text(encoding='utf-8'))}"
        await asyncio.sleep(0.02)
    raise ChildEnded(f"the embedded broker did not answer within {wait_s:.0f} s; its log is {child.log}")
