"""`python -m strabo_broker`: run the embedded broker until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from strabo_broker.errors import BrokerError, DataDirUnwritable, StartError
from strabo_broker.server import Broker
from strabo_broker.settings import LOOPBACK, BrokerSettings

_FAILED = 1
_BAD_USE = 2


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
    return parser.parse_args(given)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else -1
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return port


async def _run(arguments: argparse.Namespace) -> None:
    broker = Broker(
        BrokerSettings(
            data_dir=arguments.data_dir,
            host=arguments.host,
            port=arguments.port,
            allow_remote=arguments.allow_remote,
            advertised_host=arguments.advertised_host,
            durability=arguments.durability,
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
    kept = arguments.data_dir or "a temporary folder"
    sys.stdout.write(f"development broker listening at {broker.bootstrap}, log in {kept}\n")
    sys.stdout.flush()
    if arguments.port_file is not None:
        try:
            arguments.port_file.write_text(f"{broker.bootstrap.rpartition(':')[2]}\n")
        except OSError as error:
            raise DataDirUnwritable(
                f"the port file {arguments.port_file} cannot be written: {error.strerror}"
            ) from None


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
