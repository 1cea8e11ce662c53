"""A process that has imported what no mutant changes, and forks for each run of the tests: most of a run is imports.

It reads a run's limit in seconds and its arguments for pytest from each line of its input, as JSON, and answers each
with a line: pytest's exit code.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time

import pytest

# The rooms under test import expressions, which never import them (import-linter sees to that).
UNCHANGED = (
    "pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin", "hypothesis", "xdist.plugin",
    "ruamel.yaml", "orjson", "pydantic", "structlog", "typer", "aiokafka", "fastavro",
    "strabo_avro.codec", "strabo_topics", "strabo_broker", "strabo_agents", "strabo_runtime.expressions",
)  # fmt: skip
KILLED = 137


def main() -> None:
    """Answer until the input ends."""
    for name in UNCHANGED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        run = json.loads(line)
        print(_run(run["arguments"], run["limit"]), flush=True)


def _run(arguments: list[str], limit: float) -> int:
    child = os.fork()
    if child == 0:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        code = KILLED
        try:
            code = int(pytest.main(arguments))
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return KILLED


if __name__ == "__main__":
    main()
