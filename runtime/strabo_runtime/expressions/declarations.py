"""The functions and macros of expressions: their names, and the language's own ones as CEL's checker knows them."""

from __future__ import annotations

_ELEMENT = "{type_name: A, is_type_param: true}"
_ELEMENTS = f"{{type_name: list, params: [{_ELEMENT}]}}"
_TEXT, _ANYTHING, _DOUBLE, _BOOLEAN = (
    f"{{type_name: {name}}}" for name in ("string", "dyn", "double", "bool")
)
_COUNTS = "{type_name: map, params: [{type_name: string}, {type_name: int}]}"
_TEXTS = "{type_name: list, params: [{type_name: string}]}"
_ORDERED = ("int", "double", "string", "timestamp", "duration")

_SIGNATURES: dict[str, list[tuple[list[str], str]]] = {
    "min_by": [([_ELEMENTS, _TEXT], _ELEMENT)],
    "max_by": [([_ELEMENTS, _TEXT], _ELEMENT)],
    "sort_by": [([_ELEMENTS, _TEXT], _ELEMENTS)],
    "sum_by": [([_ELEMENTS, _TEXT], _ANYTHING)],
    "avg_by": [([_ELEMENTS, _TEXT], _DOUBLE)],
    "count_by": [([_ELEMENTS, _TEXT], _COUNTS)],
    "distinct": [([_ELEMENTS], _ELEMENTS)],
    "least": [([f"{{type_name: {name}}}"] * 2, f"{{type_name: {name}}}") for name in _ORDERED],
    "greatest": [([f"{{type_name: {name}}}"] * 2, f"{{type_name: {name}}}") for name in _ORDERED],
    "merge": [([_ANYTHING, _ANYTHING], _ANYTHING)],
    "without": [([_ANYTHING, _TEXT], _ANYTHING)],
    "schema_errors": [([_ANYTHING, _ANYTHING], _TEXTS)],
    "is_schema": [([_ANYTHING], _BOOLEAN)],
}

OWN_FUNCTIONS = tuple(_SIGNATURES)
MACROS = ("has", "all", "exists", "exists_one", "map", "filter")
TEXT_FUNCTIONS = ("contains", "startsWith", "endsWith", "matches")
CONVERSIONS = ("int", "double", "string", "bool", "timestamp", "duration", "dyn")
CALENDAR_FUNCTIONS = (
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
)  # fmt: skip
ALL_FUNCTIONS = (*OWN_FUNCTIONS, *MACROS, "size", *TEXT_FUNCTIONS, *CONVERSIONS, *CALENDAR_FUNCTIONS)


def environment_yaml() -> str:
    """The own functions in the YAML of CEL's environments, the only form that knows type parameters."""
    lines = ["functions:"]
    for name, overloads in _SIGNATURES.items():
        lines += [f"- name: {name}", "  overloads:"]
        for position, (arguments, result) in enumerate(overloads):
            lines += [
                f"  - id: {name}_{position}",
                f"    args: [{', '.join(arguments)}]",
                f"    return: {result}",
            ]
    return "\n".join(lines)
