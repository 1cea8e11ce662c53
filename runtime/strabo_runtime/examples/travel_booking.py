"""The travel booking: providers that confirm while they have room and cancel what they are asked to."""

from __future__ import annotations

from typing import Any

import structlog
from pydantic import BaseModel

from strabo_agents import Agent, Conversation

log = structlog.get_logger(__name__)


class BookingRequest(BaseModel):
    kind: str
    trip: str
    details: dict[str, Any]


class BookingConfirmed(BaseModel):
    booking_id: str
    price: float


class BookingDeclined(BaseModel):
    reason: str


class CancelBooking(BaseModel):
    booking_id: str


class BookingCancelled(BaseModel):
    refund: float | None = None


class TripNotBooked(BaseModel):
    trip: str
    reason: str
    undone: bool


traveller = Agent()


@traveller.role("TravelBooking", "Traveller").on
async def not_booked(trip: TripNotBooked, conversation: Conversation) -> None:
    """Log why, and whether somebody has to look after a booking."""
    log.warning("trip not booked", trip=trip.trip, reason=trip.reason, undone=trip.undone)


def provider(role: str, price: float, *, full: bool = False) -> Agent:
    """A provider that plays `role` of a trip, at one price; or one that is full.

    The trip binds it to `role` and hands it on to the children, so it plays their role as well.
    """
    agent = Agent(capabilities=["booking"])
    agent.role("TravelBooking", role)

    @agent.role("Booking", "Provider").on
    async def book(request: BookingRequest, conversation: Conversation) -> BookingConfirmed | BookingDeclined:
        if full:
            return BookingDeclined(reason="full")
        # A function of the request: should this handler run again, it is the same booking.
        return BookingConfirmed(booking_id=f"{request.kind} {request.trip}", price=price)

    @agent.role("BookingCancellation", "Provider").on
    async def cancel(request: CancelBooking, conversation: Conversation) -> BookingCancelled:
        return BookingCancelled(refund=price)

    return agent


airline = provider("Airline", 120.0)
hotel = provider("Hotel", 300.0)
car_rental = provider("CarRental", 90.0)
