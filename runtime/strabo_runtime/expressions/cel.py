"""The one door to CEL's C++ library: parsing, name and type checking, and the functions that are left to it.

Checked expressions come out as a syntax tree of ours, which `compiler` turns into closures over stored JSON.
Evaluating in the library was tried: it copies every message that an expression touches into its own memory, which for
a list of twenty bids takes 50 microseconds a step, several times what the closures take for the whole step. What they
do not do themselves (regular expressions, the calendar, the formats of numbers) is handed to the library value by
value, so that its behaviour is CEL's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, TypeAlias

from cel_expr_python import cel

from strabo_runtime.expressions.declarations import environment_yaml
from strabo_runtime.expressions.descriptors import Descriptors
from strabo_runtime.expressions.errors import EvaluationError, ExpressionError
from strabo_runtime.expressions.registry import Function
from strabo_runtime.expressions.reports import Vocabulary, explain
from strabo_runtime.expressions.scanning import code_spans, nesting
from strabo_runtime.expressions.syntax import SyntaxTree, parse_serialised

LibraryValue: TypeAlias = bool | int | float | str | datetime | timedelta | None

MAXIMUM_LENGTH = 20_000
"""Code points of one expression; the library takes 100,000."""

MAXIMUM_NESTING = 100
"""Brackets open at once, before the library is asked at all: it stops at 32 levels, but only after recursing."""

_OR_NULL = "_or_null_"
"""Appended to the name of an optional list or map where it is compared with null, which CEL's checker refuses."""

_TYPES = {
    bool: cel.Type.BOOL,
    int: cel.Type.INT,
    float: cel.Type.DOUBLE,
    str: cel.Type.STRING,
    datetime: cel.Type.TIMESTAMP,
    timedelta: cel.Type.DURATION,
}


@lru_cache(maxsize=8)
def _configuration(declarations: str) -> cel.EnvConfig:
    """The declared functions as the library keeps them: reading their YAML costs as much as all else of a checker."""
    return cel.NewEnvConfigFromYaml(declarations)


class Checker:
    """Checks expressions against one set of typed variables."""

    def __init__(
        self,
        descriptors: Descriptors,
        variables: Mapping[str, str],
        optional_collections: frozenset[str],
        functions: Sequence[Function] = (),
    ) -> None:
        """`variables` gives CEL types by name; `optional_collections` are those lists and maps that may be null."""
        declared = {
            name: cel.Type(type_) if type_ != "dyn" else cel.Type.DYN for name, type_ in variables.items()
        }
        declared |= {name + _OR_NULL: cel.Type.DYN for name in optional_collections}
        self._environment = cel.NewEnv(
            descriptors.pool, config=_configuration(environment_yaml(functions)), variables=declared
        )
        self._vocabulary = Vocabulary(
            tuple(variables), descriptors.fields, tuple(function.name for function in functions)
        )
        names = "|".join(map(re.escape, sorted(optional_collections)))
        self._compared_with_null = (
            re.compile(rf"(?<![\w.])(?:(?:{names})(?=\s*[=!]=\s*null\b)|null\s*[=!]=\s*(?:{names})\b)")
            if names
            else None
        )

    def check(self, text: str) -> SyntaxTree:
        """The checked tree of an expression. Raises ExpressionError for the first error; the others come with it."""
        _check_size(text)
        checked, insertions = self._nullable(text)

        def original(offset: int) -> int:
            return offset - len(_OR_NULL) * sum(insertion < offset for insertion in insertions)

        try:
            serialised = self._environment.compile(checked).serialize()
        except (RuntimeError, ValueError) as error:
            raise explain(str(error), checked, original, self._vocabulary) from None
        tree = parse_serialised(serialised)
        return SyntaxTree(tree.root, {key: original(offset) for key, offset in tree.offsets.items()})

    def _nullable(self, text: str) -> tuple[str, list[int]]:
        """The text with `tags == null` as `tags_or_null_ == null`, and where in the new text that was inserted."""
        insertions: list[int] = []
        if self._compared_with_null is None or "null" not in text:
            return text, insertions
        pieces: list[str] = []
        length = position = 0
        for start, end in code_spans(text):
            for match in self._compared_with_null.finditer(text, start, end):
                pieces += [text[position : match.end()], _OR_NULL]
                length += match.end() - position
                insertions.append(length)
                length += len(_OR_NULL)
                position = match.end()
        return "".join([*pieces, text[position:]]), insertions


def plain_name(name: str) -> str:
    """The variable's own name, also where it is compared with null."""
    return name.removesuffix(_OR_NULL)


def call_library(function: str, is_method: bool, *arguments: LibraryValue) -> LibraryValue:
    """What CEL's own function gives for these values. Raises EvaluationError where it gives an error."""
    types = tuple(type(argument) for argument in arguments)
    try:
        program = _program(function, is_method, types)
        result: Any = program.eval(data={f"a{index}": argument for index, argument in enumerate(arguments)})
    except (RuntimeError, ValueError, TypeError) as error:
        raise EvaluationError(f"{function}(): {_first_line(str(error))}") from None
    value = result.value()
    if result.type() == cel.Type.ERROR:
        raise EvaluationError(f"{function}(): {_first_line(str(value))}")
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value  # type: ignore[no-any-return]


@cache
def _program(function: str, is_method: bool, types: tuple[type, ...]) -> Any:
    environment = cel.NewEnv(
        variables={f"a{index}": _TYPES.get(type_, cel.Type.DYN) for index, type_ in enumerate(types)}
    )
    names = [f"a{index}" for index in range(len(types))]
    if is_method:
        return environment.compile(f"{names[0]}.{function}({', '.join(names[1:])})")
    return environment.compile(f"{function}({', '.join(names)})")


def _first_line(report: str) -> str:
    line = report.splitlines()[0] if report else "failed"
    return line.removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: <input>:1:3: ").split(" [")[0]


def _check_size(text: str) -> None:
    if not text.strip():
        raise ExpressionError("the expression is empty", code="expression-syntax", length=max(1, len(text)))
    if len(text) > MAXIMUM_LENGTH:
        raise ExpressionError(
            f"the expression has {len(text)} characters; at most {MAXIMUM_LENGTH} are allowed",
            code="expression-too-long",
        )
    if nesting(text) > MAXIMUM_NESTING:
        raise ExpressionError(
            f"more than {MAXIMUM_NESTING} brackets are open at once",
            code="expression-too-deep",
            length=len(text),
        )
