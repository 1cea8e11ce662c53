"""Kafka clients configured the one way Strabo uses them; none of them is started here.

Every producer is idempotent with `acks=all`; every consumer is read_committed and commits nothing by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
)
from aiokafka.helpers import create_ssl_context
from aiokafka.producer import sender

from strabo_topics.errors import BrokerRefused, BrokerUnreachable, SettingsError, TopicsError
from strabo_topics.settings import PREFIX, KafkaSettings

MAX_RECORD_BYTES = 4 * 1024 * 1024
"""The largest record that a topic takes; see `max.message.bytes` in layout.py."""

MAX_BATCH_BYTES = 512 * 1024
TRANSACTION_TIMEOUT_MS = 15_000
REQUEST_TIMEOUT_MS = 15_000

# With aiokafka's 100 ms a take-over waits 112 ms for the transaction that it ends, with 5 ms 15 ms; much
# less than this would flood the log while a broker is away.
RETRY_BACKOFF_MS = 20

# A transaction right after another often meets CONCURRENT_TRANSACTIONS, and aiokafka then sleeps 20 ms: one
# producer does 85 transactions a second so, 267 with 2 ms.
BETWEEN_TRANSACTIONS_S = 0.002

_NO_ANSWER = (KafkaConnectionError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError)

OffsetReset = Literal["earliest", "latest", "none"]
ClientT = TypeVar("ClientT", AIOKafkaConsumer, AIOKafkaProducer)


def producer(settings: KafkaSettings, **options: Any) -> AIOKafkaProducer:
    """An idempotent producer; `options` are aiokafka's and win over what is set here."""
    return AIOKafkaProducer(**{**_producer_options(settings), "enable_idempotence": True, **options})


def transactional_producer(
    settings: KafkaSettings, transactional_id: str, **options: Any
) -> AIOKafkaProducer:
    """A producer of transactions. Starting it fences every earlier producer of the same id."""
    sender.BACKOFF_OVERRIDE = BETWEEN_TRANSACTIONS_S
    return AIOKafkaProducer(
        **{
            **_producer_options(settings),
            "transactional_id": transactional_id,
            "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
            **options,
        }
    )


def consumer(
    settings: KafkaSettings,
    *topics: str,
    group: str | None = None,
    offset_reset: OffsetReset = "none",
    **options: Any,
) -> AIOKafkaConsumer:
    """A read_committed consumer without automatic commits.

    Without a reset policy a lost position is an error.
    """
    return AIOKafkaConsumer(
        *topics,
        **{
            **_connection_options(settings),
            "group_id": group,
            "isolation_level": "read_committed",
            "enable_auto_commit": False,
            "auto_offset_reset": offset_reset,
            "max_partition_fetch_bytes": MAX_RECORD_BYTES,
            **options,
        },
    )


