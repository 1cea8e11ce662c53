"""Values with expressions in them: `${ cel }`, `$name.path`, `$$`, in text and nested in lists and objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from strabo_runtime.expressions.depth import (
    MOST_BUILT,
    built_size,
    is_bounded,
    is_deep,
    too_deep,
    too_large,
)
from strabo_runtime.expressions.errors import EvaluationError, ExpressionError, ExpressionErrors, Path
from strabo_runtime.expressions.operators import check_length
from strabo_runtime.expressions.resolution import describe, is_optional, resolve, unwrapped
from strabo_runtime.expressions.scanning import closing_brace
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.time import from_datetime, from_timedelta, to_datetime, to_timedelta
from strabo_runtime.expressions.types import (
    STRING,
    EnumOf,
    Json,
    ListOf,
    MapOf,
    NamedTypes,
    Record,
    Scalar,
    Type,
)

Render: TypeAlias = Callable[[Scope], Json]
CompileExpression: TypeAlias = "Callable[[str, Type | None], Rendering]"

MAXIMUM_DEPTH = 32
"""Levels of one template."""

MAXIMUM_LENGTH = 50_000
"""Code points of one text with expressions in it."""

_PATH = re.compile(r"\$([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a part of a template gives: always the same value, or a function of the scope."""

    render: Render
    constant: bool = False
    as_text: Callable[[Scope], str] | None = None


class Template:
    """A value that is rendered at each use. A constant one gives the same JSON each time, not to be changed."""

    __slots__ = ("constant", "render", "source")

    def __init__(self, source: Json, rendering: Rendering) -> None:
        self.source = source
        self.constant = rendering.constant
        self.render = rendering.render

    def __repr__(self) -> str:
        return f"Template({self.source!r})"


