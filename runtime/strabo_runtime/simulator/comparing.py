"""Compares an instance with what a scenario expects of it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import ndiff

import orjson

from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.rejection import Rejection
from strabo_runtime.expressions.types import Json
from strabo_runtime.language import Span
from strabo_runtime.simulator.scenario import ExpectStep, Refusal, Wanted

_ABSENT = "(absent)"
_ONE_LINE = 80
"""A value of up to so many characters is shown on one line."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that was expected and is not so. `lines` shows large values line by line: `-` expected, `+` found."""

    span: Span
    what: str
    expected: str
    found: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal that came."""

    sender: str
    message: str
    rejection: Rejection


def without_instance(expect: ExpectStep) -> list[Mismatch]:
    """A scenario whose start was refused can expect nothing of the instance."""
    wanted = [("state", expect.state), ("status", expect.status), ("timers", expect.timers)]
    for what, group in (
        ("variable", expect.variables),
        ("result", expect.result),
        ("pending", expect.pending),
    ):
        wanted += [(f"{what} {name}", one) for name, one in (group or {}).items()]
    return [
        Mismatch(one.span, what, _text(one.value), "there is no instance: it was not started")
        for what, one in wanted
        if one is not None
    ]


def compare_instance(expect: ExpectStep, instance: Instance) -> list[Mismatch]:
    """Everything of the instance that is not as expected."""
    found = differ(expect.state, "state", instance.state)
    found += differ(expect.status, "status", instance.status)
    for path, wanted in (expect.variables or {}).items():
        found += _differ_at(wanted, f"variable {path}", dict(instance.variables.json), path)
    for path, wanted in (expect.result or {}).items():
        found += _differ_at(wanted, f"result {path}", instance.result, path)
    for role, wanted in (expect.pending or {}).items():
        owing = dict.fromkeys(debt.agent for debt in instance.pending if debt.role == role)
        found += _differ_unordered(wanted, f"pending {role}", list(owing))
    if expect.timers is not None:
        names = [timer.key.removeprefix("timer:") for timer in instance.timers]
        found += _differ_unordered(expect.timers, "timers", names)
    return found


def compare_refusals(span: Span, wanted: tuple[Refusal, ...], came: list[Refused]) -> list[Mismatch]:
    """The refusals that were expected against those that came, in order."""
    if len(wanted) == len(came) and all(map(_fits, wanted, came)):
        return []
    expected = [_refusal(one.sender, one.message, one.by, one.constraint) for one in wanted]
    found = [
        _refusal(one.sender, one.message, one.rejection.by, ", ".join(one.rejection.constraints) or None)
        for one in came
    ]
    lines = tuple(ndiff(expected, found)) if len(expected) + len(found) > 2 else ()
    return [
        Mismatch(span, "rejected", "; ".join(expected) or "nothing", "; ".join(found) or "nothing", lines)
    ]


def differ(wanted: Wanted | None, what: str, found: Json) -> list[Mismatch]:
    """A mismatch where a value is not the one that was wanted."""
    if wanted is None or _equal(wanted.value, found):
        return []
    expected, shown = _text(wanted.value), _text(found)
    lines: tuple[str, ...] = ()
    if len(expected) + len(shown) > _ONE_LINE and _is_nested(wanted.value) and _is_nested(found):
        lines = tuple(
            line for line in ndiff(_indented(wanted.value), _indented(found)) if not line.startswith("?")
        )
    return [Mismatch(wanted.span, what, expected, shown, lines)]


def _differ_unordered(wanted: Wanted, what: str, found: list[str]) -> list[Mismatch]:
    expected: list[Json] = wanted.value if isinstance(wanted.value, list) else [wanted.value]
    if sorted(map(str, expected)) == sorted(found):
        return []
    return [Mismatch(wanted.span, what, _text(expected), _text(list(found)))]


def _differ_at(wanted: Wanted, what: str, value: Json, path: str) -> list[Mismatch]:
    for part in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif wanted.value is None:
            return []
        else:
            return [Mismatch(wanted.span, what, _text(wanted.value), _ABSENT)]
    return differ(wanted, what, value)


def _equal(wanted: Json, found: Json) -> bool:
    """Equality of JSON: 1 and 1.0 are the same number, `true` is none."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(_equal(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(map(_equal, wanted, found))
    return wanted == found


def _fits(wanted: Refusal, came: Refused) -> bool:
    return (
        wanted.sender == came.sender
        and wanted.message == came.message
        and wanted.by == came.rejection.by
        and (wanted.constraint is None or wanted.constraint in came.rejection.constraints)
    )


def _refusal(sender: str, kind: str, by: str, constraint: str | None) -> str:
    return f"{kind} from {sender} by {by}" + (f" {constraint}" if constraint else "")


def _text(value: Json) -> str:
    return orjson.dumps(value).decode()


def _indented(value: Json) -> list[str]:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().splitlines()


def _is_nested(value: Json) -> bool:
    return isinstance(value, dict | list)
