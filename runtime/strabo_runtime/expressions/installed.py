"""The registered functions of the installed packages, found by their entry points and checked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from strabo_runtime.expressions.declarations import ALL_FUNCTIONS
from strabo_runtime.expressions.errors import FunctionsError
from strabo_runtime.expressions.registry import Function, Functions
from strabo_runtime.expressions.roots import ROOT_NAMES
from strabo_runtime.expressions.type_text import IDENTIFIER, UNREADABLE_FIELDS
from strabo_runtime.expressions.types import ListOf, MapOf, OptionalOf, Record, Reference, Type

GROUP: Final = "strabo.functions"

ACTION_NAMES: Final = (
    "set_variable", "append_to_list", "send", "broadcast", "emit", "start_timer", "cancel_timer", "start_protocol",
    "cancel_protocol", "bind", "unbind", "replace", "compensate", "fail", "log",
)  # fmt: skip
"""A registered function is an action too, so it cannot have the name of one."""

_ACTION_FIELDS = ("into", "for_each")
"""Fields of the action that are no parameters."""

# CEL's own words (language definition, section "Syntax").
_RESERVED_WORDS = (
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "type", "bytes", "uint", "list", "map", "var", "void", "while",
)  # fmt: skip

_RESERVED = frozenset({*ROOT_NAMES, "each", *ACTION_NAMES, *_RESERVED_WORDS})


@cache
def installed_functions() -> Functions:
    """What the packages installed here register under `strabo.functions`, found once.

    Raises FunctionsError for the first package whose functions cannot be used.
    """
    return functions_of(entry_points(group=GROUP))


def functions_of(found: Iterable[EntryPoint]) -> Functions:
    """The functions that entry points name: each a Function, or a list of them. Raises FunctionsError."""
    known: dict[tuple[str, str], tuple[Function, str]] = {}
    for entry in sorted(found, key=lambda entry: (_package(entry), entry.name, entry.value)):
        package = _package(entry)
        for function in _loaded(entry):
            try:
                check_function(function)
            except FunctionsError as error:
                raise FunctionsError(f"{_where(entry)}: {error}") from None
            key = function.name, function.version
            other, of = known.setdefault(key, (function, package))
            if other != function:
                raise FunctionsError(
                    f"{_where(entry)}: the package `{of}` registers another function `{function.name}` in version"
                    f" {function.version}; give one of them another version or another name"
                )
    return Functions(function for function, _ in known.values())


def check_function(function: Function) -> None:
    """Raises FunctionsError for a function that no expression or action could call."""
    name = function.name
    if not isinstance(name, str) or IDENTIFIER.fullmatch(name) is None:
        raise FunctionsError(f"{name!r} cannot be a function's name: letters, digits and `_`, no digit first")
    if name in ALL_FUNCTIONS:
        raise FunctionsError(f"the language has a function `{name}` of its own; choose another name")
    if name in _RESERVED:
        raise FunctionsError(f"`{name}` is a name that the language keeps for itself; choose another name")
    if not isinstance(function.version, str) or not function.version:
        raise FunctionsError(f"the function `{name}` has no version")
    if not callable(function.call):
        raise FunctionsError(f"the function `{name}` cannot be called")
    seen: set[str] = set()
    for parameter in function.parameters:
        given = parameter.name
        if IDENTIFIER.fullmatch(given) is None or given in (*_ACTION_FIELDS, *UNREADABLE_FIELDS):
            raise FunctionsError(f"`{given}` cannot be the name of a parameter of the function `{name}`")
        if given in seen:
            raise FunctionsError(f"the function `{name}` has two parameters `{given}`")
        seen.add(given)
    for type_ in (*(parameter.type for parameter in function.parameters), function.result):
        if (unknown := _reference(type_)) is not None:
            raise FunctionsError(unknown_type(f"the function `{name}`", unknown))


def unknown_type(what: str, name: str) -> str:
    """What to say of a protocol's type in a function."""
    return f"{what} uses the type `{name}`; the types of a protocol are unknown to it: write the fields, or `object`"


def _reference(type_: Type) -> str | None:
    """A name of a protocol's type in a type."""
    match type_:
        case Reference(name):
            return name
        case ListOf(inner) | MapOf(inner) | OptionalOf(inner):
            return _reference(inner)
        case Record(fields):
            found = (_reference(field.type) for field in fields)
            return next((name for name in found if name is not None), None)
        case _:
            return None


def _loaded(entry: EntryPoint) -> tuple[Function, ...]:
    try:
        value = entry.load()
    except Exception as error:
        # A package's module may raise anything when it is imported.
        raise FunctionsError(
            f"{_where(entry)}: it cannot be loaded ({type(error).__name__}: {error}); mend or remove the package"
        ) from error
    functions = value if isinstance(value, (list, tuple)) else (value,)
    for function in functions:
        if not isinstance(function, Function):
            raise FunctionsError(
                f"{_where(entry)}: it names {function!r:.100}, which is no function of strabo_runtime.functions; put"
                " the decorator `@function(version=...)` on it"
            )
    return tuple(functions)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _where(entry: EntryPoint) -> str:
    return f"the package `{_package(entry)}` registers functions (`{entry.name} = {entry.value}`) that cannot be used"
