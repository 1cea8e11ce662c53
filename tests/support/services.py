"""What tests ask of a broker, whichever broker it is and wherever it comes from."""

from __future__ import annotations

import os
import random
import socket
import struct
import time
from collections.abc import Callable
from typing import Protocol

READY_TIMEOUT_S = 60.0


class ServiceUnavailableError(Exception):
    """A service that tests need cannot be started here; the message says what to install or set."""


class BrokerService(Protocol):
    """A broker that belongs to the tests; after `restart` it has the same address and the same data."""

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients."""

    def kill(self) -> None:
        """End it as a crash does, with SIGKILL."""

    def restart(self) -> None:
        """Start it again, after `kill` or in good order; returns when it answers clients."""

    def pause(self) -> None:
        """Freeze it, with SIGSTOP: connections stay open and nothing is answered."""

    def resume(self) -> None:
        """Let a paused one go on."""

    def stop(self) -> None:
        """End it in good order and for good; nothing happens when that is done already."""


def running_in_ci() -> bool:
    """True where a missing service is a failure and no reason to skip."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


def free_port() -> int:
    """A port that nobody listens on, out of the range from which the system serves clients.

    A client that reconnects to a dead broker's port within that range may be given this very port as its own
    address: it then talks to itself, and the broker cannot come back.
    """
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def answers_metadata(host: str, port: int) -> bool:
    """True when a broker at this address answers a Metadata request and names at least one node."""
    request = struct.pack(">hhih", 3, 5, 7, -1) + struct.pack(">ib", 0, 0)
    try:
        with socket.create_connection((host, port), 0.5) as connection:
            connection.settimeout(2)
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                _correlation, _throttle, nodes = struct.unpack(">iii", stream.read(size)[:12])
                return bool(nodes >= 1)
    except (OSError, struct.error):
        return False


def wait_until_it_answers(address: str, still_runs: Callable[[], bool], log_tail: Callable[[], str]) -> None:
    """Wait for a started broker; raises `ServiceUnavailableError`, with the end of its log, when it fails."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not answers_metadata(host, int(port)):
        if not still_runs():
            raise ServiceUnavailableError(f"the broker at {address} ended while starting:\n{log_tail()}")
        if time.monotonic() > deadline:
            raise ServiceUnavailableError(f"the broker at {address} gave no answer:\n{log_tail()}")
        time.sleep(0.03)
