"""`strabo dev`: an embedded broker and a worker on this machine, to develop agents and protocols against."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import UNREACHABLE, fail

if TYPE_CHECKING:
    from strabo_runtime.processes import Child, Processes

DEFAULT_PORT = 9092
EMBEDDED_PARTITIONS = 4
_MARK = ".strabo-data"
_RESTART_AFTER_S = 1.0


def dev(
    data_dir: Annotated[
        Path,
        typer.Option(
            "--data-dir",
            envvar="STRABO_DATA_DIR",
            help="Where the broker keeps its log; topics and instances outlive a restart.",
        ),
    ] = Path(".strabo"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where the broker listens on 127.0.0.1 (0: any free port).")
    ] = DEFAULT_PORT,
    reset: Annotated[
        bool, typer.Option("--reset", help="Forget everything in the data folder first.")
    ] = False,
) -> None:
    """Run the embedded broker and one worker until Ctrl-C. For development: one node, no replication."""
    with _prepared(data_dir, reset):
        asyncio.run(_dev(data_dir, port))


@contextlib.contextmanager
def _prepared(data_dir: Path, reset: bool) -> Iterator[None]:
    """Make the data folder and hold it: no other `strabo dev` may use it meanwhile, let alone reset it.

    It is marked as ours, so that `--reset` removes nothing that `strabo dev` did not make.
    """
    mark = data_dir / _MARK
    with contextlib.ExitStack() as held:
        try:
            if reset and data_dir.exists() and not mark.exists() and any(data_dir.iterdir()):
                fail(
                    f"{data_dir} was not made by `strabo dev`, so --reset leaves it alone; remove it yourself"
                )
            data_dir.mkdir(parents=True, exist_ok=True)
            lock = held.enter_context(mark.open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if reset:
                _empty(data_dir, but=mark)
        except BlockingIOError:
            fail(
                f"the data folder {data_dir} is used by another `strabo dev`; stop it, or choose another folder"
            )
        except OSError as error:
            fail(
                f"the data folder {data_dir} cannot be used: {error.strerror}; "
                "choose another with --data-dir or STRABO_DATA_DIR"
            )
        yield


def _empty(folder: Path, but: Path) -> None:
    for entry in folder.iterdir():
        if entry == but:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


async def _dev(data_dir: Path, port: int) -> None:
    from strabo_runtime.processes import ChildEnded, Processes, start_embedded_broker
    from strabo_topics.admin import ensure
    from strabo_topics.settings import KafkaSettings

    partitions = KafkaSettings.load().partitions or EMBEDDED_PARTITIONS
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Processes(data_dir) as processes:
        try:
            broker, bootstrap = await start_embedded_broker(processes, data_dir / "broker", port=port)
        except ChildEnded as error:
            fail(str(error))
        settings = KafkaSettings.load(kafka_bootstrap_servers=bootstrap, partitions=partitions)
        await ensure(settings)
        environment = {"STRABO_KAFKA_BOOTSTRAP_SERVERS": bootstrap, "STRABO_PARTITIONS": str(partitions)}
        keeper = asyncio.create_task(_keep_worker(processes, environment))
        typer.echo(f"broker   {bootstrap}  (embedded: for development, one node)")
        typer.echo(f"data     {data_dir.resolve()}  (forget it with: strabo dev --reset)")
        typer.echo(f"logs     {data_dir / 'broker.log'}, {data_dir / 'worker.log'}")
        if port != DEFAULT_PORT:
            typer.echo(f"in another terminal: export STRABO_KAFKA_BOOTSTRAP_SERVERS={bootstrap}")
        typer.echo("next     strabo protocols publish FILE; stop with Ctrl-C")
        sys.stdout.flush()
        stopped = asyncio.create_task(stop.wait())
        ended = asyncio.create_task(broker.wait())
        await asyncio.wait({stopped, ended}, return_when=asyncio.FIRST_COMPLETED)
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
        if not stop.is_set():
            fail(f"the embedded broker ended with {broker.code}; its log is {broker.log}", UNREACHABLE)
        ended.cancel()


async def _keep_worker(processes: Processes, environment: dict[str, str]) -> None:
    """Keep one worker running, as a supervisor does in production."""
    while True:
        worker: Child = await processes.start(
            "worker", ["-m", "strabo_runtime.cli.main", "run", "worker", "--id", "dev"], environment
        )
        code = await worker.wait()
        typer.echo(f"the worker ended with {code}, starting it again; its log is {worker.log}", err=True)
        await asyncio.sleep(_RESTART_AFTER_S)
