"""A worker process that ends itself with SIGKILL at a crash point: `STRABO_CRASH_POINT=name[:n]`, at the n-th time."""

from __future__ import annotations

import asyncio
import os
import signal

from strabo_runtime.telemetry import logs
from strabo_runtime.worker import Worker, WorkerSettings, collector, term
from strabo_runtime.worker.kafka import CRASH_POINTS, Reached, pass_by


def crash_at(setting: str) -> Reached:
    """The hook for a setting as above. Raises ValueError for a point that there is not."""
    name, _, times = setting.partition(":")
    if name not in CRASH_POINTS:
        raise ValueError(f"there is no crash point {name}; there are {', '.join(CRASH_POINTS)}")
    left = int(times or "1")

    def reached(point: str) -> None:
        nonlocal left
        if point == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reached


def main() -> None:
    """Run until SIGTERM or the crash point."""
    logs.configure()
    collector.settle()
    # Refreshing is for quiet hours; here it is to come by within the test.
    term.REFRESH_S = float(os.environ.get("STRABO_TEST_REFRESH_S", term.REFRESH_S))
    setting = os.environ.get("STRABO_CRASH_POINT")
    reached = crash_at(setting) if setting else pass_by
    asyncio.run(Worker(WorkerSettings.load(), reached=reached).run())


if __name__ == "__main__":
    main()
