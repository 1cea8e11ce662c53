"""A client of bare requests, made of the broker's own message types read the other way round."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from strabo_broker.wire.apis import API_VERSIONS, APIS
from strabo_broker.wire.schema import Reader, decoder, encoder


class WireClient:
    """One connection; `ask` sends a request and reads its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation = 0

    @staticmethod
    async def connect(bootstrap: str) -> WireClient:
        host, _, port = bootstrap.rpartition(":")
        return WireClient(*await asyncio.open_connection(host, int(port)))

    async def ask(self, body: Any, version: int | None = None) -> Any:
        """The answer to a request, by default in the newest version offered."""
        self.send(frame_of(body, version, correlation_id=self._correlation + 1))
        return await self.receive(type(body), version)

    async def receive(self, request: type, version: int | None = None) -> Any:
        """The answer to a request of this type that was sent before."""
        self._correlation += 1
        api = next(each for each in APIS.values() if each.request is request)
        version = api.newest if version is None else version
        reader = Reader(await self.receive_frame())
        (correlation,) = reader.unpack(struct.Struct(">i"))
        assert correlation == self._correlation
        if api.is_flexible(version) and api is not API_VERSIONS:
            reader.skip_tagged_fields()
        answer = decoder(api.response, version, api.is_flexible(version))(reader)
        assert reader.position == reader.end
        return answer

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def receive_frame(self) -> bytes:
        (length,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(length)

    async def is_closed(self) -> bool:
        """Whether the broker ends the connection, now or once it has answered what it was asked."""
        try:
            while await self._reader.read(65_536):
                pass
        except ConnectionError:
            pass
        return True

    async def close(self) -> None:
        self._writer.close()


def frame_of(body: Any, version: int | None = None, *, correlation_id: int = 1) -> bytes:
    """A framed request, by default in the newest version offered."""
    api = next(each for each in APIS.values() if each.request is type(body))
    version = api.newest if version is None else version
    flexible = api.is_flexible(version)
    parts = [struct.pack(">hhih", api.key, version, correlation_id, 4), b"test", b"\x00" if flexible else b""]
    encoder(api.request, version, flexible)(parts, body)
    frame = b"".join(parts)
    return struct.pack(">i", len(frame)) + frame
