"""Messages to JSON payloads and back: pydantic models, durations as ISO 8601, times as RFC 3339."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from strabo_agents.errors import PayloadError, Permanent
from strabo_agents.json_types import Json, JsonObject

ModelT = TypeVar("ModelT", bound=BaseModel)


def to_payload(type_name: str, message: BaseModel | Mapping[str, object]) -> JsonObject:
    """The payload of a message of type `type_name`.

    What a model was not given, and is None by default, is left out: to a JSON Schema an absent field is not a null.
    A time must have a zone and is written in UTC; a duration is written in days at most, since the protocol
    language takes neither years nor months, which pydantic would write.

    Raises:
        PayloadError: a value has no place in JSON; the text names its field.
    """
    try:
        values = _dumped(message) if isinstance(message, BaseModel) else message
        if not isinstance(values, Mapping):
            raise PayloadError(
                f"the payload of {type_name} is a {type(values).__name__}; it must be a JSON object"
            )
        return {str(name): _to_json(value, f"{type_name}.{name}") for name, value in values.items()}
    except (RecursionError, ValueError) as error:
        # Of pydantic too, where a model holds itself.
        raise PayloadError(
            f"the payload of {type_name} is nested too deeply, or in itself: {error}"
        ) from error


def encode_payload(payload: Mapping[str, Json]) -> bytes:
    """The JSON text of a payload.

    Raises:
        PayloadError: it is nested too deeply, or holds an integer of more than 64 bits or text that is not Unicode.
    """
    try:
        return orjson.dumps(payload)
    except TypeError as error:
        raise PayloadError(f"the payload has no JSON form: {error}") from error


def decode_payload(data: bytes) -> JsonObject:
    """The payload in this JSON text.

    Raises:
        Permanent: the text is no JSON object.
    """
    try:
        payload = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Permanent(f"the payload is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise Permanent(f"the payload is not a JSON object but {type(payload).__name__}")
    return cast(JsonObject, payload)


def read_model(data: bytes, model: type[ModelT]) -> ModelT:
    """The payload as an instance of `model`.

    Raises:
        Permanent: it does not fit; the text names every failing field.
    """
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        problems = "; ".join(
            f"/{'/'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False)
        )
        raise Permanent(f"the payload does not fit the model {model.__name__}: {problems}") from error


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, with a fraction only where there is one. `moment` must have a zone."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


def format_duration(duration: timedelta) -> str:
    """ISO 8601 in days, hours, minutes and seconds."""
    sign = "-" if duration < timedelta(0) else ""
    length = abs(duration)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{length.microseconds:06d}".rstrip("0") if length.microseconds else ""
    days = f"{length.days}D" if length.days else ""
    time = "".join(f"{amount}{unit}" for amount, unit in ((hours, "H"), (minutes, "M")) if amount)
    if seconds or fraction:
        time += f"{seconds}{fraction}S"
    if not days and not time:
        return "PT0S"
    return f"{sign}P{days}{'T' + time if time else ''}"


def moment(milliseconds: int) -> datetime:
    """A time on the wire as a datetime in UTC, exactly."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _dumped(model: BaseModel) -> object:
    whole = model.model_dump(mode="python", by_alias=True)
    return _given(whole, model.model_dump(mode="python", by_alias=True, exclude_unset=True))


def _given(whole: object, given: object) -> object:
    """What was dumped, without the Nones that nobody gave."""
    if isinstance(whole, dict) and isinstance(given, dict):
        return {
            name: _given(value, given[name]) if name in given else value
            for name, value in whole.items()
            if value is not None or name in given
        }
    if isinstance(whole, list | tuple) and isinstance(given, list | tuple) and len(whole) == len(given):
        return [_given(value, other) for value, other in zip(whole, given, strict=True)]
    return whole


def _to_json(value: object, where: str) -> Json:
    if value is None or type(value) in (bool, int, str):
        return cast(Json, value)
    if isinstance(value, BaseModel):
        return _to_json(_dumped(value), where)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise PayloadError(f"{where} is a time without a zone: give it one, as in datetime.now(UTC)")
        return format_timestamp(value)
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise PayloadError(f"{where} is {value}, which JSON cannot hold")
        return value
    if isinstance(value, Mapping):
        return {str(name): _to_json(item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json(item, f"{where}[{position}]") for position, item in enumerate(value)]
    try:
        return cast(Json, to_jsonable_python(value))
    except (PydanticSerializationError, UnicodeError) as error:
        raise PayloadError(f"{where} is a {type(value).__name__}, which has no JSON form") from error
