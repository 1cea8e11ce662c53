"""A worker killed with SIGKILL at every await of take-over, batch, commit and release, one after the other."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from strabo_runtime.worker.kafka import CRASH_POINTS
from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.chaos import oracle
from tests.chaos.processes import inbox_is_taken, killed_at, start_worker, until
from tests.chaos.records import publish
from tests.chaos.tally import PROTOCOL_FILE, TallyLoad
from tests.support.services import BrokerService

SEED = 20_301
PARTITIONS = 4
IN_LOAD = ("batch.",)
IN_QUIET = ("refresh.",)


@pytest.mark.slow
async def test_no_effect_is_lost_or_doubled_wherever_the_worker_is_killed(
    broker: BrokerService, tmp_path: Path
) -> None:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=broker.bootstrap,
        namespace=f"crash-{tmp_path.name}"[:60],
        partitions=PARTITIONS,
    )
    await admin.ensure(settings)
    await publish(settings, PROTOCOL_FILE)
    choice = random.Random(SEED)
    for point in CRASH_POINTS:
        if point.startswith(IN_QUIET):
            await killed_at(settings, tmp_path, point)
    load = TallyLoad(settings, PARTITIONS, SEED)
    loading = asyncio.create_task(load.run())
    try:
        for point in CRASH_POINTS:
            if not point.startswith(IN_QUIET):
                times = choice.randint(1, 20) if point.startswith(IN_LOAD) else 1
                await killed_at(settings, tmp_path, f"{point}:{times}")
        load.finish()
        await loading
        worker = start_worker(settings, tmp_path / "worker-last.log")
        await until(lambda: inbox_is_taken(settings), 30, f"all inputs are taken\n{worker.log_tail()}")
        assert worker.terminate() == 0, worker.log_tail()
    finally:
        loading.cancel()
    report = await oracle.examine(settings)
    assert report.problems == []
    assert report.dead_letters == 0
    assert report.timers > 0
    assert report.instances.keys() == {f"tally-{number}" for number in range(load.started)}
    assert {instance.status for instance in report.instances.values()} == {"success"}
    await admin.delete_namespace(settings)
