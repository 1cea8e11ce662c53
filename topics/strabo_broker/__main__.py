"""`python -m strabo_broker`: run the embedded broker until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from strabo_broker.errors import BrokerError, PortFileUnwritable, StartError
from strabo_broker.server import Broker
from strabo_broker.settings import LOOPBACK, BrokerSettings

_DEFAULTS = BrokerSettings()
_FAILED = 1
_BAD_USE = 2
_LONGEST_INTERVAL_MS = 86_400_000


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m strabo_broker",
        description="A single-node broker that speaks Kafka's protocol. For development: no encryption, no passwords.",
    )
    parser.add_argument(
        "--data-dir", type=Path, help="folder of the log (default: a temporary one, removed at the end)"
    )
    parser.add_argument("--host", default=LOOPBACK, help=f"address to listen at (default: {LOOPBACK})")
    parser.add_argument("--port", type=_port, default=0, help="port to listen at (default: any that is free)")
    parser.add_argument("--allow-remote", action="store_true", help="leave to listen beyond this machine")
    parser.add_argument(
        "--advertised-host", help="host that clients are told to connect to (default: --host)"
    )
    parser.add_argument("--port-file", type=Path, help="file to write the port to, once listening")
    parser.add_argument(
        "--durability",
        choices=("process", "machine"),
        default="process",
        help="what acknowledged records survive: the death of the process, or also a power failure (slower)",
    )
    parser.add_argument(
        "--maintenance-interval-ms",
        type=_interval,
        default=_DEFAULTS.maintenance_interval_ms,
        metavar="MS",
        help="how often retention and compaction run (default: %(default)s)",
    )
    return parser.parse_args(given)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else -1
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return port


def _interval(text: str) -> int:
    interval = int(text) if text.isdecimal() else 0
    if not 0 < interval <= _LONGEST_INTERVAL_MS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no interval: a number from 1 to {_LONGEST_INTERVAL_MS}"
        )
    return interval


async def _run(arguments: argparse.Namespace) -> None:
    broker = Broker(
        BrokerSettings(
            data_dir=arguments.data_dir,
            host=arguments.host,
            port=arguments.port,
            allow_remote=arguments.allow_remote,
            advertised_host=arguments.advertised_host,
            durability=arguments.durability,
            maintenance_interval_ms=arguments.maintenance_interval_ms,
        )
    )
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await broker.start()
    try:
        _announce(broker, arguments)
        waiting = [loop.create_task(stopped.wait()), loop.create_task(broker.wait_failed())]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        for task in done:
            task.result()
    finally:
        await broker.stop()


def _announce(broker: Broker, arguments: argparse.Namespace) -> None:
    if arguments.port_file is not None:
        _write_port(arguments.port_file, broker.bootstrap.rpartition(":")[2])
    kept = arguments.data_dir or "a temporary folder"
    sys.stdout.write(f"development broker listening at {broker.bootstrap}, log in {kept}\n")
    sys.stdout.flush()


def _write_port(path: Path, port: str) -> None:
    whole = path.with_name(f"{path.name}.new")
    try:
        whole.write_text(f"{port}\n")
        whole.replace(path)  # who waits for the file never sees half of it
    except OSError as error:
        raise PortFileUnwritable(f"the port file {path} cannot be written: {error.strerror}") from None


def main(given: Sequence[str] | None = None) -> int:
    """Run the broker; the exit code is 0 when it was told to stop, 2 when it could not start, 1 when it failed."""
    arguments = _arguments(given)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    try:
        asyncio.run(_run(arguments))
    except StartError as error:
        sys.stderr.write(f"strabo_broker: {error}\n")
        return _BAD_USE
    except BrokerError as error:
        sys.stderr.write(f"strabo_broker: {error}\n")
        return _FAILED
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