@contextlib.asynccontextmanager
async def admin_client(settings: KafkaSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    """A started admin client, closed afterwards; a broker that is or goes away is `BrokerUnreachable`."""
    client = AIOKafkaAdminClient(**_connection_options(settings))
    try:
        with _without_client_logs():
            await client.start()
        yield client
    except (KafkaError, OSError, TimeoutError) as error:
        raise _translated(settings, error) from error
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def started(settings: KafkaSettings, client: ClientT) -> AsyncIterator[ClientT]:
    """A consumer or producer that is started, and stopped afterwards, for short work; errors as `admin_client`."""
    try:
        with _without_client_logs():
            await client.start()
        yield client
    except (KafkaError, OSError, TimeoutError) as error:
        raise _translated(settings, error) from error
    finally:
        await client.stop()


@contextlib.contextmanager
def own_cancellations() -> Iterator[None]:
    """Only a cancellation of the running task gets out of the body.

    aiokafka lets those of its own tasks out when a connection is lost; they become a `KafkaConnectionError`, which may
    be met by trying again.
    """
    try:
        yield
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise KafkaConnectionError("the client gave up") from error


async def wait_for_broker(settings: KafkaSettings, timeout: float = 10.0) -> None:
    """Return once a broker answers; raises `BrokerUnreachable`, in one line, when none does within
    `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        reason = await _probe(settings, max(0.1, deadline - time.monotonic()))
        if reason is None:
            return
        if time.monotonic() + 0.1 >= deadline:
            raise _unreachable(settings, reason)
        await asyncio.sleep(0.1)


async def _probe(settings: KafkaSettings, timeout: float) -> str | None:
    """Why no broker answers, or None when one does."""
    reason = "no address"
    for host, port in settings.addresses:
        try:
            async with asyncio.timeout(timeout):
                _reader, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            reason = reason_of(error)
            continue
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        client = AIOKafkaClient(**_connection_options(settings))
        try:
            with _without_client_logs():
                async with asyncio.timeout(timeout):
                    await client.bootstrap()
            return None
        except (KafkaError, OSError, TimeoutError):
            reason = "something listens there and does not answer as a Kafka broker"
        finally:
            await client.close()
    return reason


def _connection_options(settings: KafkaSettings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap_servers,
        "client_id": "strabo",
        "request_timeout_ms": REQUEST_TIMEOUT_MS,
        "retry_backoff_ms": RETRY_BACKOFF_MS,
        "security_protocol": settings.kafka_security_protocol,
    }
    if settings.kafka_security_protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(settings)
    if settings.kafka_security_protocol.startswith("SASL"):
        assert settings.kafka_sasl_password is not None
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism
        options["sasl_plain_username"] = settings.kafka_sasl_username
        options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return options


def _ssl_context(settings: KafkaSettings) -> ssl.SSLContext:
    try:
        context: ssl.SSLContext = create_ssl_context(cafile=settings.kafka_ssl_ca_file)
    except OSError as error:
        raise SettingsError(
            [f"{PREFIX}KAFKA_SSL_CA_FILE={settings.kafka_ssl_ca_file}: it cannot be used: {reason_of(error)}"]
        ) from None
    return context


def _producer_options(settings: KafkaSettings) -> dict[str, Any]:
    compression = None if settings.kafka_compression == "none" else settings.kafka_compression
    return {
        **_connection_options(settings),
        "acks": "all",
        "compression_type": compression,
        "linger_ms": 0,
        "max_batch_size": MAX_BATCH_BYTES,
        "max_request_size": MAX_RECORD_BYTES,
    }


def _translated(settings: KafkaSettings, error: Exception) -> TopicsError:
    if isinstance(error, KafkaError) and not isinstance(error, _NO_ANSWER):
        return BrokerRefused(f"the broker at {settings.kafka_bootstrap_servers} says: {reason_of(error)}")
    return _unreachable(settings, reason_of(error))


def _unreachable(settings: KafkaSettings, reason: str) -> BrokerUnreachable:
    return BrokerUnreachable(
        f"no Kafka broker answers at {settings.kafka_bootstrap_servers} ({reason}): "
        f"start one with `strabo dev`, or set {PREFIX}KAFKA_BOOTSTRAP_SERVERS"
    )


def reason_of(error: BaseException) -> str:
    """Why a call to Kafka failed, in words for a person; aiokafka's own show Python's insides."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, KafkaConnectionError) and "bootstrap" in str(error):
        return "no connection"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text)


@contextlib.contextmanager
def _without_client_logs() -> Iterator[None]:
    # aiokafka logs each failed attempt as an error, and ours is the one line that a user should see.
    logger = logging.getLogger("aiokafka")
    logger.addFilter(_refuse)
    names = [name for name in logging.root.manager.loggerDict if name.startswith("aiokafka.")]
    children = [logging.getLogger(name) for name in names]
    for child in children:
        child.addFilter(_refuse)
    try:
        yield
    finally:
        for one in (logger, *children):
            one.removeFilter(_refuse)


def _refuse(_record: logging.LogRecord) -> bool:
    return False
