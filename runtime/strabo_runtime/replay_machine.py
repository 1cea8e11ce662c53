"""Finds the machine that a history is played on: the very one that it was taken with, unless another is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_runtime.engine import Machine
from strabo_runtime.errors import NotReplayable
from strabo_runtime.functions import FunctionsError, installed_functions
from strabo_runtime.history_file import History, found_nothing
from strabo_runtime.language import load


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be other than it was when the history was recorded."""

    definition: bool = False
    functions: bool = False


AS_RECORDED = Allowed()


@dataclass(frozen=True, slots=True)
class Chosen:
    """A machine, and in words what of it is not as recorded."""

    machine: Machine
    told: tuple[str, ...] = ()


def machine_for(history: History, allowed: Allowed, text: str | None = None) -> Chosen:
    """The machine of a history, or that of another protocol's text.

    Raises:
        NotReplayable: the definition or a function is another one and that is not allowed, or the text does not load.
    """
    told: list[str] = []
    pins = _pins(history, allowed, told)
    filename = f"{history.protocol}@{history.version}"
    loaded = load(history.text if text is None else text, filename=filename, pins=pins)
    if loaded.machine is None:
        errors = [f"{one.span.line}:{one.span.column}: {one.message}" for one in loaded.diagnostics]
        raise NotReplayable(f"the definition {filename} does not load in this version of Strabo: {errors[0]}")
    machine = loaded.machine
    taken = {record.definition_hash for record in history.records if not found_nothing(record)}
    recorded = taken | {history.hash}
    for other in sorted(recorded - {machine.hash}):
        what = f"the history was taken under the definition {other}, and this one is {machine.hash}"
        if not allowed.definition:
            raise NotReplayable(f"{what}; with --any-definition it is played all the same")
        told.append(f"--any-definition: {what}")
    return Chosen(machine, tuple(told))


def _pins(history: History, allowed: Allowed, told: list[str]) -> dict[str, str]:
    """The versions of functions that are used: those recorded, and where another is allowed the newest installed."""
    try:
        installed = installed_functions()
    except FunctionsError as error:
        raise NotReplayable(f"the registered functions installed here cannot be had: {error}") from error
    pins = dict(history.functions)
    for name, version in history.functions.items():
        if installed.find(name, pins) is not None:
            continue
        newest = installed.find(name, {})
        have = (
            "and it is not installed here"
            if newest is None
            else f"and what is installed here is {newest.version}"
        )
        what = f"the history was taken with the function {name} in version {version}, {have}"
        if newest is None:
            raise NotReplayable(f"{what}; install the package that has it")
        if not allowed.functions:
            raise NotReplayable(f"{what}; with --any-functions it is played all the same")
        told.append(f"--any-functions: {what}")
        del pins[name]
    return pins
