"""The broker as a whole: it opens the log, listens, runs what is due, and stops."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import uuid
from typing import Final

from strabo_broker.api.admin import AdminApi
from strabo_broker.api.call import Answers, Endpoint, now_ms
from strabo_broker.api.cluster import ClusterApi
from strabo_broker.api.groups import GroupsApi
from strabo_broker.api.offsets import OffsetsApi
from strabo_broker.api.records import RecordsApi
from strabo_broker.api.transactions import TransactionsApi
from strabo_broker.cache import TailCache
from strabo_broker.connection import Connection
from strabo_broker.data_dir import DataDir
from strabo_broker.errors import AddressUnavailable, DataDirUnreadable, NotLoopback, PortInUse, StorageFailed
from strabo_broker.maintenance import Maintenance
from strabo_broker.offsets import Offsets
from strabo_broker.settings import BrokerSettings
from strabo_broker.store import Store
from strabo_broker.topics import Topics
from strabo_broker.transactions import Transactions

log: Final = logging.getLogger("strabo_broker")

NODE_ID: Final = 1
_CLUSTER_ID: Final = "cluster_id"
_TICK_SECONDS: Final = 0.05
_BACKLOG: Final = 256
_CLOSING_SECONDS: Final = 1.0


class Broker:
    """A single-node broker that speaks Kafka's protocol and keeps its log in SQLite. For development.

    Start and stop it on one event loop. `wait_failed` tells of a log that can no longer be written; the broker has then
    closed every connection, and is to be stopped.
    """

    def __init__(self, settings: BrokerSettings) -> None:
        self.settings = settings
        self.connections: set[Connection] = set()
        self.answers: Answers = {}
        self.maximum_request_bytes = settings.maximum_request_bytes
        self.maximum_connections = settings.maximum_connections
        self.store: Store
        self._maintenance: Maintenance
        self._groups: GroupsApi
        self._transactions: Transactions
        self._data_dir: DataDir | None = None
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: asyncio.Future[None] | None = None
        self._address = ("", 0)

    @property
    def bootstrap(self) -> str:
        """Where clients connect, as host:port."""
        host, port = self._address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def start(self) -> None:
        """Open the log and listen. Raises a StartError whose text is one line."""
        listener = self._listen()
        try:
            self._data_dir = DataDir(self.settings.data_dir)
            self._open(listener)
        except BaseException as error:
            listener.close()
            self._release()
            if isinstance(error, StorageFailed):
                raise DataDirUnreadable(f"the log in {self.settings.data_dir} is damaged: {error}") from None
            raise
        loop = asyncio.get_running_loop()
        self._failed = loop.create_future()
        self._server = await loop.create_server(lambda: Connection(self), sock=listener, backlog=_BACKLOG)
        self._tasks = [loop.create_task(self._tick()), loop.create_task(self._maintain())]

    def _listen(self) -> socket.socket:
        settings = self.settings
        if not settings.allow_remote and not _is_loopback(settings.host):
            raise NotLoopback(
                f"will not listen at {settings.host}: others on the network could then read and write everything;"
                " use 127.0.0.1, or allow remote clients (allow_remote, --allow-remote)"
            )
        try:
            family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
        except OSError as error:
            place = f"{settings.host}:{settings.port}"
            if error.errno == errno.EADDRINUSE:
                raise PortInUse(
                    f"{place} is in use by another process; choose another port, or 0 for any"
                ) from None
            raise AddressUnavailable(f"cannot listen at {place}: {error.strerror or error}") from None
        listener.setblocking(False)
        return listener

    def _open(self, listener: socket.socket) -> None:
        settings, data_dir = self.settings, self._data_dir
        assert data_dir is not None
        synchronous = "full" if settings.durability == "machine" else "normal"
        # What is in a temporary folder has no reader after a power failure.
        self.store = store = Store(data_dir.path, synchronous="off" if data_dir.is_temporary else synchronous)
        topics = Topics(store, TailCache(settings.cache_bytes))
        topics.restore()
        offsets = Offsets(store)
        self._transactions = Transactions(store, topics, offsets, settings.maximum_transaction_timeout_ms)
        self._transactions.restore()
        self._groups = GroupsApi(settings, store, offsets)
        self._groups.restore()
        self._address = (settings.advertised_host or _reachable(settings.host), listener.getsockname()[1])
        cluster_id = store.value(_CLUSTER_ID)
        if cluster_id is None:
            cluster_id = uuid.uuid4().hex
            store.set_value(_CLUSTER_ID, cluster_id)
        endpoint = Endpoint(NODE_ID, *self._address, cluster_id)
        self._maintenance = Maintenance(settings, store, topics, self._transactions, self._groups, offsets)
        apis = (
            ClusterApi(topics, endpoint),
            RecordsApi(topics, self._transactions),
            self._groups,
            OffsetsApi(topics, self._groups, offsets, self._transactions, settings.offset_metadata_bytes),
            TransactionsApi(topics, self._transactions),
            AdminApi(topics, NODE_ID, settings.default_partitions, settings.maximum_request_bytes),
        )
        self.answers = {key: answer for api in apis for key, answer in api.answers().items()}

    async def stop(self) -> None:
        """Close every connection and the log. A broker that was not started, or is stopped, is left as it is."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if self._server is not None:
            self._server.close()
            self._groups.close()
            for connection in list(self.connections):
                connection.close()
            closing = [each.gone for each in self.connections]
            if closing:
                await asyncio.wait(closing, timeout=_CLOSING_SECONDS)
            for connection in list(self.connections):  # a client that does not read its last answer
                connection.abort()
            await asyncio.sleep(0)
            self._server = None
            self.store.close()
        if self._failed is not None and self._failed.done():
            self._failed.exception()  # told in the log, whether anyone waits for it or not
        self._release()

    def _release(self) -> None:
        if self._data_dir is not None:
            self._data_dir.release()
            self._data_dir = None

    def fail(self, failure: StorageFailed) -> None:
        """Close every connection: what is in memory may be ahead of the log, and must not be told."""
        if self._failed is None or self._failed.done():
            return
        log.error("%s; the broker stops", failure)
        self._failed.set_exception(failure)
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.close()

    async def wait_failed(self) -> None:
        """Return never; raise StorageFailed once the log can no longer be written."""
        assert self._failed is not None
        await asyncio.shield(self._failed)

    async def run_maintenance(self) -> None:
        """Run retention and compaction now, over everything that may be cleaned (the dirty ratio is not waited for)."""
        await self._maintenance.run(at_once=True)

    async def _tick(self) -> None:
        """Notice what is due in groups and transactions, and close connections that nobody uses."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            try:
                self._groups.tick()
                for transactional_id in self._transactions.abort_overdue(now_ms()):
                    log.info("aborted the transaction of %s: its time is over", transactional_id)
                await self.store.settled()
            except StorageFailed as failure:
                self.fail(failure)
                return
            except (
                Exception
            ):  # a fault of ours in one group must not keep what is due from all others for ever
                log.exception("looking for what is due failed")
            idle_since = loop.time() - self.settings.connection_idle_ms / 1000
            for connection in [each for each in self.connections if each.is_idle(idle_since)]:
                connection.close()

    async def _maintain(self) -> None:
        while True:
            await asyncio.sleep(self.settings.maintenance_interval_ms / 1000)
            try:
                await self._maintenance.run()
            except StorageFailed as failure:
                self.fail(failure)
                return
            except Exception:  # a fault of ours in one pass must not end those that follow
                log.exception("retention or compaction failed")


def _reachable(host: str) -> str:
    """What clients may be told for `host`: nobody can connect to an address that stands for all of a machine's."""
    try:
        return socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
    except ValueError:
        return host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = {each[4][0] for each in socket.getaddrinfo(host, None)}
    except OSError:
        return True  # an unknown name listens nowhere; listening says so
    return all(ipaddress.ip_address(each).is_loopback for each in found)
