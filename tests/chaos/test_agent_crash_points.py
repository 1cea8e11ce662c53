"""An agent killed with SIGKILL at each named point of a delivery loses no effect and doubles none."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from strabo_agents.delivery.crash_points import CRASH_POINTS, CrashPoint
from strabo_avro.records import Envelope
from tests.support.agent_namespace import AgentNamespace, agent_namespace
from tests.support.child_process import ChildProcess
from tests.support.services import BrokerService

MESSAGES = 60
INSTANCES = 7
KILLS = 3


@pytest.mark.slow
@pytest.mark.parametrize("point", CRASH_POINTS)
async def test_a_kill_at_a_crash_point_loses_and_doubles_nothing(
    broker: BrokerService, point: CrashPoint, tmp_path: Path
) -> None:
    async with agent_namespace(broker.bootstrap) as namespace:
        await deliver_all(namespace)
        for number in range(KILLS):
            process = run_agent(namespace, point, 1 if point == "committed" else 3 + 5 * number, tmp_path)
            assert await asyncio.to_thread(process.wait, 30) == -9, process.log_tail()
            await deliver_more(namespace, number)
        process = run_agent(namespace, point, 0, tmp_path)
        try:
            await check_effects(namespace, MESSAGES + KILLS)
        finally:
            assert await asyncio.to_thread(process.terminate) == 0, process.log_tail()


@pytest.mark.slow
async def test_kills_at_any_moment_lose_and_double_nothing(broker: BrokerService, tmp_path: Path) -> None:
    async with agent_namespace(broker.bootstrap) as namespace:
        await deliver_all(namespace)
        for number in range(5):
            process = run_agent(namespace, "claimed", 0, tmp_path)
            with pytest.raises(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, 0.8 + random.random() * 0.5)
            process.kill()
            await deliver_more(namespace, number)
        process = run_agent(namespace, "claimed", 0, tmp_path)
        try:
            await check_effects(namespace, MESSAGES + 5)
        finally:
            process.terminate()


async def deliver_all(namespace: AgentNamespace) -> None:
    for number in range(MESSAGES):
        instance = f"i{number % INSTANCES}"
        await namespace.deliver(
            "Call", {"size": 1}, to=["s1"], id=f"{instance}:{number}", instance_id=instance
        )


async def deliver_more(namespace: AgentNamespace, number: int) -> None:
    """Positions move only when something new comes."""
    await namespace.deliver("Call", {"size": 1}, to=["s1"], id=f"i0:{MESSAGES + number}", instance_id="i0")


def run_agent(namespace: AgentNamespace, point: str, number: int, folder: Path) -> ChildProcess:
    environment = {
        "STRABO_KAFKA_BOOTSTRAP_SERVERS": namespace.settings.kafka_bootstrap_servers,
        "STRABO_NAMESPACE": namespace.settings.namespace,
        "STRABO_DATA_DIR": str(folder),
        "STRABO_AGENT_COMMIT_INTERVAL": "20ms",
    }
    command = [sys.executable, "-m", "tests.support.crashing_agent", point, str(number)]
    return ChildProcess(command, folder / "agent.log", environment=environment)


async def check_effects(namespace: AgentNamespace, expected: int) -> None:
    """Every message was answered, by one content however often, and each instance's answers began in order."""
    by_id: dict[str, set[bytes]] = defaultdict(set)
    order: dict[str, list[str]] = defaultdict(list)
    answered: set[str] = set()
    while len(answered) < expected:
        [message] = await namespace.sent(1, timeout=60)
        by_id[message.id].add(content(message))
        cause = message.in_reply_to or ""
        if cause not in answered:
            answered.add(cause)
            order[message.instance_id].append(cause)
    assert {len(contents) for contents in by_id.values()} == {1}
    assert len(by_id) == expected
    for instance, causes in order.items():
        assert causes == sorted(causes, key=lambda cause: int(cause.split(":")[1])), instance
    assert await namespace.dead_letters() == []


def content(message: Envelope) -> bytes:
    return message.payload
