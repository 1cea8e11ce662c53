"""Registered functions made from typed Python functions."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from strabo_runtime.expressions.errors import FunctionsError
from strabo_runtime.expressions.installed import check_function, unknown_type
from strabo_runtime.expressions.registry import Function
from strabo_runtime.expressions.type_text import TypeTextError, read_type_text
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    Json,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Type,
)
from strabo_runtime.expressions.values import Decoder, Decoders

_PLAIN: Final[Mapping[Any, Type]] = {
    str: STRING,
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    dict: OBJECT,
    list: ListOf(ANY),
    datetime: TIMESTAMP,
    timedelta: DURATION,
    Any: ANY,
}


def function(*, version: str, name: str | None = None) -> Callable[[Callable[..., Any]], Function]:
    """Makes a registered function of a Python one, whose annotations give the types.

    `str`, `int`, `float`, `bool`, `dict`, `list[...]`, `dict[str, ...]`, `datetime`, `timedelta`, `Any`, `Literal` of
    texts and `Optional` of these are understood; `Annotated[dict, "map<number>"]` writes a type in the language's own
    words, and `Annotated[dict, {"cost": "number", "note": "string?"}]` a field map (`"open": True` lets others pass). A
    parameter with a default may be left out.

    The function is given Python values: a `datetime` in UTC for a timestamp, a `timedelta` for a duration, and stored
    JSON as it is for `Any` and `dict`. Raises FunctionsError for a signature that cannot be used.
    """

    def decorate(python: Callable[..., Any]) -> Function:
        called = name if name is not None else getattr(python, "__name__", "")
        made = _made(python, called, version)
        check_function(made)
        return made

    return decorate


def _made(python: Callable[..., Any], name: str, version: str) -> Function:
    if inspect.iscoroutinefunction(python) or inspect.isgeneratorfunction(python):
        raise FunctionsError(f"the function `{name}` is to give its result at once: no `async`, no `yield`")
    try:
        signature = inspect.signature(python)
        hints = get_type_hints(python, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise FunctionsError(f"the annotations of the function `{name}` cannot be read: {error}") from error
    if "return" not in hints:
        raise FunctionsError(
            f"the function `{name}` does not say what it gives: write `-> float`, for instance"
        )
    parameters: list[Field] = []
    defaults: list[Any] = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise FunctionsError(
                f"the function `{name}` is called with its arguments by position; `{parameter.name}` is not such"
            )
        if parameter.name not in hints:
            raise FunctionsError(
                f"the parameter `{parameter.name}` of the function `{name}` has no annotation"
            )
        type_ = _type(hints[parameter.name], f"the parameter `{parameter.name}` of the function `{name}`")
        has_default = parameter.default is not parameter.empty
        if has_default and not isinstance(type_, OptionalOf):
            type_ = OptionalOf(type_)
        parameters.append(Field(parameter.name, type_))
        defaults.append(parameter.default if has_default else None)
    result = _type(hints["return"], f"the result of the function `{name}`")
    call = _calling(python, tuple(parameters), tuple(defaults))
    return Function(name, version, tuple(parameters), result, call)


def _calling(
    python: Callable[..., Any], parameters: tuple[Field, ...], defaults: tuple[Any, ...]
) -> Callable[..., Any]:
    decoders = _Arguments({})
    decode: list[Decoder | None] = [decoders.of(parameter.type) for parameter in parameters]

    def call(*arguments: Json) -> Any:
        given = [
            default if value is None else value if decoder is None else decoder(value)
            for value, decoder, default in zip(arguments, decode, defaults, strict=True)
        ]
        return python(*given)

    return call


class _Arguments(Decoders):
    """Timestamps and durations as Python values; what is untyped stays as it is stored."""

    def of(self, type_: Type) -> Decoder | None:
        return None if type_ in (ANY, OBJECT) else super().of(type_)


def _type(annotation: Any, what: str) -> Type:
    try:
        plain = _PLAIN.get(annotation)
    except TypeError:
        plain = None
    if plain is not None:
        return plain
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        written = [each for each in inside[1:] if isinstance(each, (str, dict))]
        return _written(written[0], what) if written else _type(inside[0], what)
    if origin in (Union, types.UnionType):
        some = [each for each in inside if each is not type(None)]
        if len(some) == 1 and len(some) < len(inside):
            type_ = _type(some[0], what)
            return type_ if isinstance(type_, OptionalOf) or type_ == ANY else OptionalOf(type_)
    if origin is list and len(inside) == 1:
        return ListOf(_item(inside[0], what))
    if origin is dict and len(inside) == 2 and inside[0] is str:
        return OBJECT if inside[1] is Any else MapOf(_item(inside[1], what))
    if origin is Literal and inside and all(isinstance(each, str) for each in inside):
        return EnumOf(inside)
    shown = getattr(annotation, "__name__", None) or str(annotation)
    raise FunctionsError(
        f"{what} is annotated with {shown}, which stands for no type of the language: use str, int, float, bool, dict,"
        " list[...], dict[str, ...], datetime, timedelta, Literal, Any, Optional of these, or"
        ' Annotated[..., "a type in the language"]'
    )


def _item(annotation: Any, what: str) -> Type:
    """The values of a list or a map cannot be optional; where some may be null they are anything."""
    type_ = _type(annotation, what)
    return ANY if isinstance(type_, OptionalOf) else type_


def _written(written: Any, what: str) -> Type:
    """A type in the language's own words: its text, or a field map."""
    if isinstance(written, dict):
        fields = tuple(
            Field(str(name), _written(each, what))
            for name, each in written.items()
            if not isinstance(each, bool)
        )
        return Record(fields, open=written.get("open") is True)
    if not isinstance(written, str):
        raise FunctionsError(f"{what}: {written!r} is no type of the language")
    try:
        read = read_type_text(written)
    except TypeTextError as error:
        raise FunctionsError(f"{what}: the type `{written}` cannot be read: {error.message}") from None
    for name, _ in read.references:
        raise FunctionsError(unknown_type(what, name))
    return read.type
