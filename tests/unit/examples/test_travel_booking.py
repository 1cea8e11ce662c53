"""The example agents of the travel booking play it to its end, in the trip and in its children."""

from __future__ import annotations

import pytest

from strabo_agents import InstanceFailed
from strabo_runtime.examples.travel_booking import airline, car_rental, hotel, provider, traveller
from tests.unit.examples.support import silent, simulation_of

pytestmark = pytest.mark.slow

TRIP = {"trip": "lisbon", "flight": {"to": "LIS"}, "hotel": {"nights": 3}, "car": {"days": 3}}


async def test_all_three_are_booked() -> None:
    async with simulation_of("travel_booking") as simulation:
        for agent, name in ((airline, "air"), (hotel, "inn"), (car_rental, "cars"), (traveller, "t")):
            simulation.add(agent, name)
        trip = await simulation.start(("BookTrip", TRIP), as_agent="t")
        assert await trip.result() == {
            "trip": "lisbon",
            "flight": "flight lisbon",
            "hotel": "hotel lisbon",
            "car": "car lisbon",
        }
        [booked] = simulation.received("t")
        assert (booked.type, booked.payload["price"]) == ("TripBooked", 510.0)


async def test_without_a_car_hotel_and_flight_are_cancelled() -> None:
    async with simulation_of("travel_booking") as simulation:
        full = provider("CarRental", 90.0, full=True)
        for agent, name in ((airline, "air"), (hotel, "inn"), (full, "cars"), (traveller, "t")):
            simulation.add(agent, name)
        trip = await simulation.start(("BookTrip", TRIP), as_agent="t")
        with pytest.raises(InstanceFailed, match="not_booked"):
            await trip.result()
        for name in ("air", "inn"):
            assert [each.type for each in simulation.received(name)] == ["BookingRequest", "CancelBooking"]
        [told] = simulation.received("t")
        assert told.payload == {"trip": "lisbon", "reason": "car: full", "undone": True}


async def test_a_silent_hotel_is_given_up_and_the_flight_cancelled() -> None:
    async with simulation_of("travel_booking") as simulation:
        asleep = silent("TravelBooking", "Hotel", capabilities=("booking",))
        asleep.role("Booking", "Provider")
        for agent, name in ((airline, "air"), (asleep, "inn"), (car_rental, "cars"), (traveller, "t")):
            simulation.add(agent, name)
        trip = await simulation.start(("BookTrip", TRIP), as_agent="t")
        with pytest.raises(InstanceFailed):
            await trip.result()
        assert [each.type for each in simulation.received("inn")] == [
            "BookingRequest",
            "BookingRequest",
            "RequestWithdrawn",
        ]
        assert simulation.received("air")[-1].type == "CancelBooking"
