"""RFC 3339 timestamps and ISO 8601 durations, read and written in one canonical form.

Timestamps are written in UTC (`2030-01-01T00:05:00Z`), durations without years and months (`PT1H30M`); a fraction of
a second appears only where there is one. Inside expressions they are `datetime` and `timedelta` (microseconds);
outside, the engine counts milliseconds since the epoch.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MICROSECOND = timedelta(microseconds=1)
LONGEST_DURATION = timedelta(days=3_652_500)
"""Ten thousand years: no two timestamps are further apart."""

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?P<time>T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,12})M)?(?:(?P<seconds>\d{1,15}(?:[.,]\d{1,9})?)S)?)?",
    re.ASCII,
)
_YEARS_OR_MONTHS = re.compile(r"-?P(?:\d+Y)|-?P(?:\d+Y)?\d+M", re.ASCII)
_SHORT = re.compile(r"(?:\d{1,12}(?:\.\d{1,9})?(?:ms|[wdhms]))+", re.ASCII)
_SHORT_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[wdhms])", re.ASCII)
_SHORT_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": MILLISECOND,
}


@lru_cache(maxsize=4096)
def to_datetime(text: str) -> datetime:
    """The instant of an RFC 3339 text, in UTC, to the microsecond. Raises ValueError that says what is expected."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:60]!r} is not an RFC 3339 timestamp such as 2030-01-01T00:05:00Z")
    date, clock, fraction, zone = match.groups()
    try:
        return datetime.fromisoformat(
            f"{date}T{clock}{(fraction or '')[:7]}{'+00:00' if zone in 'Zz' else zone}"
        ).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a date and time of the calendar: {error}") from None


def from_datetime(instant: datetime) -> str:
    """The canonical text of an instant."""
    return f"{instant.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat()}{_fraction(instant.microsecond)}Z"


@lru_cache(maxsize=4096)
def to_timedelta(text: str) -> timedelta:
    """The length of an ISO 8601 (`PT30M`) or short (`1h30m`) duration. Raises ValueError that says what is wrong."""
    match = _DURATION.fullmatch(text)
    length: timedelta | None = None
    try:
        if match is not None and text[-1] not in "PT":
            parts = {
                name: float(match[name].replace(",", ".")) if name == "seconds" else int(match[name])
                for name in ("weeks", "days", "hours", "minutes", "seconds")
                if match[name] is not None
            }
            length = timedelta(**parts)
            if match["sign"]:
                length = -length
        elif _SHORT.fullmatch(text):
            length = sum(
                (_times(number, _SHORT_UNITS[unit]) for number, unit in _SHORT_PART.findall(text)),
                timedelta(),
            )
    except OverflowError:
        raise ValueError(f"the duration {text!r} is too long") from None
    if length is None:
        if _YEARS_OR_MONTHS.match(text):
            raise ValueError(f"{text[:60]!r}: years and months have no fixed length; count in days")
        raise ValueError(f"{text[:60]!r} is not an ISO 8601 duration such as PT30M (30m is also read)")
    if abs(length) > LONGEST_DURATION:
        raise ValueError(f"the duration {text!r} is too long")
    return length


def from_timedelta(length: timedelta) -> str:
    """The canonical text of a duration: days, hours, minutes and seconds, each only where it is not zero."""
    sign = "-" if length < timedelta() else ""
    length = abs(length)
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    days = f"{length.days}D" if length.days else ""
    clock = f"{hours}H" if hours else ""
    clock += f"{minutes}M" if minutes else ""
    clock += f"{seconds}{_fraction(length.microseconds)}S" if seconds or length.microseconds else ""
    if not days and not clock:
        return "PT0S"
    return f"{sign}P{days}{'T' + clock if clock else ''}"


def parse_timestamp(text: str) -> int:
    """Milliseconds since the epoch of an RFC 3339 text; finer fractions are cut off."""
    return (to_datetime(text) - EPOCH) // MILLISECOND


def format_timestamp(milliseconds: int) -> str:
    """The canonical text of milliseconds since the epoch. Raises ValueError outside the years 1 to 9999."""
    return from_datetime(instant(milliseconds))


@lru_cache(maxsize=1024)
def instant(milliseconds: int) -> datetime:
    """The instant of milliseconds since the epoch. Raises ValueError outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise ValueError(f"{milliseconds} ms since the epoch lies outside the years 1 to 9999") from None


def parse_duration(text: str) -> int:
    """Milliseconds of a duration's text; finer fractions are cut off."""
    return to_timedelta(text) // MILLISECOND


def format_duration(milliseconds: int) -> str:
    """The canonical text of a number of milliseconds."""
    return from_timedelta(timedelta(milliseconds=milliseconds))


def _fraction(microseconds: int) -> str:
    """Three digits where milliseconds suffice, else six: equal values have equal texts."""
    if not microseconds:
        return ""
    return f".{microseconds // 1000:03d}" if microseconds % 1000 == 0 else f".{microseconds:06d}"


def _times(number: str, unit: timedelta) -> timedelta:
    return unit * int(number) if number.isdigit() else unit * float(number)
