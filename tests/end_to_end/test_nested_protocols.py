"""A protocol that ships with its children and example agents over Kafka; every history replays."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import strabo_runtime
from strabo_agents import Agent, Client, InstanceFailed
from strabo_runtime.examples import travel_booking as travel
from strabo_runtime.history import find_instance, live_instances
from strabo_runtime.language import load_file
from strabo_runtime.publishing import publish_all
from strabo_runtime.replaying import recorded_history, replay_history
from strabo_runtime.worker import Worker, WorkerSettings
from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService

PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"
TRAVEL = ("travel_booking", "booking", "booking_cancellation")
TRIP = {"trip": "lisbon", "flight": {"to": "LIS"}, "hotel": {"nights": 3}, "car": {"days": 3}}


@pytest.fixture
async def namespace(
    broker: BrokerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[KafkaSettings]:
    """A namespace with the travel protocols, published in one command, and a worker."""
    monkeypatch.setenv("STRABO_DATA_DIR", str(tmp_path))
    name = f"nested-{uuid.uuid4().hex[:12]}"
    settings = WorkerSettings.load(namespace=name, kafka_bootstrap_servers=broker.bootstrap, partitions=4)
    texts = []
    for file in TRAVEL:
        loaded = load_file(PROTOCOLS / f"{file}.yaml")
        assert loaded.machine is not None
        texts.append((loaded.machine, loaded.source))
    await publish_all(settings, texts)
    worker = Worker(settings)
    working = asyncio.create_task(worker.run())
    try:
        yield KafkaSettings.load(namespace=name, kafka_bootstrap_servers=broker.bootstrap)
    finally:
        worker.stop()
        await working
        await admin.delete_namespace(settings)


async def run_agents(stack: AsyncExitStack, settings: KafkaSettings, **agents: Agent) -> None:
    """Run each agent under the name given."""
    for name, agent in agents.items():
        await stack.enter_async_context(agent.running(agent_id=name, kafka=settings))


async def all_replay(settings: KafkaSettings) -> list[str]:
    """The protocols of all instances, each of which has ended and replays to the same bytes."""
    found = []
    for state in await live_instances(settings):
        report = replay_history(await recorded_history(settings, state.instance_id))
        assert report.difference is None
        assert state.status != "running"
        found.append(state.protocol)
    return sorted(found)


async def test_a_trip_is_booked_by_three_children(namespace: KafkaSettings) -> None:
    async with AsyncExitStack() as stack:
        await run_agents(stack, namespace, air=travel.airline, inn=travel.hotel, cars=travel.car_rental)
        client = await stack.enter_async_context(Client("t", kafka=namespace))
        trip = await client.start(("BookTrip", TRIP), protocol="TravelBooking")
        assert await trip.result(timeout=60) == {
            "trip": "lisbon",
            "flight": "flight lisbon",
            "hotel": "hotel lisbon",
            "car": "car lisbon",
        }
    assert await all_replay(namespace) == ["Booking"] * 3 + ["TravelBooking"]


async def test_without_a_car_what_was_booked_is_cancelled_newest_first(namespace: KafkaSettings) -> None:
    full = travel.provider("CarRental", 90.0, full=True)
    async with AsyncExitStack() as stack:
        await run_agents(stack, namespace, air=travel.airline, inn=travel.hotel, cars=full)
        client = await stack.enter_async_context(Client("t", kafka=namespace))
        trip = await client.start(("BookTrip", TRIP), protocol="TravelBooking", id="trip")
        with pytest.raises(InstanceFailed, match="not_booked"):
            await trip.result(timeout=60)
    assert await all_replay(namespace) == ["Booking"] * 3 + ["BookingCancellation"] * 2 + ["TravelBooking"]
    state = await find_instance(namespace, "trip")
    assert state is not None
    assert state.state == "not_booked"
