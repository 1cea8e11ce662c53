"""Timestamps and durations: what is read, and the one form in which they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_runtime.expressions.time import (
    format_duration,
    format_timestamp,
    from_datetime,
    from_timedelta,
    parse_duration,
    parse_timestamp,
    to_datetime,
    to_timedelta,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2030-01-01T00:05:00Z", "2030-01-01T00:05:00Z"),
        ("2030-01-01t00:05:00z", "2030-01-01T00:05:00Z"),
        ("2030-01-01T02:05:00+02:00", "2030-01-01T00:05:00Z"),
        ("2029-12-31T23:05:00.5-01:00", "2030-01-01T00:05:00.500Z"),
        ("2030-01-01T00:05:00.000Z", "2030-01-01T00:05:00Z"),
        ("2030-01-01T00:05:00.123456789Z", "2030-01-01T00:05:00.123456Z"),
    ],
)
def test_a_timestamp_is_written_in_utc_with_a_fraction_only_where_there_is_one(
    text: str, canonical: str
) -> None:
    assert from_datetime(to_datetime(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2030-01-01",
        "2030-01-01T00:05:00",
        "2030-13-01T00:00:00Z",
        "2030-02-30T00:00:00Z",
        "2030-01-01 00:00:00Z",
        "2030-01-01T24:00:00Z",
        "2030-01-01T00:00:60Z",
        "2030-01-01T00:00:00+25:00",
        "0001-01-01T00:00:00+01:00",
        "٢٠٣٠-01-01T00:00:00Z",
    ],
)
def test_what_is_no_rfc_3339_timestamp_is_refused_with_a_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"timestamp|calendar"):
        to_datetime(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_survives_being_written_and_read(instant: datetime) -> None:
    assert to_datetime(from_datetime(instant)) == instant


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_milliseconds_survive_being_written_and_read_as_a_timestamp(milliseconds: int) -> None:
    assert parse_timestamp(format_timestamp(milliseconds)) == milliseconds


def test_milliseconds_outside_the_calendar_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        format_timestamp(10**18)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("PT30M", "PT30M"),
        ("30m", "PT30M"),
        ("1h30m", "PT1H30M"),
        ("PT90M", "PT1H30M"),
        ("90s", "PT1M30S"),
        ("P1W", "P7D"),
        ("P1DT2H", "P1DT2H"),
        ("PT48H", "P2D"),
        ("PT0S", "PT0S"),
        ("0s", "PT0S"),
        ("PT0.5S", "PT0.500S"),
        ("PT0,5S", "PT0.500S"),
        ("500ms", "PT0.500S"),
        ("1.5h", "PT1H30M"),
        ("-PT5M", "-PT5M"),
        ("2w", "P14D"),
        ("2d", "P2D"),
    ],
)
def test_a_duration_is_written_in_one_form(text: str, canonical: str) -> None:
    assert from_timedelta(to_timedelta(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1DT", "5", "m", "PT5", "5 m", "T5M", "P-1D", "PT1.S", "1y", "P5H"]
)
def test_what_is_no_duration_is_refused_with_a_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not an ISO 8601 duration"):
        to_timedelta(text)


@pytest.mark.parametrize("text", ["P1Y", "P1M", "P1Y2M3D", "P2M1D"])
def test_years_and_months_are_refused_because_they_have_no_fixed_length(text: str) -> None:
    with pytest.raises(ValueError, match="years and months have no fixed length"):
        to_timedelta(text)


@pytest.mark.parametrize("text", ["P999999999D", "999999999w", "PT999999999999999S"])
def test_a_duration_of_more_than_ten_thousand_years_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="too long"):
        to_timedelta(text)


@given(st.timedeltas(timedelta(days=-3_000_000), timedelta(days=3_000_000)))
def test_a_length_of_time_survives_being_written_and_read(length: timedelta) -> None:
    assert to_timedelta(from_timedelta(length)) == length


@given(st.integers(-(10**14), 10**14))
def test_milliseconds_survive_being_written_and_read_as_a_duration(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_as_a_value_error(text: str) -> None:
    for read in (to_datetime, to_timedelta):
        try:
            read(text)
        except ValueError as error:
            assert str(error)
