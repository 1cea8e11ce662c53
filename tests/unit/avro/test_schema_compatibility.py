"""Every version of a schema that was ever released is held against the newest: records stay in topics for years."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from fastavro.schema import to_parsing_canonical_form

from strabo_avro import schema_files
from strabo_avro.codec import decode
from strabo_avro.records import RECORD_TYPES, Record
from tests.unit.avro.samples import SAMPLES

GOLDEN = Path(__file__).parent / "golden"
PACKAGED = schema_files.packaged()
NO_DEFAULT = object()


def read_released() -> Iterator[Any]:
    for folder in sorted(GOLDEN.glob("version_*")):
        for file in sorted(folder.glob("*.avsc")):
            version = int(folder.name.removeprefix("version_"))
            yield pytest.param(file.stem, version, json.loads(file.read_text()), id=f"{file.stem}-{version}")


RELEASED = list(read_released())


def default_of(field: dict[str, Any]) -> Any:
    default = field.get("default", NO_DEFAULT)
    if field["type"] == "bytes" and default is not NO_DEFAULT:
        return default.encode("latin-1")
    return tuple(default) if isinstance(default, list) else default


def sample_values(name: str) -> dict[str, Any]:
    return next(dataclasses.asdict(sample) for sample in SAMPLES if type(sample).__name__ == name)


def rewritten(values: dict[str, Any], writer: Any, reader: Any) -> Any:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(writer), values)
    stream.seek(0)
    return fastavro.schemaless_reader(stream, fastavro.parse_schema(writer), fastavro.parse_schema(reader))


@pytest.mark.parametrize(("name", "version", "schema"), RELEASED)
def test_a_released_version_never_changes(name: str, version: int, schema: Any) -> None:
    packaged = next(one for one in PACKAGED[name] if one.version == version)
    assert to_parsing_canonical_form(packaged.source) == to_parsing_canonical_form(schema)
    assert [field.get("default", NO_DEFAULT) for field in packaged.source["fields"]] == [
        field.get("default", NO_DEFAULT) for field in schema["fields"]
    ]


@pytest.mark.parametrize(("name", "version", "schema"), RELEASED)
def test_records_of_a_released_version_are_read_by_the_newest(name: str, version: int, schema: Any) -> None:
    newest = PACKAGED[name][-1].source
    values = sample_values(name)
    written = {field["name"]: values[field["name"]] for field in schema["fields"]}
    read = rewritten(written, schema, newest)
    assert {key: tuple_of(read[key]) for key in written} == written
    assert set(read) == {field["name"] for field in newest["fields"]}


@pytest.mark.parametrize(("name", "version", "schema"), RELEASED)
def test_records_of_the_newest_are_read_by_a_released_version(name: str, version: int, schema: Any) -> None:
    read = rewritten(sample_values(name), PACKAGED[name][-1].source, schema)
    values = sample_values(name)
    assert {key: tuple_of(value) for key, value in read.items()} == {key: values[key] for key in read}


@pytest.mark.parametrize(("name", "version", "schema"), RELEASED)
def test_no_field_of_a_released_version_is_gone_and_every_new_one_has_a_default(
    name: str, version: int, schema: Any
) -> None:
    newest = {field["name"]: field for field in PACKAGED[name][-1].source["fields"]}
    old = {field["name"] for field in schema["fields"]}
    assert old <= set(newest)
    assert [field for field in newest if field not in old and "default" not in newest[field]] == []


@pytest.mark.parametrize("folder", sorted(GOLDEN.glob("version_*")), ids=lambda folder: folder.name)
def test_bytes_that_a_released_version_wrote_are_still_read(folder: Path) -> None:
    stored = json.loads((folder / "records.json").read_text())
    assert stored.keys() == {file.stem for file in folder.glob("*.avsc")}
    for name, data in stored.items():
        assert decode(bytes.fromhex(data), TYPES[name]) == as_written_by(folder, name)


@pytest.mark.parametrize("record_type", RECORD_TYPES, ids=lambda record_type: record_type.__name__)
def test_a_record_class_has_its_schemas_fields_in_order_and_their_defaults(record_type: type[Record]) -> None:
    fields = PACKAGED[record_type.__name__][-1].source["fields"]
    of_class = [
        (field.name, NO_DEFAULT if field.default is dataclasses.MISSING else field.default)
        for field in dataclasses.fields(record_type)
    ]
    without_class_default = {"key", "value"} if record_type.__name__ == "DeadLetter" else set()
    assert of_class == [
        (field["name"], NO_DEFAULT if field["name"] in without_class_default else default_of(field))
        for field in fields
    ]


def test_every_packaged_schema_has_a_released_copy_of_each_version() -> None:
    copies = {
        (file.stem, int(file.parent.name.removeprefix("version_")))
        for file in GOLDEN.glob("version_*/*.avsc")
    }
    assert copies == {(name, schema.version) for name, versions in PACKAGED.items() for schema in versions}


def test_no_two_schemas_share_a_fingerprint() -> None:
    fingerprints = [schema.fingerprint for versions in PACKAGED.values() for schema in versions]
    assert len(set(fingerprints)) == len(fingerprints)


def as_written_by(folder: Path, name: str) -> Record:
    """The sample as a version knew it: fields that came later have their defaults."""
    known = {field["name"] for field in json.loads((folder / f"{name}.avsc").read_text())["fields"]}
    sample = next(one for one in SAMPLES if type(one).__name__ == name)
    return TYPES[name](**{key: value for key, value in sample_fields(sample).items() if key in known})


def sample_fields(sample: Record) -> dict[str, Any]:
    return {field.name: getattr(sample, field.name) for field in dataclasses.fields(sample)}


def tuple_of(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


TYPES: dict[str, type[Record]] = {record_type.__name__: record_type for record_type in RECORD_TYPES}
