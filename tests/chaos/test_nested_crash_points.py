"""Parents, children, bind requests, deferred messages and compensation, while the worker is killed at every await."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from strabo_runtime.engine import Instance
from strabo_runtime.history import live_instances
from strabo_runtime.worker.kafka import CRASH_POINTS
from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.chaos import oracle
from tests.chaos.errands import NOTES, PROTOCOL_FILES, ErrandLoad, announce_helpers
from tests.chaos.processes import inbox_is_taken, killed_at, start_worker, until
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
        await until(lambda: _all_have_ended(settings), 60, f"all errands have ended\n{worker.log_tail()}")
        assert worker.terminate() == 0, worker.log_tail()
    finally:
        loading.cancel()
    report = await oracle.examine(settings)
    assert report.problems == []
    assert report.dead_letters == 0
    assert min(report.timers, report.answers, report.retries, report.told_to_instances) > 0
    for errand in load.noted:
        _check_errand(report.instances, errand, load)
    await admin.delete_namespace(settings)


def _check_errand(instances: dict[str, Instance], errand: str, load: ErrandLoad) -> None:
    """What became of one errand, and of its children."""
    parent = instances[errand]
    legs = [instances[child.id] for child in parent.children if child.name == "leg"]
    undone = [instances[child.id] for child in parent.children if child.name == "undo"]
    assert len(legs) == 3
    if errand in load.cancelled:
        assert (parent.status, parent.error) == ("failure", "cancelled")
    else:
        assert parent.state == ("Broken" if errand in load.broken else "Done")
        assert parent.variables.json["notes"] == load.noted[errand]
        assert len(load.noted[errand]) == NOTES
        assert [child.status for child in parent.children[:3]] == [leg.status for leg in legs]
        assert sorted(leg.variables.json["number"] for leg in legs if leg.status == "success") == sorted(
            parent.variables.json["passed"]
        )
        assert len(parent.roles["Helper"]) == 2
    failed = parent.status == "failure"
    assert [child.variables.json["number"] for child in undone] == (
        [-leg.variables.json["number"] for leg in legs] if failed else []
    )
    assert all(child.error != "cancelled" for child in undone)


async def _all_have_ended(settings: KafkaSettings) -> bool:
    if not await inbox_is_taken(settings):
        return False
    return all(state.status != "running" for state in await live_instances(settings))
