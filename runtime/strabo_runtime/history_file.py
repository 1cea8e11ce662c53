"""Histories of instances as files: one JSON object a line, the protocol first and then every step.

The first line names the instance and holds what its steps were taken with: the protocol's text and hash, the versions
of its functions and those fixed for its children. Every other line is a step record, its parts as JSON rather than as
text inside text. A file is complete in itself, and gives back the very bytes that were recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from strabo_avro.records import StepRecord
from strabo_runtime.errors import NotReplayable

KIND, FORMAT = "history", 1
_JSON_PARTS = ("input", "facts", "changes", "outputs", "rejection", "functions", "snapshot")
"""The parts of a record that hold JSON text."""

_BY_THE_WORKER = ("unknown", "overloaded", "quorum")
_NUMBERS = ("revision", "partition", "offset", "now")
_MAY_BE_ABSENT = ("rejection", "error", "snapshot")
_FIELDS = {each.name for each in fields(StepRecord)}
_HEADER = {
    "instance": str,
    "protocol": str,
    "version": str,
    "hash": str,
    "text": str,
    "functions": dict,
    "children": dict,
}


@dataclass(frozen=True, slots=True)
class History:
    """One instance's history, with the definition that it was taken under.

    `functions` are the versions of the registered functions that the protocol uses, `children` those of the child
    protocols that its text leaves open.
    """

    instance_id: str
    protocol: str
    version: str
    hash: str
    text: str
    records: tuple[StepRecord, ...]
    functions: Mapping[str, str] = field(default_factory=dict)
    children: Mapping[str, str] = field(default_factory=dict)


def found_nothing(record: StepRecord) -> bool:
    """Whether an input found no instance, and the worker answered it without asking the engine.

    Such records stand before a start, or long after the end when the instance is forgotten.
    """
    if record.state_before or record.state_after:
        return False
    if record.verdict == "ignored":
        return True
    rejection = None if record.rejection is None else orjson.loads(record.rejection)
    return isinstance(rejection, dict) and rejection.get("by") in _BY_THE_WORKER


def history_lines(history: History) -> Iterator[bytes]:
    """The lines of a history's file, without their ends."""
    first = history.records[0] if history.records else None
    yield orjson.dumps(
        {
            "strabo": KIND,
            "format": FORMAT,
            "instance": history.instance_id,
            "protocol": history.protocol,
            "version": history.version,
            "hash": history.hash,
            "functions": dict(history.functions),
            "children": dict(history.children),
            "engine": "" if first is None else first.engine,
            "text": history.text,
        }
    )
    for record in history.records:
        yield orjson.dumps(_written(record))


def write_history(history: History, path: Path) -> None:
    """Write a history to a file. Raises OSError."""
    path.write_bytes(b"".join(line + b"\n" for line in history_lines(history)))


def read_history(path: Path) -> History:
    """The history in a file.

    Raises:
        OSError: the file cannot be read.
        NotReplayable: it is no history, is damaged, or of a format that this version does not know.
    """
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    header = _object(path, 1, lines[0] if lines else b"")
    if header.get("strabo") != KIND:
        raise NotReplayable(
            f"{path} is no history: its first line must be one that `strabo replay ID --save` writes"
        )
    if header.get("format") != FORMAT:
        raise NotReplayable(
            f"{path} is a history of format {header.get('format')}, and this version of Strabo reads {FORMAT}"
        )
    for name, kind in _HEADER.items():
        if not isinstance(header.get(name), kind):
            raise NotReplayable(f"{path}, line 1: {name} is missing, or not of its type")
    return History(
        instance_id=header["instance"],
        protocol=header["protocol"],
        version=header["version"],
        hash=header["hash"],
        text=header["text"],
        records=tuple(_records(path, lines[1:], header["instance"])),
        functions=header["functions"],
        children=header["children"],
    )


def _records(path: Path, lines: Iterable[bytes], instance_id: str) -> Iterator[StepRecord]:
    for number, line in enumerate(lines, start=2):
        stored = _object(path, number, line)
        odd = ", ".join(sorted(stored.keys() ^ _FIELDS))
        if odd:
            raise NotReplayable(f"{path}, line {number}: not a step record: {odd} is missing, or not known")
        for part in _JSON_PARTS:
            if stored[part] is not None or part not in _MAY_BE_ABSENT:
                stored[part] = orjson.dumps(stored[part])
        wrong = [name for name in sorted(_FIELDS) if not _fits(name, stored[name])]
        if wrong:
            raise NotReplayable(f"{path}, line {number}: {wrong[0]} is not of its type")
        if stored["instance_id"] != instance_id:
            raise NotReplayable(
                f"{path}, line {number}: a step of {stored['instance_id']!r} in the history of {instance_id!r}"
            )
        stored["logs"] = tuple(stored["logs"])
        yield StepRecord(**stored)


def _fits(name: str, value: object) -> bool:
    if name in _JSON_PARTS:
        return True
    if name in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "logs":
        return isinstance(value, list) and all(isinstance(line, str) for line in value)
    return isinstance(value, str) or (value is None and name in _MAY_BE_ABSENT)


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise NotReplayable(f"{path}, line {number}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise NotReplayable(f"{path}, line {number}: not a JSON object")
    return value


def _written(record: StepRecord) -> dict[str, Any]:
    written = asdict(record)
    for part in _JSON_PARTS:
        if written[part] is not None:
            written[part] = orjson.Fragment(written[part])
    return written
