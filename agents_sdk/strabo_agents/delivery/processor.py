"""Takes one record from claim to done: dedup, attempts with backoff, outbox and done-mark, dead letters.

claim ─▶ run the handler ─▶ finish: done-mark and outbox in one compare-and-set ─▶ produce ─▶ mark as sent
  │            │ fails for good: the outbox is a dead letter
  └ handled before: produce the same bytes again
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import structlog

from strabo_agents.backoff import Backoff, Sleep, until_it_works
from strabo_agents.delivery.attempt import Delivery, Surroundings, run_handler
from strabo_agents.delivery.breaker import Breaker
from strabo_agents.delivery.crash_points import Checkpoint, pass_by
from strabo_agents.delivery.keeper import LeaseKeeper
from strabo_agents.delivery.routing import Route, Routes
from strabo_agents.envelopes import describe
from strabo_agents.errors import AuthorError, LeaseLost, Permanent, Rejected, StoreUnavailable
from strabo_agents.messages import Incoming, Outgoing
from strabo_agents.stores.store import Handled, Held, Lease
from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable, UnknownSchema
from strabo_avro.records import Envelope

T = TypeVar("T")

HELD_PAUSE = 0.5
STORE_BACKOFF = Backoff(first=0.1, limit=5.0)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a handler is tried, and the waits between: doubling from `backoff` to `limit` seconds, with jitter.

    `timeout` bounds one attempt, in seconds.
    """

    attempts: int = 5
    backoff: float = 0.5
    limit: float = 30.0
    timeout: float | None = None


