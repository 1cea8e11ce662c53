"""Parents, children, bind requests, deferred messages and compensation, while the worker is killed at every await."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from strabo_runtime.worker.kafka import CRASH_POINTS
from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.chaos import oracle
from tests.chaos.errands import (
    PROTOCOL_FILES,
    ErrandLoad,
    all_have_ended,
    announce_helpers,
    check_errand,
)
from tests.chaos.processes import killed_at, start_worker, until
from tests.chaos.records import publish
from tests.support.services import BrokerService

SEED = 90_210
PARTITIONS = 4
IN_LOAD = ("batch.",)
NOT_HERE = ("refresh.",)
"""A worker that has nothing to do has no children to lose; another test kills it there."""


@pytest.mark.slow
async def test_every_childs_end_and_every_answer_count_once_wherever_the_worker_is_killed(
    broker: BrokerService, tmp_path: Path
) -> None:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=broker.bootstrap,
        namespace=f"nested-{tmp_path.name}"[:60],
        partitions=PARTITIONS,
    )
    await admin.ensure(settings)
    await publish(settings, *PROTOCOL_FILES)
    await announce_helpers(settings)
    choice = random.Random(SEED)
    load = ErrandLoad(settings, PARTITIONS, SEED)
    loading = asyncio.create_task(load.run())
    try:
        for point in CRASH_POINTS:
            if not point.startswith(NOT_HERE):
                times = choice.randint(1, 20) if point.startswith(IN_LOAD) else 1
                await killed_at(settings, tmp_path, f"{point}:{times}")
        load.finish()
        await loading
        worker = start_worker(settings, tmp_path / "worker-last.log")
        await until(lambda: all_have_ended(settings), 60, f"all errands have ended\n{worker.log_tail()}")
        assert worker.terminate() == 0, worker.log_tail()
    finally:
        loading.cancel()
    report = await oracle.examine(settings)
    assert report.problems == []
    assert report.dead_letters == 0
    assert min(report.timers, report.answers, report.retries, report.told_to_instances) > 0
    for errand in load.noted:
        check_errand(report.instances, errand, load)
    await admin.delete_namespace(settings)
