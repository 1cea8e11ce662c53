"""Messages become JSON as the protocol language reads it."""

from __future__ import annotations

import enum
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from pydantic import BaseModel, Field

from strabo_agents.errors import PayloadError, Permanent
from strabo_agents.payloads import (
    decode_payload,
    encode_payload,
    format_duration,
    format_timestamp,
    moment,
    read_model,
    to_payload,
)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "PT0S"),
        (timedelta(minutes=30), "PT30M"),
        (timedelta(hours=1), "PT1H"),
        (timedelta(days=400, hours=1), "P400DT1H"),
        (timedelta(days=2), "P2D"),
        (timedelta(seconds=90, milliseconds=250), "PT1M30.25S"),
        (timedelta(microseconds=5), "PT0.000005S"),
        (-timedelta(minutes=90), "-PT1H30M"),
    ],
)
def test_a_duration_is_written_in_days_at_most(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2030, 1, 1, tzinfo=UTC), "2030-01-01T00:00:00Z"),
        (datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2030-01-01T00:00:00Z"),
        (datetime(2030, 1, 1, 0, 0, 0, 120_000, tzinfo=UTC), "2030-01-01T00:00:00.12Z"),
    ],
)
def test_a_time_is_written_in_utc_with_a_fraction_only_where_there_is_one(
    moment: datetime, text: str
) -> None:
    assert format_timestamp(moment) == text


def test_a_time_without_a_zone_is_refused_by_name() -> None:
    with pytest.raises(PayloadError, match=r"Call\.until is a time without a zone"):
        to_payload("Call", {"until": datetime(2030, 1, 1)})


def test_a_number_that_json_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(PayloadError, match=r"Call\.items\[1\]\.cost is inf"):
        to_payload("Call", {"items": [{"cost": 1.0}, {"cost": float("inf")}]})


def test_a_value_without_a_json_form_is_refused_by_name() -> None:
    with pytest.raises(PayloadError, match=r"Call\.thing is a object"):
        to_payload("Call", {"thing": object()})


def test_every_field_of_a_model_finds_its_form() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Part(BaseModel):
        took: timedelta

    class Whole(BaseModel):
        sender: str = Field(alias="from")
        colour: Colour
        parts: list[Part]
        by_name: dict[str, datetime]
        day: date
        nothing: str | None = None

    whole = Whole.model_validate(
        {
            "from": "c1",
            "colour": "red",
            "parts": [{"took": "PT5M"}],
            "by_name": {"a": "2030-01-01T00:00:00Z"},
            "day": "2030-01-01",
        }
    )

    assert to_payload("Whole", whole) == {
        "from": "c1",
        "colour": "red",
        "parts": [{"took": "PT5M"}],
        "by_name": {"a": "2030-01-01T00:00:00Z"},
        "day": "2030-01-01",
    }


def test_a_payload_that_does_not_fit_names_every_failing_field() -> None:
    class Bid(BaseModel):
        cost: float
        time_estimate: timedelta

    with pytest.raises(Permanent, match=r"model Bid: /cost: .*; /time_estimate: "):
        read_model(encode_payload({"cost": "much"}), Bid)


def test_durations_and_times_are_read_back() -> None:
    class Call(BaseModel):
        until: datetime
        length: timedelta

    payload = {"until": "2030-01-01T00:05:00Z", "length": "P1DT30M"}

    call = read_model(encode_payload(payload), Call)

    assert call.length == timedelta(days=1, minutes=30)
    assert to_payload("Call", call) == payload


@pytest.mark.parametrize("data", [b"[1]", b"{", b"null"])
def test_a_payload_that_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(Permanent):
        decode_payload(data)


def test_a_time_on_the_wire_is_read_exactly() -> None:
    assert moment(1_893_456_000_001) == datetime(2030, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC)


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "payload",
    [["a", "list"], "text", 5, {"deep": nested(900)}, {"deep": nested(100_000)}],
    ids=["list", "text", "number", "deep", "very deep"],
)
def test_what_is_no_json_object_or_nested_without_end_is_a_payload_error(payload: object) -> None:
    with pytest.raises(PayloadError, match="payload"):
        encode_payload(to_payload("Call", payload))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2**64, -(2**70), "\ud800", {"inner": "\udfff"}])
def test_a_value_that_has_no_json_text_is_a_payload_error(value: object) -> None:
    with pytest.raises(PayloadError, match="no JSON form"):
        encode_payload(to_payload("Call", {"value": value}))


class Inner(BaseModel):
    note: str | None = None
    size: int | None = None


class Outer(BaseModel):
    inner: Inner
    inners: list[Inner]
    note: str | None = None
    kind: str = "plain"


def test_what_a_model_was_not_given_is_left_out_and_a_null_that_was_given_is_kept() -> None:
    message = Outer(inner=Inner(note=None), inners=[Inner(size=1), Inner()])
    assert to_payload("Outer", message) == {
        "inner": {"note": None},
        "inners": [{"size": 1}, {}],
        "kind": "plain",
    }
