"""Two hundred auctions at once, with the worker and two of three solvers killed with SIGKILL ten times."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from strabo_runtime.engine.inputs import Message
from strabo_topics import admin
from strabo_topics.agents import read_agents
from strabo_topics.settings import KafkaSettings
from tests.chaos import oracle
from tests.chaos.processes import ROOT, ended, inbox_is_taken, start_worker, until
from tests.chaos.records import publish
from tests.support.child_process import ChildProcess
from tests.support.services import BrokerService

AUCTIONS = 200
KILLS = 10
BIDDING_S = 6
SEED = 77
VICTIMS = ("worker", "solver-1", "solver-2")
PROTOCOL_FILE = ROOT / "runtime/strabo_runtime/protocols/task_auction.yaml"


class Cast:
    """The processes of one run, by name; each can be killed and started again as it was."""

    def __init__(self, settings: KafkaSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._running: dict[str, ChildProcess] = {}

    def start(self, name: str) -> None:
        """Start the worker, or the solver of that name."""
        log = self._folder / f"{name}.log"
        self._running[name] = (
            start_worker(self._settings, log) if name == "worker" else self._solver(name, log)
        )

    def kill_and_start(self, name: str) -> None:
        """SIGKILL, and a new process at once."""
        self._running[name].kill()
        self.start(name)

    def stop(self) -> dict[str, int]:
        """End all in good order; returns their exit codes."""
        return {name: process.terminate() for name, process in self._running.items()}

    def kill(self) -> None:
        """End all, however they are."""
        for process in self._running.values():
            process.kill()

    def log(self, name: str) -> str:
        """The end of a process's log."""
        return self._running[name].log_tail()

    def client(self, instances: list[str], report: Path) -> ChildProcess:
        """The client of all auctions, which is not killed."""
        command = [sys.executable, "-m", "strabo_runtime.demo.client"]
        command += ["--instances", json.dumps(instances), "--bidding-seconds", str(BIDDING_S)]
        command += ["--patience-seconds", "90", "--report", str(report)]
        return self._agent("client-1", command, self._folder / "client.log")

    def _solver(self, name: str, log: Path) -> ChildProcess:
        runner = ["strabo_runtime.cli.main", "agents", "run", "strabo_runtime.demo.solver:agent"]
        return self._agent(name, [sys.executable, "-m", *runner], log)

    def _agent(self, name: str, command: list[str], log: Path) -> ChildProcess:
        environment = {
            "STRABO_KAFKA_BOOTSTRAP_SERVERS": self._settings.kafka_bootstrap_servers,
            "STRABO_NAMESPACE": self._settings.namespace,
            "STRABO_AGENT_ID": name,
            "STRABO_AGENT_REPLICA": name,
            "STRABO_DATA_DIR": str(self._folder / "data"),
        }
        return ChildProcess(command, log, environment=environment, folder=ROOT)


@pytest.mark.slow
async def test_every_auction_ends_with_every_effect_counted_once(
    broker: BrokerService, tmp_path: Path
) -> None:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=broker.bootstrap, namespace=f"auctions-{tmp_path.name}"[:60], partitions=4
    )
    await admin.ensure(settings)
    await publish(settings, PROTOCOL_FILE)
    instances = [f"auction-{number}" for number in range(AUCTIONS)]
    cast = Cast(settings, tmp_path)
    client: ChildProcess | None = None
    try:
        for name in ("worker", "solver-1", "solver-2", "solver-3"):
            cast.start(name)
        await _until_announced(settings, {"solver-1", "solver-2", "solver-3"})
        client = cast.client(instances, tmp_path / "report.json")
        killed = await _kill_at_random(cast)
        assert set(killed) == set(VICTIMS)
        code = await ended(client, 120)
        assert code == 0, f"{code}\n{client.log_tail()}\n{cast.log('worker')}"
        await until(lambda: inbox_is_taken(settings), 30, "all inputs are taken")
        codes = cast.stop()
        # One that was started again a moment ago may be told to stop before it listens to that.
        assert set(codes.values()) <= {0, -signal.SIGTERM}, codes
    finally:
        cast.kill()
        if client is not None:
            client.kill()
    report = await oracle.examine(settings)
    assert report.problems == []
    assert report.dead_letters == 0
    assert report.instances.keys() == set(instances)
    assert {(one.status, one.state) for one in report.instances.values()} == {("success", "Completed")}
    for bids in _taken_bids(report).values():
        assert set(bids.values()) == {1}
    await admin.delete_namespace(settings)


async def _kill_at_random(cast: Cast) -> Counter[str]:
    choice = random.Random(SEED)
    victims = [*VICTIMS, *choice.choices(VICTIMS, k=KILLS - len(VICTIMS))]
    choice.shuffle(victims)
    for victim in victims:
        await asyncio.sleep(choice.uniform(0.6, 1.6))
        await asyncio.to_thread(cast.kill_and_start, victim)
    return Counter(victims)


async def _until_announced(settings: KafkaSettings, agents: set[str]) -> None:
    async def announced() -> bool:
        return agents <= set(await read_agents(settings))

    await until(announced, 30, f"{sorted(agents)} announced themselves")


def _taken_bids(report: oracle.Report) -> dict[str, Counter[str]]:
    bids: dict[str, Counter[str]] = {}
    for instance_id, taken in report.taken:
        if isinstance(taken, Message) and taken.type == "BidSubmission":
            bids.setdefault(instance_id, Counter())[taken.sender] += 1
    return bids
