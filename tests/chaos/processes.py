"""Worker processes of chaos tests, and waiting until they have nothing left to do."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from strabo_avro.codec import decode
from strabo_avro.records import POSITION_KEY, Position
from strabo_topics.settings import KafkaSettings
from tests.chaos.records import read_all
from tests.support.child_process import ChildProcess

ROOT = Path(__file__).parents[2]


def start_worker(
    settings: KafkaSettings,
    log: Path,
    worker_id: str | None = "worker",
    *,
    crash_point: str | None = None,
    **environment: str,
) -> ChildProcess:
    """Start one; with an id it is a static member of the group."""
    values = {
        "STRABO_KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers,
        "STRABO_NAMESPACE": settings.namespace,
        "STRABO_WORKER_SESSION_TIMEOUT": "6s",
        "STRABO_TEST_REFRESH_S": "0.4",
        **environment,
    }
    if worker_id is not None:
        values["STRABO_WORKER_ID"] = worker_id
    if crash_point is not None:
        values["STRABO_CRASH_POINT"] = crash_point
    command = [sys.executable, "-m", "tests.chaos.run_worker"]
    return ChildProcess(command, log, environment=values, folder=ROOT)


async def ended(process: ChildProcess, timeout: float) -> int | None:
    """The exit code, or None when it still runs after `timeout` seconds."""
    try:
        return await asyncio.to_thread(process.wait, timeout)
    except subprocess.TimeoutExpired:
        return None


async def until(condition: Callable[[], Awaitable[bool]], timeout: float, what: str) -> None:
    """Wait for something to become true; raises AssertionError."""
    deadline = time.monotonic() + timeout
    while not await condition():
        assert time.monotonic() < deadline, f"after {timeout:g} s still not: {what}"
        await asyncio.sleep(0.2)


async def inbox_is_taken(settings: KafkaSettings) -> bool:
    """Whether the committed positions stand at the end of every inbox partition."""
    positions = {
        record.partition: decode(record.value, Position).position
        for record in await read_all(settings, settings.names.state)
        if record.key == POSITION_KEY
    }
    inbox = await read_all(settings, settings.names.inbox)
    return all(record.offset < positions.get(record.partition, 0) for record in inbox)


async def killed_at(settings: KafkaSettings, folder: Path, crash_point: str) -> None:
    """Run a worker until it has killed itself at a crash point, which is `name` or `name:n`."""
    worker = start_worker(
        settings, folder / f"worker-{crash_point.replace(':', '-')}.log", crash_point=crash_point
    )
    try:
        if crash_point.startswith("release."):
            await until(lambda: _has_taken_over(worker.log), 20, f"taken over\n{worker.log_tail()}")
            worker.terminate(patience_s=10)
        code = await ended(worker, 20)
        assert code == -signal.SIGKILL, f"{crash_point} was not reached:\n{worker.log_tail()}"
    finally:
        worker.kill()


async def _has_taken_over(log: Path) -> bool:
    return "took over" in log.read_text()
