"""`strabo demo`: the task auction on this machine, live."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from strabo_runtime.cli.failures import FINDING


def demo(
    instances: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000,
            help="How many auctions to run at once; more than one prints rates and latencies.",
        ),
    ] = 1,
    kill_worker: Annotated[
        bool, typer.Option("--kill-worker", help="Kill the worker with SIGKILL between two bids.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep broker, worker and agents up until Ctrl-C.")
    ] = False,
) -> None:
    """Run the task auction: an embedded broker, a worker, a client and three solvers as separate processes.

    With STRABO_KAFKA_BOOTSTRAP_SERVERS it runs on that Apache Kafka, in a namespace of its own that it removes again.
    Exit 0: every auction ended as it should and replays to the same result; 1: something went wrong.
    """
    from strabo_runtime.demo.run import Demo

    if not asyncio.run(Demo(instances=instances, kill_worker=kill_worker, keep=keep, say=typer.echo).run()):
        raise typer.Exit(FINDING)