class TemplateCompiler:
    """Compiles one nested value against an expected type, gathering every error with its path."""

    def __init__(self, compile_expression: CompileExpression, named: NamedTypes) -> None:
        self._compile_expression = compile_expression
        self._named = named
        self._errors: list[tuple[Path, ExpressionError]] = []

    def compile(self, value: Any, expect: Type | None) -> Template:
        """The template. Raises ExpressionErrors."""
        rendering = self._value(value, expect, ())
        if self._errors:
            raise ExpressionErrors(self._errors)
        built = isinstance(value, (dict, list)) and not rendering.constant
        if built and expect is not None and not is_bounded(expect, self._named):
            rendering = Rendering(_shallow(rendering.render))
        return Template(value, rendering)

    def _value(self, value: Any, expect: Type | None, path: Path) -> Rendering:
        try:
            if len(path) > MAXIMUM_DEPTH:
                raise ExpressionError(
                    f"nested more than {MAXIMUM_DEPTH} levels deep", code="template-too-deep"
                )
            if isinstance(value, str):
                return self._text(value, expect)
            if isinstance(value, dict):
                return self._object(value, expect, path)
            if isinstance(value, (list, tuple)):
                return self._list(value, expect, path)
            return _constant(literal(value, expect, self._named))
        except ExpressionError as error:
            self._errors.extend((path, each) for each in error.flattened())
        except ExpressionErrors as errors:
            self._errors.extend(((*path, *inner), error) for inner, error in errors.errors)
        return _constant(None)

    # -- objects and lists --------------------------------------------------------------------------------------------

    def _object(self, value: Mapping[Any, Any], expect: Type | None, path: Path) -> Rendering:
        expected = None if expect is None else unwrapped(expect, self._named)
        match expected:
            case None | Scalar("object" | "any"):
                types: dict[str, Type | None] = dict.fromkeys(value)
            case MapOf(item):
                types = dict.fromkeys(value, item)
            case Record():
                types = self._field_types(value, expected, path)
            case _:
                raise ExpressionError(
                    f"expected {describe(expected, self._named)}, but this is an object",
                    code="expression-type",
                )
        optional = {
            name for name, type_ in types.items() if type_ is not None and is_optional(type_, self._named)
        }
        if not isinstance(expected, Record):
            optional = set()
        parts = [
            (str(name), self._value(item, types.get(name), (*path, name)), name in optional)
            for name, item in value.items()
        ]
        if all(part.constant for _, part, _ in parts):
            return _constant(_assembled([(name, part.render(_NO_SCOPE), drop) for name, part, drop in parts]))
        return Rendering(_render_object(parts))

    def _field_types(self, value: Mapping[Any, Any], record: Record, path: Path) -> dict[str, Type | None]:
        """The type of each given field; unknown and missing ones are errors."""
        declared = {field.name: field.type for field in record.fields}
        for name in value:
            if name not in declared and not record.open:
                hint = did_you_mean(str(name), declared)
                error = ExpressionError(
                    f"`{name}` is not a field of {describe(record, self._named)}",
                    code="unknown-field",
                    length=len(str(name)),
                    hint=hint,
                    known=declared,
                )
                self._errors.append(((*path, name), error))
        missing = [
            name
            for name, type_ in declared.items()
            if name not in value and not is_optional(type_, self._named)
        ]
        if missing:
            fields = ", ".join(f"`{name}`" for name in missing)
            self._errors.append((path, ExpressionError(f"missing: {fields}", code="missing-field")))
        return {name: declared.get(name) for name in value}

    def _list(self, value: list[Any] | tuple[Any, ...], expect: Type | None, path: Path) -> Rendering:
        expected = None if expect is None else unwrapped(expect, self._named)
        match expected:
            case None | Scalar("any"):
                item: Type | None = None
            case ListOf(item):
                pass
            case _:
                raise ExpressionError(
                    f"expected {describe(expected, self._named)}, but this is a list", code="expression-type"
                )
        parts = [self._value(each, item, (*path, position)) for position, each in enumerate(value)]
        if all(part.constant for part in parts):
            return _constant([part.render(_NO_SCOPE) for part in parts])
        return Rendering(_render_list(parts))

    # -- text ---------------------------------------------------------------------------------------------------------

    def _text(self, value: str, expect: Type | None) -> Rendering:
        if match := _PATH.fullmatch(value):
            try:
                return self._compile_expression(match[1], expect)
            except ExpressionError as error:
                raise _with_dollar_hint(error.moved(1), value) from None
        pieces = split(value)
        if len(pieces) == 1 and isinstance(pieces[0], Embedded):
            return self._embedded(pieces[0], expect)
        if not any(isinstance(piece, Embedded) for piece in pieces):
            return _constant(literal("".join(map(str, pieces)), expect, self._named))
        return self._mixed(pieces, expect)

    def _embedded(self, piece: Embedded, expect: Type | None) -> Rendering:
        try:
            return self._compile_expression(piece.text, expect)
        except ExpressionError as error:
            raise error.moved(piece.offset) from None

    def _mixed(self, pieces: list[str | Embedded], expect: Type | None) -> Rendering:
        expected = None if expect is None else unwrapped(expect, self._named)
        if (
            expected is not None
            and expected not in (STRING, Scalar("any"))
            and not isinstance(expected, EnumOf)
        ):
            raise ExpressionError(
                f"expected {describe(expected, self._named)}, but this is text", code="expression-type"
            )
        errors: list[ExpressionError] = []
        parts: list[Callable[[Scope], str]] = []
        for piece in pieces:
            if isinstance(piece, str):
                parts.append(_always(piece))
                continue
            try:
                as_text = self._embedded(piece, None).as_text
                if as_text is not None:
                    parts.append(as_text)
            except ExpressionError as error:
                errors.extend(error.flattened())
        if errors:
            raise ExpressionErrors([((), error) for error in errors])

        def render(scope: Scope) -> Json:
            texts = [part(scope) for part in parts]
            check_length(sum(map(len, texts)))
            text = "".join(texts)
            if isinstance(expected, EnumOf) and text not in expected.values:
                raise EvaluationError(f"{text!r} is not one of {', '.join(expected.values)}")
            return text

        return Rendering(render)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The inside of a `${ }`, and where it begins in the text."""

    text: str
    offset: int


def split(text: str) -> list[str | Embedded]:
    """A text as literal pieces and embedded expressions. `$$` is a dollar, and so is any other `$` without a brace."""
    if len(text) > MAXIMUM_LENGTH and "${" in text:
        raise ExpressionError(
            f"a text with expressions has at most {MAXIMUM_LENGTH} characters, this one has {len(text)}",
            code="expression-too-long",
        )
    pieces: list[str | Embedded] = []
    literal_text: list[str] = []
    position = 0
    while True:
        dollar = text.find("$", position)
        if dollar < 0:
            break
        literal_text.append(text[position:dollar])
        if text.startswith("${", dollar):
            end = closing_brace(text, dollar + 2)
            if end is None:
                raise ExpressionError(
                    "`${` is not closed",
                    code="expression-syntax",
                    offset=dollar,
                    length=2,
                    hint="write $${ for the characters",
                )
            if "".join(literal_text):
                pieces.append("".join(literal_text))
            literal_text = []
            pieces.append(Embedded(text[dollar + 2 : end], dollar + 2))
            position = end + 1
        else:
            literal_text.append("$")
            position = dollar + (2 if text.startswith("$$", dollar) else 1)
    literal_text.append(text[position:])
    rest = "".join(literal_text)
    if rest or not pieces:
        pieces.append(rest)
    return pieces


def literal(value: Any, expect: Type | None, named: NamedTypes) -> Json:
    """The stored form of a scalar as written in YAML. Raises ExpressionError where it is not of the expected type."""
    if expect is None:
        return _plain(value)
    if value is None:
        if is_optional(expect, named) or resolve(expect, named) == Scalar("any"):
            return None
        raise ExpressionError(f"expected {describe(expect, named)}, but this is null", code="expression-type")
    expected = unwrapped(expect, named)
    match expected, value:
        case Scalar("any"), _:
            return _plain(value)
        case Scalar("string"), str():
            return value
        case Scalar("boolean"), bool():
            return value
        case Scalar("integer"), int() if not isinstance(value, bool) and -(2**63) <= value < 2**63:
            return value
        case Scalar("number"), int() | float() if not isinstance(value, bool):
            return _finite(value)
        case Scalar("timestamp"), str():
            return _time(lambda: from_datetime(to_datetime(value)), value)
        case Scalar("duration"), str():
            return _time(lambda: from_timedelta(to_timedelta(value)), value)
        case EnumOf(values), str():
            if value in values:
                return value
            raise ExpressionError(
                f"{value!r} is not one of {', '.join(values)}",
                code="unknown-enum-value",
                length=len(value),
                hint=did_you_mean(value, values),
            )
    shown = "true or false" if isinstance(value, bool) else "text" if isinstance(value, str) else "a number"
    length = len(value) if isinstance(value, str) else 1
    raise ExpressionError(
        f"expected {describe(expected, named)}, but this is {shown}",
        code="expression-type",
        length=max(1, length),
    )


def _plain(value: Any) -> Json:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return value
        raise ExpressionError("the number does not fit 64 bits", code="expression-value")
    if isinstance(value, float):
        return _finite(value)
    raise ExpressionError(f"a {type(value).__name__} is not a value of this language", code="expression-type")


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number - number != 0:
        raise ExpressionError("the number is not finite", code="expression-value")
    return number


def _time(read: Callable[[], str], value: str) -> str:
    try:
        return read()
    except ValueError as error:
        raise ExpressionError(str(error), code="expression-value", length=max(1, len(value))) from None


def _constant(value: Json) -> Rendering:
    return Rendering(lambda scope: value, constant=True)


def _shallow(render: Render) -> Render:
    """A template may wrap a stored value in one more level at every step; this is where that ends."""

    def checked(scope: Scope) -> Json:
        value = render(scope)
        if is_deep(value):
            raise too_deep()
        return value

    return checked


def _always(text: str) -> Callable[[Scope], str]:
    return lambda scope: text


def _assembled(parts: list[tuple[str, Json, bool]]) -> Json:
    """An object without its optional nulls."""
    return {name: value for name, value, droppable in parts if not (droppable and value is None)}


def _render_object(parts: list[tuple[str, Rendering, bool]]) -> Render:
    renders = [(name, part.render, droppable, part.constant) for name, part, droppable in parts]

    def render_object(scope: Scope) -> Json:
        result: dict[str, Json] = {}
        size = 0
        for name, render, droppable, constant in renders:
            value = render(scope)
            if value is None and droppable:
                continue
            if not constant:
                size = _counted(size, value)
            result[name] = value
        return result

    return render_object


def _render_list(parts: list[Rendering]) -> Render:
    renders = [(part.render, part.constant) for part in parts]

    def render_list(scope: Scope) -> Json:
        result: list[Json] = []
        size = 0
        for render, constant in renders:
            value = render(scope)
            if not constant:
                size = _counted(size, value)
            result.append(value)
        return result

    return render_list


def _counted(size: int, value: Json) -> int:
    """The size so far and that of one more part: many parts of a template may each give a large value."""
    kind = type(value)
    if kind is str:
        size += len(value)  # type: ignore[arg-type]
    elif kind is dict or kind is list:
        size += built_size(value)
    else:
        return size
    if size > MOST_BUILT:
        raise too_large()
    return size


def _with_dollar_hint(error: ExpressionError, value: str) -> ExpressionError:
    """`$USD` may have been meant as a text."""
    if error.code != "unknown-name" or error.hint is not None:
        return error
    hint = f"write `${value}` for the text `{value}`"
    return ExpressionError(
        error.message,
        code=error.code,
        offset=error.offset,
        length=error.length,
        hint=hint,
        known=error.known,
        others=error.others,
    )


_NO_SCOPE: Any = None
"""What constant parts are rendered with."""
