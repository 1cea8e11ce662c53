"""What is wrong with a JSON Schema itself: against its metaschema, and references that lead out of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeAlias

import orjson
from jsonschema_rs import Draft202012Validator, ValidationError

from strabo_runtime.expressions.depth import is_deep
from strabo_runtime.expressions.errors import Path
from strabo_runtime.expressions.schema_cost import SchemaCost
from strabo_runtime.expressions.schema_parts import Addresses, parts, references
from strabo_runtime.expressions.time import to_datetime, to_timedelta

DEEPEST_SCHEMA = 48
MOST_FAULTS = 50
LONGEST_TEXT = 300
"""Characters of one error: the library's texts quote the whole value."""

Fault: TypeAlias = tuple[Path, str]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SMALL = {"a": {"a": None}}
_METASCHEMA = Draft202012Validator({"$ref": _DRAFT}, validate_formats=True)
_KINDS = ("array", "boolean", "integer", "null", "number", "object", "string")


def schema_faults(schema: Any, *, any_draft: bool = False) -> list[Fault]:
    """What is wrong with a schema, each with the path to where it is; [] for a schema that can be used.

    It is read as JSON Schema 2020-12; with `any_draft` its `$schema` may say otherwise. Its references stay inside it:
    nothing is ever fetched.
    """
    if is_deep(schema, DEEPEST_SCHEMA):
        return [((), f"the schema is nested more than {DEEPEST_SCHEMA} levels deep")]
    try:
        orjson.dumps(schema)
    except TypeError as error:
        return [((), f"the schema is not JSON: {error}")]
    if not isinstance(schema, (dict, bool)):
        return [((), "a schema is an object, or true or false")]
    faults = [*islice(_metaschema_faults(schema, any_draft), MOST_FAULTS)] or [
        *islice(_strays(schema), MOST_FAULTS)
    ]
    if faults:
        return faults
    try:
        compiled(schema)
    except (ValueError, RecursionError) as error:
        # What the metaschema lets pass: a pointer to nowhere above all.
        return [(_place_of_reference(schema, str(error)), shortened(str(error).splitlines()[0]))]
    if not SchemaCost(schema).is_bearable(_SMALL):
        return [
            ((), "its parts refer to each other so often that checking even a small value might take hours")
        ]
    return []


def compiled(schema: Any) -> Draft202012Validator:
    """The validator of a schema. Raises ValueError or RecursionError where `schema_faults` finds something."""
    return Draft202012Validator(
        schema,
        retriever=_refuse,
        validate_formats=True,
        formats={"date-time": is_timestamp, "duration": is_duration},
    )


def is_timestamp(text: str) -> bool:
    """The format `date-time`, as everywhere in the language."""
    try:
        to_datetime(text)
    except ValueError:
        return False
    return True


def is_duration(text: str) -> bool:
    """The format `duration`, as everywhere in the language: no years and no months."""
    try:
        to_timedelta(text)
    except ValueError:
        return False
    return True


def shortened(text: str) -> str:
    """An error's text, cut off where it quotes a large value."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def _refuse(address: str) -> Any:
    raise ValueError(f"$ref to {address}: only references inside the schema are followed")


def _metaschema_faults(schema: Any, any_draft: bool) -> Iterator[Fault]:
    # Another `$schema` would be checked by other rules than it is used by.
    if isinstance(schema, dict) and not any_draft:
        draft = schema.get("$schema", _DRAFT)
        if not isinstance(draft, str) or draft.rstrip("#") != _DRAFT:
            yield ("$schema",), f"the schema is read as JSON Schema 2020-12: write {_DRAFT}, or leave it out"
            return
    try:
        for error in _METASCHEMA.iter_errors(schema):
            yield tuple(error.instance_path), _fault_text(error)
    except (ValueError, RecursionError) as error:
        yield (), shortened(str(error).splitlines()[0])


def _fault_text(error: ValidationError) -> str:
    path = list(error.instance_path)
    if path and path[-1] == "type" and not isinstance(error.instance, list):
        return f"{orjson.dumps(error.instance).decode()} is no type: one of {', '.join(_KINDS)}, or a list of them"
    return shortened(error.message)


def _strays(schema: Any) -> Iterator[Fault]:
    """The references that lead out of the schema, those to well-known metaschemas among them."""
    addresses = Addresses(schema)
    for part in parts(schema):
        for keyword, reference in references(part):
            if not reference.startswith("#") and not addresses.leads_inside(part.base, reference):
                yield (
                    (*part.path, keyword),
                    f"{keyword} to {reference[:100]}: only references inside the schema are followed",
                )


def _place_of_reference(schema: Any, text: str) -> Path:
    """The reference that an error of the library speaks of; the whole schema where none is found in its text."""
    for part in parts(schema):
        for keyword, reference in references(part):
            if reference in text or reference.lstrip("#") in text:
                return (*part.path, keyword)
    return ()
