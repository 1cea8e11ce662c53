"""A worker process: follows protocols and agents, joins the group, and works term after term."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterator

import structlog

from strabo_runtime.worker import watchdog
from strabo_runtime.worker.aiokafka_port import AiokafkaPort
from strabo_runtime.worker.assignment import Assignment
from strabo_runtime.worker.backoff import Backoff
from strabo_runtime.worker.catalogue import Catalogue
from strabo_runtime.worker.clock import Clock
from strabo_runtime.worker.directory import Directory
from strabo_runtime.worker.errors import KafkaFailed, PartitionHalted, TopicsUnfit
from strabo_runtime.worker.follower import TopicFollower
from strabo_runtime.worker.kafka import Intake, KafkaPort, Producer, Reached, pass_by
from strabo_runtime.worker.settings import WorkerSettings, milliseconds
from strabo_runtime.worker.surroundings import Surroundings
from strabo_runtime.worker.tasks import together
from strabo_runtime.worker.term import Footing, Term

POLL_WAIT_S = 0.1
CONFIRM_EVERY_S = 1.0
RELEASE_PATIENCE_S = 5.0

_log = structlog.get_logger("strabo.worker")


class Worker:
    """Takes inputs of instances from inbox partitions and carries out their steps, until told to stop."""

    def __init__(
        self, settings: WorkerSettings, *, kafka: KafkaPort | None = None, reached: Reached = pass_by
    ) -> None:
        """`reached` is called at each crash point (`kafka.CRASH_POINTS`)."""
        self.worker_id = settings.worker_id or f"{socket.gethostname()}-{os.getpid()}"
        self._settings = settings
        self._names = settings.names
        self._kafka: KafkaPort = kafka or AiokafkaPort(settings)
        self._reached = reached
        self._clock = Clock(milliseconds(settings.worker_clock_tolerance))
        self._catalogue = Catalogue()
        self._directory = Directory(milliseconds(settings.worker_agent_silence))
        self._followers = (
            TopicFollower(self._kafka, self._names.definitions, self._catalogue.apply),
            TopicFollower(self._kafka, self._names.agents, self._directory.apply),
        )
        self._assignment = Assignment()
        self._positions: dict[int, int] = {}
        self._fenced: set[str] = set()
        self._term: Term | None = None
        self._stopping = asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Finish the transaction in flight, release the partitions, and return from `run`."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until `stop`, SIGTERM or SIGINT. A broker that is away is waited for, however long.

        Raises `WorkerError` where an operator must act: `TopicsUnfit`, `ClockSkewed`.
        """
        with _stopped_by_signals(self.stop):
            try:
                await together(self._work(), self._until_stopped(), watchdog.watch())
            finally:
                for task in self._closing:
                    task.cancel()
                await self._kafka.close()

    # -- rebalances ---------------------------------------------------------------------------------------------------

    async def revoked(self) -> None:
        """Stop working on everything, and release it before another worker is given it."""
        self._assignment.change(frozenset())
        if self._term is not None:
            self._term.drop()
            await self._release(self._settings.worker_session_timeout.total_seconds() / 2)

    def assigned(self, partitions: frozenset[int]) -> None:
        """Have these taken over."""
        _log.info("assigned", partitions=sorted(partitions))
        self._assignment.change(partitions)

    async def _release(self, patience: float) -> None:
        # The term itself meets whatever ails its producer; here it is only not waited for any longer.
        term = self._term
        if term is not None:
            try:
                async with asyncio.timeout(patience):
                    await term.release()
            except (KafkaFailed, TimeoutError) as error:
                _log.warning(
                    "could not release partitions in good order", error=str(error) or "no answer in time"
                )

    # -- the work -----------------------------------------------------------------------------------------------------

    async def _until_stopped(self) -> None:
        await self._stopping.wait()
        _log.info("stopping")
        self._assignment.change(frozenset())
        if self._term is not None:
            self._term.drop()
            await self._release(RELEASE_PATIENCE_S)

    async def _work(self) -> None:
        surroundings = Surroundings(
            settings=self._settings,
            worker_id=self.worker_id,
            partitions=await self._checked_topics(),
            clock=self._clock,
            catalogue=self._catalogue,
            directory=self._directory,
            live_bytes=self._live_bytes,
        )
        await together(*(follower.run() for follower in self._followers), self._serve(surroundings))

    async def _checked_topics(self) -> int:
        """The number of partitions, once a broker answers. Raises `TopicsUnfit`."""
        names = self._names
        backoff = Backoff()
        failures = 0
        while True:
            try:
                counts = {topic: await self._kafka.partition_count(topic) for topic in names.base}
                break
            except KafkaFailed as error:
                failures += 1
                if failures.bit_count() == 1:  # ever more seldom: the wait may be long
                    servers = self._settings.kafka_bootstrap_servers
                    _log.warning("waiting for a broker", servers=servers, error=str(error))
                await backoff.wait()
        missing = sorted(topic for topic, count in counts.items() if count is None)
        if missing:
            raise TopicsUnfit(f"topics are missing ({', '.join(missing)}): run `strabo topics apply` first")
        inbox = counts[names.inbox]
        assert inbox is not None
        for topic in (names.state, names.events, names.replies, names.deadletter):
            if counts[topic] != inbox:
                raise TopicsUnfit(
                    f"topic {topic} has {counts[topic]} partitions and {names.inbox} has {inbox}: all topics of "
                    "instances must have the same number; `strabo topics plan` shows what is declared"
                )
        return inbox

    async def _serve(self, surroundings: Surroundings) -> None:
        backoff = Backoff()
        while True:
            intake: Intake | None = None
            try:
                for follower in self._followers:
                    await follower.caught_up()
                intake = self._kafka.intake()
                await intake.start(self)
                await together(self._feed(intake), self._terms(intake, surroundings), self._confirm(intake))
            except KafkaFailed as error:
                _log.warning("the group's consumer failed", error=str(error))
                await backoff.wait()
            finally:
                self._assignment.change(frozenset())
                if intake is not None:
                    await intake.close()

    async def _feed(self, intake: Intake) -> None:
        while True:
            try:
                found = await intake.poll(POLL_WAIT_S)
            except PartitionHalted as halted:
                if self._term is not None:
                    self._term.halt(halted)
                continue
            if self._term is not None:
                self._term.feed(found)

    async def _terms(self, intake: Intake, surroundings: Surroundings) -> None:
        footing = Footing(
            kafka=self._kafka,
            intake=intake,
            assignment=self._assignment,
            surroundings=surroundings,
            followers=self._followers,
            fenced=self._fenced,
            positions=self._positions,
            reached=self._reached,
        )
        backoff = Backoff()
        failed = False
        while True:
            producer: Producer | None = None
            try:
                producer = await self._kafka.producer(
                    f"{self._names.namespace}-{self.worker_id}-{uuid.uuid4().hex}"
                )
                self._reached("term.producer")
                self._term = term = Term(footing, producer, after_failure=failed)
                await term.run()
            except KafkaFailed as error:
                _log.warning("taking over anew", error=str(error))
                failed = True
                if self._term is not None and self._term.transactions > 1:
                    backoff.reset()
            finally:
                self._term = None
                if producer is not None:
                    self._close(producer)
            await backoff.wait()

    async def _confirm(self, intake: Intake) -> None:
        """Commit group offsets, which only lag tools and autoscalers read."""
        confirmed: dict[int, int] = {}
        while True:
            await asyncio.sleep(CONFIRM_EVERY_S)
            held = set(self._term.runners) if self._term is not None else set()
            moved = {one: position for one, position in self._positions.items() if one in held}
            if moved and moved != confirmed:
                try:
                    await intake.confirm(moved)
                    confirmed = moved
                except KafkaFailed as error:
                    _log.info("group offsets not committed", error=str(error))

    def _live_bytes(self) -> int:
        runners = self._term.runners.values() if self._term is not None else ()
        return sum(runner.holdings.live_bytes for runner in runners)

    def _close(self, producer: Producer) -> None:
        # Not waited for: a producer without a broker takes its time, and the next term needs nothing of it.
        task = asyncio.create_task(producer.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


@contextlib.contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    handled = []
    for number in numbers:
        # Not in a thread of its own: there, whoever runs the main thread stops the worker.
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, stop)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
