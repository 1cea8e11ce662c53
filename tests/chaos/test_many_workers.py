"""Three workers that are killed, paused and stopped at random, while the broker itself is killed once."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.chaos import errands, oracle
from tests.chaos.processes import start_worker, until
from tests.chaos.records import publish
from tests.chaos.tally import PROTOCOL_FILE, TallyLoad
from tests.support.child_process import ChildProcess
from tests.support.services import BrokerService

SEED = 4_711
WORKERS = 3
SECONDS = 25.0
SESSION = "2s"
STOPPED_EARLY = -signal.SIGTERM
"""The exit code of a worker that was told to stop while it was still starting."""


class Crew:
    """Workers of one namespace, and what happens to them."""

    def __init__(self, settings: KafkaSettings, folder: Path) -> None:
        self.happened: Counter[str] = Counter()
        self._settings = settings
        self._folder = folder
        self._random = random.Random(SEED)
        self._paused: list[tuple[float, ChildProcess]] = []
        self._workers = [self._start() for _ in range(WORKERS)]
        self._started = WORKERS

    async def disturb(self) -> None:
        """Do something to one worker; those that ended or were paused long enough go on."""
        now = time.monotonic()
        for resumes, worker in self._paused:
            if resumes <= now:
                worker.resume()
        self._paused = [one for one in self._paused if one[0] > now]
        victim = self._random.randrange(WORKERS)
        worker = self._workers[victim]
        what = self._random.choices(["kill", "pause", "stop", "nothing"], [3, 4, 2, 1])[0]
        if what == "pause":
            worker.pause()
            self._paused.append((now + self._random.uniform(0.5, 5), worker))
        elif what == "kill":
            await asyncio.to_thread(worker.kill)
        elif what == "stop":
            code = await asyncio.to_thread(worker.terminate)
            assert code in (0, STOPPED_EARLY), worker.log_tail()
        self.happened[what] += 1
        for index, one in enumerate(self._workers):
            if not one.runs:
                self._workers[index] = self._start()

    def resume_all(self) -> None:
        """Let the paused ones go on."""
        for _resumes, worker in self._paused:
            worker.resume()
        self._paused.clear()

    async def stop(self) -> list[int]:
        """End all in good order; returns their exit codes."""
        return [await asyncio.to_thread(worker.terminate) for worker in self._workers]

    def kill(self) -> None:
        """End all, however they are."""
        for worker in self._workers:
            worker.kill()

    def log(self) -> str:
        """The ends of all logs."""
        return "\n".join(worker.log_tail(2_000) for worker in self._workers)

    def _start(self) -> ChildProcess:
        log = self._folder / f"worker-{time.monotonic_ns()}.log"
        return start_worker(self._settings, log, worker_id=None, STRABO_WORKER_SESSION_TIMEOUT=SESSION)


@pytest.mark.slow
async def test_no_effect_is_lost_or_doubled_among_workers_that_come_and_go(
    fresh_broker: BrokerService, tmp_path: Path
) -> None:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=fresh_broker.bootstrap, namespace="many", partitions=6
    )
    await admin.ensure(settings)
    await publish(settings, PROTOCOL_FILE, *errands.PROTOCOL_FILES)
    await errands.announce_helpers(settings)
    load = TallyLoad(settings, 6, SEED)
    # Their parents and children lie on the partitions of different workers.
    nested = errands.ErrandLoad(settings, 6, SEED, every=0.3)
    loading = asyncio.gather(load.run(), nested.run())
    crew = Crew(settings, tmp_path)
    try:
        await _disturb(crew, fresh_broker, random.Random(SEED))
        load.finish()
        nested.finish()
        await asyncio.wait_for(loading, 60)
        await until(lambda: errands.all_have_ended(settings), 60, f"all inputs are taken\n{crew.log()}")
        assert set(await crew.stop()) <= {0, STOPPED_EARLY}, crew.log()
    finally:
        loading.cancel()
        crew.kill()
    report = await oracle.examine(settings)
    assert report.problems == []
    assert report.dead_letters == 0
    tallies = {one: instance for one, instance in report.instances.items() if one.startswith("tally-")}
    assert tallies.keys() == {f"tally-{number}" for number in range(load.started)}
    assert {instance.status for instance in tallies.values()} == {"success"}
    for errand in nested.noted:
        errands.check_errand(report.instances, errand, nested)
    assert crew.happened["kill"] > 0
    assert crew.happened["pause"] > 0


async def _disturb(crew: Crew, broker: BrokerService, choice: random.Random) -> None:
    begun = time.monotonic()
    broker_killed = False
    while time.monotonic() - begun < SECONDS:
        await asyncio.sleep(choice.uniform(0.5, 2))
        if not broker_killed and time.monotonic() - begun > SECONDS / 2:
            broker_killed = True
            await asyncio.to_thread(broker.kill)
            await asyncio.sleep(1)
            await asyncio.to_thread(broker.restart)
        await crew.disturb()
    crew.resume_all()
