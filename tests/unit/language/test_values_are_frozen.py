"""No value of the language can change after it was made, and none takes more memory than its fields."""

from __future__ import annotations

import dataclasses
import pkgutil
from functools import cached_property
from importlib import import_module
from inspect import isclass

import pytest

import strabo_runtime.language as room

VALUES = [
    each
    for found in pkgutil.walk_packages(room.__path__, room.__name__ + ".")
    for each in vars(import_module(found.name)).values()
    if isclass(each) and each.__module__ == found.name and dataclasses.is_dataclass(each)
    if not each.__name__.startswith("_")
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__qualname__)
def test_a_value_is_frozen_and_has_slots(value: type) -> None:
    assert vars(value)["__dataclass_params__"].frozen
    # What is worked out once and kept needs a place of its own.
    keeps = any(isinstance(attribute, cached_property) for attribute in vars(value).values())
    assert keeps or "__slots__" in vars(value)