class Processor:
    """Handles an agent's records. Calls for one instance must come one after another."""

    def __init__(
        self,
        around: Surroundings,
        routes: Routes,
        *,
        retry: RetryPolicy,
        breaker: Breaker,
        keeper: LeaseKeeper,
        sleep: Sleep = asyncio.sleep,
        checkpoint: Checkpoint = pass_by,
    ) -> None:
        self._around = around
        self._routes = routes
        self._retry = retry
        self._breaker = breaker
        self._keeper = keeper
        self._sleep = sleep
        self._checkpoint = checkpoint
        self._unhandled: set[tuple[str, str]] = set()
        self.store_answers = True

    async def process(self, record: Incoming) -> None:
        """Return once nothing is left to do for the record: it was handled now or before, or is not this agent's.

        Raises:
            UnknownSchema: a newer version wrote it; this agent must be upgraded before it goes on.
        """
        try:
            envelope = decode(record.value, Envelope)
        except UnknownSchema:
            raise
        except Undecodable as error:
            await self._around.transport.produce([self._dead_letter(record, "", error)])
            return
        if envelope.to and self._around.agent_id not in envelope.to:
            return
        route = self._routes.find(record.topic, envelope)
        if route is None:
            self._note_unhandled(envelope)
        else:
            await self._deliver(record, envelope, route)

    async def send_unsent(self) -> int:
        """Produce what earlier runs had finished and may not have sent; returns of how many messages."""
        unsent = await self._available(self._around.store.unsent)
        for message_id, handled in unsent:
            await self._produce(message_id, handled.outbox)
        return len(unsent)

    async def _deliver(self, record: Incoming, envelope: Envelope, route: Route) -> None:
        store = self._around.store
        digest = hashlib.blake2b(record.value, digest_size=8).digest()
        while True:
            claim = await self._available(lambda: store.claim(envelope.id, digest))
            if isinstance(claim, Held):
                await self._sleep(min(claim.retry_after, HELD_PAUSE))
                continue
            if isinstance(claim, Handled):
                await self._produce(envelope.id, claim.outbox)
                return
            try:
                outbox = await self._handle_under(claim, record, envelope, route)
            except LeaseLost as error:
                _log.warning("a result is dropped", message_id=envelope.id, reason=str(error))
                continue
            await self._produce(envelope.id, outbox)
            return

    async def _handle_under(
        self, lease: Lease, record: Incoming, envelope: Envelope, route: Route
    ) -> tuple[Outgoing, ...]:
        """The outbox of the message, stored."""
        finished = False
        try:
            self._checkpoint("claimed")
            async with self._keeper.holding(lease):
                outbox = await self._answer_again(envelope)
                if outbox is None:
                    outbox = await self._outbox_of(Delivery(record, envelope, route, lease))
                self._checkpoint("handled")
                await self._available(lambda: self._around.store.finish(lease, outbox))
            finished = True
            self._checkpoint("stored")
            return outbox
        finally:
            if not finished:
                await self._around.store.release(lease)

    async def _answer_again(self, envelope: Envelope) -> tuple[Outgoing, ...] | None:
        """What a reminder is answered with: what the message that it repeats was answered with, if it was.

        A handler that sent nothing then, or failed, is given the reminder.
        """
        reminded = envelope.reminder_of
        if reminded is None:
            return None
        handled = await self._available(lambda: self._around.store.handled(reminded))
        sent = () if handled is None else handled.outbox
        return tuple(each for each in sent if each.topic == self._around.post.names.inbox) or None

    async def _outbox_of(self, delivery: Delivery) -> tuple[Outgoing, ...]:
        """What the handler sends, or, where it fails for good, the dead letter."""
        try:
            return await until_it_works(
                lambda: self._attempt(delivery),
                Backoff(self._retry.backoff, self._retry.limit, self._retry.attempts),
                may_pass=_may_pass,
                sleep=self._sleep,
                on_failure=lambda attempt, error: _note_retry(delivery, attempt, error),
            )
        except LeaseLost:
            raise
        except Exception as error:
            _log.error(
                "a message is dead-lettered",
                message_id=delivery.envelope.id,
                type=delivery.envelope.type,
                instance_id=delivery.envelope.instance_id,
                handler=delivery.route.handler.name,
                error=f"{type(error).__name__}: {error}",
            )
            return (self._dead_letter(delivery.record, delivery.envelope.instance_id, error),)

    async def _attempt(self, delivery: Delivery) -> tuple[Outgoing, ...]:
        await self._breaker.admit()
        try:
            outbox = await run_handler(delivery, self._around, self._retry.timeout)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                self._breaker.abandoned()
                raise
            self._breaker.failed()
            raise RuntimeError("the handler was cancelled by something that it awaited") from error
        except Exception as error:
            if _may_pass(error):
                self._breaker.failed()
            else:
                self._breaker.succeeded()
            raise
        except BaseException as error:
            # `sys.exit()` in a handler, say: it must end neither the agent nor the lane of this instance.
            self._breaker.failed()
            raise RuntimeError(
                f"the handler raised {type(error).__name__}, which is no Exception: {error}"
            ) from error
        self._breaker.succeeded()
        return outbox

    async def _produce(self, message_id: str, outbox: Sequence[Outgoing]) -> None:
        if not outbox:
            return
        await self._around.transport.produce(outbox)
        self._checkpoint("produced")
        await self._available(lambda: self._around.store.mark_sent(message_id))
        self._checkpoint("marked")

    async def _available(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of work on the store, tried until it answers."""
        result = await until_it_works(
            work,
            STORE_BACKOFF,
            may_pass=lambda error: isinstance(error, StoreUnavailable),
            sleep=self._sleep,
            on_failure=self._note_unavailable,
        )
        self.store_answers = True
        return result

    def _note_unavailable(self, attempt: int, error: BaseException) -> None:
        self.store_answers = False
        _log.error("the store does not answer; the agent pauses", error=str(error), attempt=attempt)

    def _dead_letter(self, record: Incoming, instance_id: str, error: BaseException) -> Outgoing:
        return self._around.post.dead_letter(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            key=record.key,
            value=record.value,
            instance_id=instance_id,
            reason=describe(error),
            error_type=type(error).__name__,
            at=self._around.now(),
            by=self._around.agent_id,
        )

    def _note_unhandled(self, envelope: Envelope) -> None:
        if envelope.kind == "reply" and envelope.type != "Accepted":
            _log.warning(
                "a message was refused",
                message_id=envelope.in_reply_to,
                instance_id=envelope.instance_id,
                answer=envelope.payload.decode(errors="replace"),
            )
            return
        kind = (envelope.protocol, envelope.type)
        if envelope.kind == "delivery" and kind not in self._unhandled:
            self._unhandled.add(kind)
            _log.info("no handler for a message type", protocol=envelope.protocol, type=envelope.type)


def _may_pass(error: BaseException) -> bool:
    """True when another attempt may help: not for what the author must mend, nor for an answer that stands."""
    return not isinstance(error, Permanent | AuthorError | Rejected | LeaseLost | asyncio.CancelledError)


def _note_retry(delivery: Delivery, attempt: int, error: BaseException) -> None:
    _log.warning(
        "a handler failed and is tried again",
        message_id=delivery.envelope.id,
        handler=delivery.route.handler.name,
        attempt=attempt,
        error=f"{type(error).__name__}: {error}",
    )
