"""A published protocol's record as a machine, compiled as it was when it was published."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from strabo_avro.records import Definition
from strabo_runtime.engine import Machine
from strabo_runtime.functions import FunctionsError, installed_functions
from strabo_runtime.language import load


def compile_published(definition: Definition) -> Machine | str:
    """The machine of a published text, or why there is none in this process."""
    name = f"{definition.name} {definition.version}"
    pins = pinned(definition.functions)
    try:
        missing = missing_functions(pins) if pins else ""
    except FunctionsError as error:
        return f"{name} uses registered functions, and those installed here cannot be had: {error}"
    if missing:
        return (
            f"{name} was published with {missing}, which is not installed here: install the package that has it"
            " where this runs"
        )
    loaded = load(definition.text, filename=f"{definition.name}@{definition.version}", pins=pins)
    if loaded.machine is None:
        errors = [one for one in loaded.diagnostics if one.severity == "error"]
        first = f": {errors[0].message}" if errors else ""
        return f"the published text of {name} does not load in this version of Strabo{first}"
    if loaded.machine.hash != definition.hash:
        return f"the published text of {name} has the hash {loaded.machine.hash}, not {definition.hash} as published"
    return loaded.machine


def pinned(stored: bytes) -> Mapping[str, str]:
    """Names and the versions fixed for them, of a definition's `children` or `functions`."""
    pins: dict[str, str] = orjson.loads(stored)
    return pins


def missing_functions(pins: Mapping[str, str]) -> str:
    """The pinned functions that this process does not have, each with its version; empty when it has all.

    Raises FunctionsError where an installed package offers what is no function.
    """
    installed = installed_functions()
    return ", ".join(
        f"the function {name} in version {version}"
        for name, version in sorted(pins.items())
        if installed.find(name, pins) is None
    )
