"""Runs an agent: puts its parts together, starts them in order and stops them in order."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer

from strabo_agents.agent import Agent
from strabo_agents.checks import check_messages, check_roles
from strabo_agents.delivery.attempt import Surroundings
from strabo_agents.delivery.breaker import Breaker
from strabo_agents.delivery.crash_points import Checkpoint, pass_by
from strabo_agents.delivery.intake import Gap, Intake
from strabo_agents.delivery.keeper import LeaseKeeper
from strabo_agents.delivery.processor import Processor, RetryPolicy
from strabo_agents.delivery.routing import Routes
from strabo_agents.envelopes import Post
from strabo_agents.errors import AgentsError, StoreUnavailable
from strabo_agents.handlers import REJECTED
from strabo_agents.heartbeat import Heartbeat
from strabo_agents.kafka import KafkaTransport
from strabo_agents.settings import AgentSettings, checked_id
from strabo_agents.stores import MemoryStore, SqliteStore, Store
from strabo_topics.admin import partition_count
from strabo_topics.clients import consumer as new_consumer
from strabo_topics.clients import wait_for_broker
from strabo_topics.definitions import read_definitions
from strabo_topics.settings import KafkaSettings

TOPICS_LOOKED_AT_MS = 10_000
FORGET_INTERVAL = 600.0
STOP_PATIENCE = 2.0

_log = structlog.get_logger(__name__)


class Runner:
    """One run of an agent. `checkpoint` is called at each named crash point of a delivery."""

    def __init__(
        self,
        agent: Agent,
        agent_id: str | None = None,
        *,
        kafka: KafkaSettings | None = None,
        settings: AgentSettings | None = None,
        checkpoint: Checkpoint = pass_by,
    ) -> None:
        self._agent = agent
        self._agent_id = agent.agent_id if agent_id is None else checked_id(agent_id, "agent id")
        self._kafka = KafkaSettings.load() if kafka is None else kafka
        self._settings = AgentSettings.load() if settings is None else settings
        self._checkpoint = checkpoint
        self._stop = asyncio.Event()
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Run until `stop` is called or the task is cancelled.

        Raises:
            AgentsError, strabo_topics.errors.TopicsError: it cannot run; the text says what to do.
        """
        async with AsyncExitStack() as stack:
            await wait_for_broker(self._kafka)
            transport = KafkaTransport(
                self._kafka, answer_timeout=self._settings.agent_answer_timeout.total_seconds()
            )
            stack.push_async_callback(transport.close)
            post = await transport.open()
            plays = [(role.protocol, role.name) for role in self._agent.roles]
            definitions = (await read_definitions(self._kafka)).values()
            check_roles(plays, definitions)
            handled = [(role.protocol, name) for role in self._agent.roles for name in role.handlers]
            check_messages([each for each in handled if each[1] != REJECTED], definitions)
            store = open_store(self._settings, self._kafka.namespace, self._agent_id)
            await store.open()
            stack.push_async_callback(store.close)
            await self._work(stack, transport, post, store)

    def stop(self) -> None:
        """Stop in order: read nothing more, let handlers end, commit, leave the directory and the group."""
        self._stop.set()

    async def ready_or_failed(self, task: asyncio.Task[None]) -> None:
        """Return once the agent has announced itself; raises what ended `task` before that."""
        ready = asyncio.create_task(self.ready.wait())
        await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if task.done():
            await task

    @contextlib.contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT stop it meanwhile, where this thread may take signals."""
        loop, taken = asyncio.get_running_loop(), []
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.stop)
                taken.append(number)
        try:
            yield
        finally:
            for number in taken:
                loop.remove_signal_handler(number)

    async def _work(self, stack: AsyncExitStack, transport: KafkaTransport, post: Post, store: Store) -> None:
        settings, routes = self._settings, Routes(post.names, self._agent_id, self._agent.roles)
        keeper = LeaseKeeper(store, settings.agent_lease.total_seconds())
        stack.push_async_callback(keeper.close)
        breaker = Breaker(
            failures=settings.agent_breaker_failures,
            pause=settings.agent_breaker_pause.total_seconds(),
            on_change=lambda state: self._note_breaker(state, heartbeat),
        )
        processor = Processor(
            Surroundings(self._agent_id, post, transport, store, _now),
            routes,
            retry=_retry_policy(settings),
            breaker=breaker,
            keeper=keeper,
            checkpoint=self._checkpoint,
        )
        consumer = self._consumer(store, routes.topics)
        intake = Intake(
            consumer,
            routes,
            self._agent_id,
            processor.process,
            report_gap=lambda gap: self._report_gap(gap, transport, post),
            concurrency=settings.agent_concurrency,
            max_pending=settings.agent_max_pending,
            commit_interval=settings.agent_commit_interval.total_seconds(),
            checkpoint=self._checkpoint,
        )
        heartbeat = Heartbeat(
            self._agent,
            self._agent_id,
            post,
            await partition_count(self._kafka, post.names.agents) or 1,
            transport,
            interval=settings.agent_heartbeat.total_seconds(),
            load=lambda: intake.pending,
            healthy=lambda: breaker.state == "closed" and processor.store_answers,
        )
        stack.push_async_callback(intake.close, settings.agent_drain.total_seconds())
        # Each of these goes on trying for as long as Kafka does not answer.
        for work in (processor.send_unsent, consumer.start, intake.join):
            await self._until_stopped(work())
            if self._stop.is_set():
                return
        stack.push_async_callback(_in_time, heartbeat)
        await self._until_stopped(heartbeat.announce())
        if self._stop.is_set():
            return
        _log.info("agent runs", agent_id=self._agent_id, roles=[role.name for role in self._agent.roles])
        self.ready.set()
        await self._serve(intake, heartbeat, store)

    async def _serve(self, intake: Intake, heartbeat: Heartbeat, store: Store) -> None:
        """Run the loops until stopped; an error of any ends all."""
        reading = asyncio.create_task(intake.run(self._stop), name="intake")
        others = [
            asyncio.create_task(heartbeat.run(), name="heartbeat"),
            asyncio.create_task(self._forget(store), name="forget"),
        ]
        stopping = asyncio.create_task(self._stop.wait())
        try:
            ended, _ = await asyncio.wait({reading, stopping, *others}, return_when=asyncio.FIRST_COMPLETED)
            if self._stop.is_set():
                # While the group is shared out anew a read does not return; it has nothing in hand then.
                await asyncio.wait({reading}, timeout=STOP_PATIENCE)
        finally:
            tasks = [reading, stopping, *others]
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result
        if not self._stop.is_set():
            names = ", ".join(sorted(task.get_name() for task in ended))
            raise AgentsError(f"agent {self._agent_id} has stopped by itself: {names} ended")

    async def _until_stopped(self, work: Coroutine[Any, Any, object]) -> None:
        task, stopping = asyncio.create_task(work), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
        finally:
            task.cancel()
            stopping.cancel()
            await asyncio.gather(task, stopping, return_exceptions=True)

    def _consumer(self, store: Store, topics: Sequence[str]) -> AIOKafkaConsumer:
        # A static member gets its partitions back at once after a restart, instead of after the session's time-out.
        # The topics are in its name, since a broker keeps a static member's assignment when its topics change.
        replica = self._settings.agent_replica or ("only" if store.exclusive else None)
        name = "\0".join((self._agent_id, replica or "", *topics)).encode()
        member = hashlib.sha256(name).hexdigest()[:32] if replica else None
        group = f"{self._kafka.namespace}.agent.{self._agent_id}"
        # A topic that is missing when the group is shared out is given to nobody; a look at the topics now and then
        # notices when it is there, and shares the group out anew.
        return new_consumer(
            self._kafka, group=group, group_instance_id=member, metadata_max_age_ms=TOPICS_LOOKED_AT_MS
        )

    async def _report_gap(self, gap: Gap, transport: KafkaTransport, post: Post) -> None:
        letter = post.dead_letter(
            topic=gap.topic,
            partition=gap.partition,
            offset=gap.position,
            reason=f"the records from {gap.position} up to {gap.start} were deleted for their age before agent "
            f"{self._agent_id} read them: run it more often, or let the topic keep its records for longer",
            error_type="Gap",
            at=_now(),
            by=self._agent_id,
        )
        await transport.produce([letter])

    async def _forget(self, store: Store) -> None:
        while True:
            try:
                await store.forget(self._settings.agent_keep_handled.total_seconds())
            except StoreUnavailable as error:
                _log.warning("old messages could not be forgotten", error=str(error))
            await asyncio.sleep(FORGET_INTERVAL)

    def _note_breaker(self, state: str, heartbeat: Heartbeat) -> None:
        _log.warning("the circuit breaker changes", agent_id=self._agent_id, state=state)
        heartbeat.health_changed()


def open_store(settings: AgentSettings, namespace: str, agent_id: str) -> Store:
    """The store that the settings ask for, not yet opened."""
    lease = settings.agent_lease.total_seconds()
    if settings.agent_store == "memory":
        return MemoryStore(lease=lease)
    return SqliteStore(settings.sqlite_path(namespace, agent_id), lease=lease)


def _retry_policy(settings: AgentSettings) -> RetryPolicy:
    timeout = settings.agent_handler_timeout
    return RetryPolicy(
        attempts=settings.agent_attempts,
        backoff=settings.agent_backoff.total_seconds(),
        limit=settings.agent_backoff_limit.total_seconds(),
        timeout=None if timeout is None else timeout.total_seconds(),
    )


async def _in_time(heartbeat: Heartbeat) -> None:
    # Without a broker leaving the directory would take for ever; silence says the same a little later.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_PATIENCE):
            await heartbeat.withdraw()


def _now() -> int:
    return time.time_ns() // 1_000_000
