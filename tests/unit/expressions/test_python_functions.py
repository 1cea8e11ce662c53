"""The decorator that makes a registered function of a typed Python function."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Optional

import pytest

from strabo_runtime.expressions import EvaluationError
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
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Type,
)
from strabo_runtime.functions import Function, FunctionsError, function


def made(python: Callable[..., Any]) -> Function:
    return function(version="1", name="made")(python)


def taking(annotation: Any) -> Function:
    def python(value):  # type: ignore[no-untyped-def]
        return 0

    python.__annotations__ = {"value": annotation, "return": int}
    return made(python)


@pytest.mark.parametrize(
    ("annotation", "type_"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, NUMBER),
        (bool, BOOLEAN),
        (dict, OBJECT),
        (list, ListOf(ANY)),
        (Any, ANY),
        (datetime, TIMESTAMP),
        (timedelta, DURATION),
        (list[str], ListOf(STRING)),
        (list[list[int]], ListOf(ListOf(INTEGER))),
        (list[int | None], ListOf(ANY)),
        (dict[str, float], MapOf(NUMBER)),
        (dict[str, Any], OBJECT),
        (dict[str, list[datetime]], MapOf(ListOf(TIMESTAMP))),
        (str | None, OptionalOf(STRING)),
        (Optional[timedelta], OptionalOf(DURATION)),  # noqa: UP045
        (Any | None, ANY),
        (Literal["a", "b"], EnumOf(("a", "b"))),
        (Annotated[dict[str, Any], "map<number>"], MapOf(NUMBER)),
        (Annotated[str, "enum(low, high)?"], OptionalOf(EnumOf(("low", "high")))),
        (
            Annotated[dict[str, Any], {"name": "string", "at": {"x": "number?"}}],
            Record((Field("name", STRING), Field("at", Record((Field("x", OptionalOf(NUMBER)),))))),
        ),
        (Annotated[int, object()], INTEGER),
    ],
)
def test_an_annotation_stands_for_a_type(annotation: Any, type_: Type) -> None:
    assert taking(annotation).parameters == (Field("value", type_),)


@pytest.mark.parametrize(
    "annotation",
    [set, bytes, complex, int | str, dict[int, str], tuple[int, ...], Literal[1, 2], object, None],
)
def test_an_annotation_that_stands_for_no_type_is_refused(annotation: Any) -> None:
    with pytest.raises(FunctionsError, match=r"`value` of the function `made`.*stands for no type"):
        taking(annotation)


def test_a_type_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(FunctionsError, match="the type `list<` cannot be read"):
        taking(Annotated[list[Any], "list<"])


def test_a_type_of_a_protocol_is_unknown_to_a_function() -> None:
    with pytest.raises(FunctionsError, match="uses the type `Bid`"):
        taking(Annotated[dict[str, Any], "list<Bid>"])


def test_name_version_and_result_are_kept() -> None:
    @function(version="1.2")
    def half(value: float) -> float:
        return value / 2.0

    assert (half.name, half.version, half.result) == ("half", "1.2", NUMBER)
    assert half.apply([3.0]) == 1.5


def test_a_parameter_with_a_default_may_be_left_out() -> None:
    def power(base: int, exponent: int = 2) -> int:
        return int(base**exponent)

    squared = made(power)
    assert squared.required == 1
    assert squared.parameters[1].type == OptionalOf(INTEGER)
    assert squared.apply([3]) == 9
    assert squared.apply([3, None]) == 9
    assert squared.apply([3, 3]) == 27


def test_an_optional_parameter_is_given_none() -> None:
    def told(text: str | None) -> str:
        return "nothing" if text is None else text

    assert made(told).apply([]) == "nothing"
    assert made(told).apply(["x"]) == "x"


def test_times_are_given_as_python_values_and_untyped_ones_as_they_are_stored() -> None:
    seen: list[Any] = []

    def look(at: datetime, waits: list[timedelta], anything: Any, whole: dict[str, Any]) -> bool:
        seen.extend([at, waits, anything, whole])
        return True

    assert made(look).apply(["2030-01-01T00:00:00Z", ["PT1M"], 1, {"n": 1, "t": "PT1M"}]) is True
    assert seen == [datetime(2030, 1, 1, tzinfo=UTC), [timedelta(minutes=1)], 1, {"n": 1, "t": "PT1M"}]
    assert [type(each) for each in seen[2:]] == [int, dict]


@pytest.mark.parametrize(
    ("annotation", "given", "stored"),
    [
        (datetime, datetime(2030, 1, 1, tzinfo=UTC), "2030-01-01T00:00:00Z"),
        (timedelta, timedelta(minutes=90), "PT1H30M"),
        (float, 3, 3.0),
        (int, 3.0, 3),
        (list[int], (1, 2), [1, 2]),
        (dict, {"a": (datetime(2030, 1, 1, tzinfo=UTC),)}, {"a": ["2030-01-01T00:00:00Z"]}),
        (str | None, None, None),
        (Any, None, None),
    ],
)
def test_a_result_is_brought_into_stored_form(annotation: Any, given: Any, stored: Any) -> None:
    result = _giving(annotation, given).apply([])
    assert (result, type(result)) == (stored, type(stored))


@pytest.mark.parametrize(
    ("annotation", "given", "says"),
    [
        (str, 1, "is not text"),
        (str, None, "is not text"),
        (int, 2**63, "does not fit 64 bits"),
        (Any, 2**70, "does not fit 64 bits"),
        (float, float("nan"), "not finite"),
        (Any, {1, 2}, "a set is not a value of the language"),
        (Any, b"x", "a bytes is not a value of the language"),
        (Any, {1: 2}, "the keys of an object are texts"),
        (datetime, datetime(2030, 1, 1), "no time zone"),
        (str, "\ud800", "surrogates not allowed"),
        (Literal["a"], "b", "is not one of a"),
        (Annotated[dict[str, Any], {"a": "integer"}], {"b": 1}, "/a: is missing"),
        (list, [["x" * 1000] * 1000] * 10, "more than 4 MiB"),
    ],
)
def test_a_result_of_another_type_is_an_error_of_the_step(annotation: Any, given: Any, says: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        _giving(annotation, given).apply([])
    assert says in caught.value.text
    assert caught.value.text.startswith("made() gave ")


def test_a_result_that_holds_itself_is_an_error_of_the_step() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(EvaluationError, match="RecursionError"):
        _giving(list, endless).apply([])


class Mean(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("too heavy"), "made() gave no result: too heavy"),
        (KeyError("x"), "made() gave no result: KeyError: 'x'"),
        (MemoryError(), "made() gave no result: MemoryError: "),
        (Mean(), "made() gave no result: Mean: its text cannot be told"),
        (RuntimeError("y" * 1000), "made() gave no result: RuntimeError: " + "y" * 300 + "..."),
    ],
)
def test_whatever_a_function_raises_is_an_error_of_the_step(error: Exception, says: str) -> None:
    def failing() -> int:
        raise error

    with pytest.raises(EvaluationError) as caught:
        made(failing).apply([])
    assert caught.value.text == says


def _several(*values: int) -> int:
    return 0


def _named(*, value: int) -> int:
    return 0


async def _later() -> int:
    return 0


def _silent(value: int):  # type: ignore[no-untyped-def]
    return 0


def _untyped(value) -> int:  # type: ignore[no-untyped-def]
    return 0


def _unknown(value: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 0


def _into(into: int) -> int:
    return 0


@pytest.mark.parametrize(
    ("python", "says"),
    [
        (_several, "`values` is not such"),
        (_named, "`value` is not such"),
        (_later, "no `async`"),
        (_silent, "does not say what it gives"),
        (_untyped, "the parameter `value` of the function `made` has no annotation"),
        (_unknown, "cannot be read: name 'Nowhere' is not defined"),
        (_into, "`into` cannot be the name of a parameter"),
    ],
)
def test_a_signature_that_cannot_be_used_is_refused(python: Callable[..., Any], says: str) -> None:
    with pytest.raises(FunctionsError) as caught:
        made(python)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("size", "has a function `size` of its own"),
        ("min_by", "has a function `min_by` of its own"),
        ("exists", "has a function `exists` of its own"),
        ("message", "`message` is a name that the language keeps for itself"),
        ("children", "`children` is a name that the language keeps for itself"),
        ("send", "`send` is a name that the language keeps for itself"),
        ("for", "`for` is a name that the language keeps for itself"),
        ("two words", "cannot be a function's name"),
        ("", "cannot be a function's name"),
    ],
)
def test_a_name_that_is_taken_is_refused(name: str, says: str) -> None:
    with pytest.raises(FunctionsError) as caught:
        function(version="1", name=name)(_several_free)
    assert says in str(caught.value)


def test_a_function_without_a_version_is_refused() -> None:
    with pytest.raises(FunctionsError, match="has no version"):
        function(version="")(_several_free)


def _several_free() -> int:
    return 0


def _giving(annotation: Any, value: Any) -> Function:
    def python():  # type: ignore[no-untyped-def]
        return value

    python.__annotations__ = {"return": annotation}
    return made(python)
