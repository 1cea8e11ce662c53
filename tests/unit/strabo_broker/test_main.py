"""The broker as a process: what it says, its exit codes, and what survives its being killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from strabo_broker.wire import admin, records
from tests.unit.strabo_broker.building import batch
from tests.unit.strabo_broker.wire_client import WireClient

pytestmark = pytest.mark.slow

MODULE = [sys.executable, "-m", "strabo_broker"]


def failing(*arguments: str) -> tuple[int, str]:
    """Exit code and error output of a broker that cannot start."""
    ended = subprocess.run([*MODULE, *arguments], capture_output=True, text=True, timeout=20, check=False)
    return ended.returncode, ended.stderr


@contextlib.asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A broker process and the line that it says."""
    process = await asyncio.create_subprocess_exec(
        *MODULE, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_says_that_it_is_for_development_and_ends_when_told_to(tmp_path: Path, number: int) -> None:
    port_file = tmp_path / "port"
    async with running("--data-dir", str(tmp_path / "log"), "--port-file", str(port_file)) as (process, line):
        assert line.startswith("development broker listening at 127.0.0.1:")
        assert port_file.read_text().strip() in line
        process.send_signal(number)
        _, stderr = await process.communicate()
        assert process.returncode == 0
        assert b"Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "will not listen"),
        (["--port", "many"], "not a port"),
        (["--port", "65536"], "not a port"),
        (["--data-dir", "/proc/nowhere"], "cannot be used"),
        (["--data-dir", "/dev/null"], "cannot be used"),
        (["--maintenance-interval-ms", "0"], "no interval"),
        (["--frobnicate"], "unrecognized"),
    ],
)
def test_bad_use_is_told_in_one_line_with_exit_code_2(arguments: list[str], message: str) -> None:
    code, stderr = failing(*arguments)
    assert code == 2
    assert message in stderr.strip().splitlines()[-1]
    assert "Traceback" not in stderr


def test_a_port_in_use_is_told_in_one_line_with_exit_code_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, stderr = failing("--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "in use" in stderr and len(stderr.strip().splitlines()) == 1


def test_a_port_file_that_cannot_be_written_is_told_and_nothing_stays_behind() -> None:
    code, stderr = failing("--port-file", "/proc/nowhere/port")
    assert code == 2
    assert "port file" in stderr and "Traceback" not in stderr


async def test_what_was_acknowledged_survives_a_kill_under_load(tmp_path: Path) -> None:
    topic = admin.CreatableTopic("t", 4, 1)
    acknowledged: dict[int, list[bytes]] = {number: [] for number in range(4)}

    async def write(bootstrap: str, number: int) -> None:
        client = await WireClient.connect(bootstrap)
        for sequence in range(100_000):
            value = b"%d-%d" % (number, sequence)
            produced = records.ProducePartition(number, batch((None, value)))
            await client.ask(
                records.ProduceRequest(None, -1, 1_000, (records.ProduceTopic("t", (produced,)),))
            )
            acknowledged[number].append(value)

    async with running("--data-dir", str(tmp_path)) as (process, line):
        bootstrap = line.split(" at ")[1].split(",")[0]
        client = await WireClient.connect(bootstrap)
        await client.ask(admin.CreateTopicsRequest((topic,), 1_000))
        writers = [asyncio.create_task(write(bootstrap, number)) for number in acknowledged]
        while min(map(len, acknowledged.values())) < 200:
            await asyncio.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        results = await asyncio.gather(*writers, return_exceptions=True)
        assert all(isinstance(each, (ConnectionError, asyncio.IncompleteReadError)) for each in results)

    async with running("--data-dir", str(tmp_path)) as (_, line):
        client = await WireClient.connect(line.split(" at ")[1].split(",")[0])
        for number, values in acknowledged.items():
            assert await all_values(client, number, len(values)) == values


async def all_values(client: WireClient, number: int, count: int) -> list[bytes]:
    """The first `count` values of a partition, one record a batch."""
    found: list[bytes] = []
    while len(found) < count:
        partition = records.FetchPartition(number, fetch_offset=len(found), maximum_bytes=1 << 20)
        answer = await client.ask(records.FetchRequest(topics=(records.FetchTopic("t", (partition,)),)))
        (data,) = (each.records for each in answer.topics[0].partitions)
        position = 0
        while position < len(data):
            length = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
            record = data[position + 61 : position + length]
            found.append(record[6:-1])
            position += length
    return found[:count]
