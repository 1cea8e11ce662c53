"""The functions over JSON Schema: `schema_errors` and `is_schema`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson
from jsonschema_rs import Draft202012Validator

from strabo_runtime.expressions.building import Builder
from strabo_runtime.expressions.code import Code, Frame, Run, needed
from strabo_runtime.expressions.depth import DEEPEST, built_size, is_deep
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.schema_cost import SchemaCost
from strabo_runtime.expressions.schema_faults import MOST_FAULTS, compiled, schema_faults, shortened
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.syntax import Call, Node
from strabo_runtime.expressions.types import BOOLEAN, STRING, ListOf
from strabo_runtime.expressions.validator import pointer
from strabo_runtime.expressions.values import encode


def compile_call(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code | None:
    """The code of one of these functions; None when the call is not one."""
    match node.function:
        case "schema_errors":
            return _schema_errors(codes)
        case "is_schema":
            return _is_schema(codes)
    return None


def _schema_errors(codes: list[Code]) -> Code:
    value, schema = _json(_present(codes[0])), _json(needed(codes[1]))

    def run(scope: Scope, frame: Frame) -> Any:
        validator, cost = _validator(_dumped(schema(scope, frame)))
        given = value(scope, frame)
        if is_deep(given):
            raise EvaluationError(f"schema_errors(): the value is nested more than {DEEPEST} levels deep")
        if not cost.is_bearable(given):
            raise EvaluationError("schema_errors(): checking this value against this schema might take hours")
        try:
            found = validator.iter_errors(given)
            # As many as anyone reads: a large value has thousands, and each text quotes what it is about.
            return [
                f"{pointer(list(error.instance_path))}: {shortened(error.message)}"
                for error in islice(found, MOST_FAULTS)
            ]
        except (ValueError, RecursionError) as error:
            raise EvaluationError(f"schema_errors(): {error}") from None

    return Code(run, ListOf(STRING), "schema_errors(...)", pure=True)


def _is_schema(codes: list[Code]) -> Code:
    value = _json(_present(codes[0]))

    def run(scope: Scope, frame: Frame) -> bool:
        schema = value(scope, frame)
        try:
            _validator(_dumped(schema))
        except EvaluationError:
            return False
        return True

    return Code(run, BOOLEAN, "is_schema(...)", pure=True)


def _present(code: Code) -> Code:
    """Null is a value, an absent field is none."""
    return needed(code) if code.is_field else code


def _json(code: Code) -> Run:
    """The stored JSON of a value, as it is where the expression only passes it on."""
    if code.stored is not None:
        return code.stored
    run, pure = code.run, code.pure

    def json(scope: Scope, frame: Frame) -> Any:
        value = run(scope, frame)
        if isinstance(value, (dict, list, tuple)):
            built_size(value)
        return value if pure else encode(value)

    return json


def _dumped(schema: Any) -> bytes:
    try:
        return orjson.dumps(schema)
    except TypeError as error:
        raise EvaluationError(f"not a JSON Schema: {error}") from None


@lru_cache(maxsize=64)
def _validator(schema: bytes) -> tuple[Draft202012Validator, SchemaCost]:
    """The compiled schema, and what checking against it costs. Raises EvaluationError for what is none."""
    value = orjson.loads(schema)
    for path, text in schema_faults(value, any_draft=True):
        raise EvaluationError(f"not a JSON Schema: {f'{pointer(path)}: ' if path else ''}{text}")
    return compiled(value), SchemaCost(value)
