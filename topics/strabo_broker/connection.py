"""One client's connection: frames in, requests answered one after the other, frames out.

As in Apache Kafka, a connection's requests are answered in order, the next being looked at once the one before is
answered. Whatever is wrong with a connection's bytes ends that connection, and nothing else. What a client sent before
it went is still carried out (a producer that wants no acknowledgements may go at once), unless it would wait.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import deque
from typing import Final, Protocol

from strabo_broker.api.call import Answers, Call
from strabo_broker.errors import MalformedRequest, StorageFailed
from strabo_broker.store import Store
from strabo_broker.wire.apis import read_request, write_response

log: Final = logging.getLogger("strabo_broker")

_LENGTH: Final = struct.Struct(">i")
_WAITING_FRAMES: Final = 64
_WAITING_BYTES: Final = 8 << 20
_MAY_WAIT: Final = frozenset({1, 11, 14})  # Fetch, JoinGroup, SyncGroup
_WRITE_HIGH_BYTES: Final = 4 << 20


class Host(Protocol):
    """What a connection needs of the broker."""

    answers: Answers
    store: Store
    maximum_request_bytes: int
    maximum_connections: int
    connections: set[Connection]

    def fail(self, failure: StorageFailed) -> None:
        """The log cannot be written any more."""


class Connection(asyncio.Protocol):
    """A client. Its requests wait in `_frames` until the one before them is answered."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._received = bytearray()
        self._frames: deque[bytes] = deque()
        self._arrived: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._peer = ""
        self._last_active = 0.0
        self._answering = False
        self._waits = False
        self._disconnected = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the connection has ended, and what it asked for is carried out."""

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername") or ("unknown", 0)
        self._peer = str(peer[0])
        if len(self._host.connections) >= self._host.maximum_connections:
            log.warning(
                "refused a connection from %s: there are %d already", self._peer, len(self._host.connections)
            )
            transport.abort()
            return
        transport.set_write_buffer_limits(high=_WRITE_HIGH_BYTES)
        loop = asyncio.get_running_loop()
        self._last_active = loop.time()
        self._host.connections.add(self)
        self._task = loop.create_task(self._serve(transport))
        self._task.add_done_callback(self._end_if_over)

    def connection_lost(self, _: Exception | None) -> None:
        self._disconnected = True
        self.resume_writing()
        if self._task is not None and (self._waits or not self._frames):
            self._task.cancel()
        self._end_if_over()

    def _end_if_over(self, _: object = None) -> None:
        if self._disconnected and (self._task is None or self._task.done()) and not self.gone.done():
            self._host.connections.discard(self)
            self.gone.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._last_active = asyncio.get_running_loop().time()
        received = self._received
        received += data
        position = 0
        while len(received) - position >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received, position)
            if not 0 <= length <= self._host.maximum_request_bytes:
                self._end(f"a request of {length} bytes; the most is {self._host.maximum_request_bytes}")
                return
            start = position + _LENGTH.size
            if len(received) - start < length:
                break
            position = start + length
            self._frames.append(bytes(memoryview(received)[start:position]))
        if not position:
            return
        del received[:position]
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)
        waiting = sum(map(len, self._frames))
        if (len(self._frames) > _WAITING_FRAMES or waiting > _WAITING_BYTES) and self._transport is not None:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    # Answering.

    async def _serve(self, transport: asyncio.Transport) -> None:
        try:
            while True:
                while not self._frames:
                    if transport.is_closing():
                        return
                    transport.resume_reading()
                    self._arrived = asyncio.get_running_loop().create_future()
                    await self._arrived
                self._answering = True
                await self._answer(self._frames.popleft(), transport)
                self._answering = False
                self._last_active = asyncio.get_running_loop().time()
                if self._drained is not None:
                    await self._drained
        except MalformedRequest as error:
            self._end(str(error))
        except StorageFailed as failure:
            self._host.fail(failure)
        except Exception:  # a fault of ours: this client has to ask again, the others go on
            log.exception("a request from %s could not be answered", self._peer)
            transport.abort()

    async def _answer(self, frame: bytes, transport: asyncio.Transport) -> None:
        request = read_request(frame)
        self._waits = request.api.key in _MAY_WAIT
        if self._waits and self._disconnected:
            return
        answer = self._host.answers[request.api.key]
        body = await answer(request.body, Call(request.version, request.client_id, f"/{self._peer}"))
        # No answer leaves before what it tells is in the log, whoever wrote it.
        await self._host.store.settled()
        self._waits = False
        if body is not None and not transport.is_closing():
            # A client that asked in a version we do not know is answered in the first.
            version = request.version if request.body is not None else 0
            transport.write(write_response(request.api, version, request.correlation_id, body))

    def _end(self, why: str) -> None:
        log.warning("closed the connection from %s: %s", self._peer, why)
        if self._transport is not None:
            self._transport.abort()

    def is_idle(self, since: float) -> bool:
        """Whether nothing was asked since then, and nothing is being answered."""
        return not self._answering and self._last_active < since

    def close(self) -> None:
        """End the connection from the broker's side, once what was answered is sent."""
        if self._transport is not None:
            self._transport.close()
        if self._task is not None:
            self._task.cancel()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()
