"""The packaged Avro schemas: `schemas/<Record>.<version>.avsc`, every version that was ever written to a
topic.

A version that has been released never changes, since records written with it stay in topics. A change of a
record is a new file with the next number; the highest is what this version of Strabo writes, all of them
are what it reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """One version of a record's schema.

    `fingerprint` is CRC-64-AVRO in the byte order of single-object encoding.
    """

    name: str
    version: int
    source: Mapping[str, Any]
    parsed: Any
    fingerprint: bytes


def parse(name: str, version: int, text: str) -> RecordSchema:
    """A schema from its JSON text."""
    source = json.loads(text)
    parsed = fastavro.parse_schema(source)
    # fastavro gives the number in hexadecimal in little-endian order, as the single-object header has it.
    checksum = bytes.fromhex(fingerprint(to_parsing_canonical_form(source), "CRC-64-AVRO"))
    return RecordSchema(name, version, source, parsed, checksum)


def packaged() -> dict[str, tuple[RecordSchema, ...]]:
    """Every packaged schema by record name, oldest version first."""
    found: dict[str, list[RecordSchema]] = {}
    for file in resources.files(__package__).joinpath("schemas").iterdir():
        name, _, rest = file.name.partition(".")
        if rest.endswith(".avsc"):
            version = int(rest.removesuffix(".avsc"))
            found.setdefault(name, []).append(parse(name, version, file.read_text(encoding="utf-8")))
    return {name: tuple(sorted(some, key=lambda schema: schema.version)) for name, some in found.items()}
