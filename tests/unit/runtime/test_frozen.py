"""Frozen dataclasses that are cheap to construct behave as dataclasses do."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from strabo_runtime.frozen import quick_init


@quick_init
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)


def test_it_takes_arguments_by_place_and_by_name_with_defaults() -> None:
    assert (Point(1).x, Point(1).y, Point(1).tags) == (1, 2, [])
    assert Point(1, y=5) == Point(1, 5, [])
    assert Point(1).tags is not Point(1).tags


def test_it_stays_frozen_and_slotted() -> None:
    point = Point(1)
    assert type(point) is Point
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    assert not hasattr(point, "__dict__")


def test_replace_equality_and_representation_are_as_ever() -> None:
    assert replace(Point(1), y=9) == Point(1, 9)
    assert repr(Point(1)).endswith("Point(x=1, y=2, tags=[])")


def test_wrong_arguments_raise_as_they_do_elsewhere() -> None:
    with pytest.raises(TypeError, match="missing"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected"):
        Point(1, z=3)  # type: ignore[call-arg]


def test_it_refuses_what_it_cannot_make() -> None:
    with pytest.raises(TypeError, match="no dataclass"):
        quick_init(int)

    @dataclass(frozen=True, slots=True)
    class Derived:
        x: int = field(init=False, default=1)

    with pytest.raises(TypeError, match="no positional field"):
        quick_init(Derived)
