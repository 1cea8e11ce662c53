"""`strabo run`: the long-running parts of the runtime, one process each."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from strabo_runtime.cli.options import Bootstrap, Namespace

app = typer.Typer(
    help="Run a part of the runtime until it is told to stop (SIGTERM, Ctrl-C).", no_args_is_help=True
)


@app.callback()
def parts() -> None:
    """Run a part of the runtime until it is told to stop (SIGTERM, Ctrl-C)."""


@app.command()
def worker(
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
    worker_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="A name that stays over restarts (static membership); STRABO_WORKER_ID, else host and process.",
        ),
    ] = None,
) -> None:
    """Take inputs of instances from the inbox and carry out their steps. Add workers to scale."""
    from strabo_runtime.telemetry import logs
    from strabo_runtime.worker import Worker, WorkerSettings, collector

    overrides: dict[str, str] = {}
    if namespace is not None:
        overrides["namespace"] = namespace
    if bootstrap is not None:
        overrides["kafka_bootstrap_servers"] = bootstrap
    if worker_id is not None:
        overrides["worker_id"] = worker_id
    logs.configure()
    collector.settle()
    asyncio.run(Worker(WorkerSettings.load(**overrides)).run())
