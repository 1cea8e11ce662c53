"""Reads the language's types: `list<Finding>`, `enum(a, b)?`, field maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strabo_runtime.expressions.resolution import resolve
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.type_text import UNREADABLE_FIELDS, TypeTextError, read_type_text
from strabo_runtime.expressions.types import (
    ANY,
    SCALARS,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    Type,
)
from strabo_runtime.language.definition import TypeSyntax
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import MappingNode, Name, Node, ScalarNode
from strabo_runtime.language.shape import IDENTIFIER, describe

BUILT_IN_TYPES: Final = (*SCALARS, "list", "map", "enum")
FORMS: Final = (
    "one of `string`, `integer`, `number`, `boolean`, `object`, `any`, `timestamp`, `duration`, `list<T>`, `map<T>`, "
    "`enum(a, b)`, a declared name, or a field map; with `?` for optional"
)


def read_type(node: Node, what: str, reporter: Reporter) -> TypeSyntax:
    """The type that `node` writes. One that cannot be read is reported, and counts as `any` for what follows."""
    if isinstance(node, MappingNode):
        return _field_map(node, what, reporter)
    if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
        reporter.error("bad-type", node.span, f"{what} is {describe(node)}", expected=FORMS)
        return TypeSyntax(ANY, (), node.span)
    try:
        read = read_type_text(node.text)
    except TypeTextError as error:
        reporter.error(
            "bad-type",
            node.span_at(error.offset, error.length),
            f"{what} `{node.text}` cannot be read: {error.message}",
            expected=FORMS,
            hint=error.hint or _cut_off(node),
        )
        return TypeSyntax(ANY, (), node.span)
    references = tuple(Name(name, node.span_at(offset, len(name))) for name, offset in read.references)
    return TypeSyntax(read.type, references, node.span)


def _cut_off(node: ScalarNode) -> str | None:
    # `{kind: enum(a, b)}`: the comma ends the value, and YAML reads a key `b)`.
    if node.style == "plain" and "(" in node.text and ")" not in node.text:
        return "inside `[ ]` and `{ }`, put `enum(a, b)` in quotes"
    return None


def _field_map(node: MappingNode, what: str, reporter: Reporter) -> TypeSyntax:
    fields: list[Field] = []
    references: list[Name] = []
    is_open = False
    for key, value in node:
        if key.text == "open" and isinstance(value, ScalarNode) and isinstance(value.value, bool):
            is_open = value.value
            continue
        if IDENTIFIER.fullmatch(key.text) is None or key.text in UNREADABLE_FIELDS:
            reporter.error(
                "bad-name",
                key.span,
                f"`{key.text}` cannot be the name of a field",
                expected="letters, digits and `_`, a letter or `_` first, and none of CEL's keywords",
            )
            continue
        field = read_type(value, f"the type of `{key.text}`", reporter)
        fields.append(Field(key.text, field.type))
        references.extend(field.references)
    return TypeSyntax(Record(tuple(fields), is_open), tuple(references), node.span)


def check_types(
    named: Mapping[str, TypeSyntax], used: tuple[TypeSyntax, ...], reporter: Reporter
) -> dict[str, Type]:
    """Resolves the names that types use. Gives every named type, with what is wrong in them replaced by `any`."""
    for syntax in (*named.values(), *used):
        for reference in syntax.references:
            if reference.text not in named:
                known = (*BUILT_IN_TYPES, *named)
                reporter.error(
                    "unknown-type",
                    reference.span,
                    f"there is no type `{reference.text}`",
                    expected=FORMS,
                    hint=did_you_mean(reference.text, known),
                )
    resolved = {name: known_only(syntax.type, named) for name, syntax in named.items()}
    for name, syntax in named.items():
        if _contains_itself(name, resolved):
            reporter.error(
                "recursive-type",
                syntax.span,
                f"the type `{name}` contains itself, so that no value of it could ever be finite",
                expected="recursion through `list<…>`, `map<…>` or `?`",
            )
            resolved[name] = ANY
    return resolved


def known_only(type_: Type, named: Mapping[str, object]) -> Type:
    """The type with unknown names replaced by `any`."""
    match type_:
        case Reference(name):
            return type_ if name in named else ANY
        case ListOf(item):
            return ListOf(known_only(item, named))
        case MapOf(value):
            return MapOf(known_only(value, named))
        case OptionalOf(of):
            return OptionalOf(known_only(of, named))
        case Record(fields, is_open):
            return Record(
                tuple(Field(field.name, known_only(field.type, named)) for field in fields), is_open
            )
        case _:
            return type_


def _contains_itself(name: str, named: Mapping[str, Type]) -> bool:
    """Whether the type can never be finite, or is an alias of nothing but itself.

    A value must hold another one where fields and names alone lead back. `A: list<A>` would have values, lists of empty
    lists; it is refused all the same, for it says nothing.
    """
    return _leads_back(name, named, through_fields=True) or _leads_back(name, named, through_fields=False)


def _leads_back(name: str, named: Mapping[str, Type], *, through_fields: bool) -> bool:
    seen: set[str] = set()
    waiting: list[Type] = [named[name]]
    while waiting:
        match waiting.pop():
            case Reference(other):
                if other == name:
                    return True
                if other not in seen:
                    seen.add(other)
                    waiting.append(named[other])
            case Record(fields) if through_fields:
                waiting.extend(field.type for field in fields)
            case ListOf(inner) | MapOf(inner) | OptionalOf(inner) if not through_fields:
                waiting.append(inner)
            case _:
                pass
    return False


def field_at(type_: Type, path: tuple[str, ...], named: Mapping[str, Type]) -> bool:
    """Whether a dotted path leads to something in a payload; inside `object` and `any`, anything may be there.

    A path goes through lists unwritten (`bids.cost` is every bid's cost), and through a map by a key.
    """
    if not path:
        return True
    match resolve(type_, named):
        case OptionalOf(inner) | ListOf(inner):
            return field_at(inner, path, named)
        case MapOf(inner):
            return field_at(inner, path[1:], named)
        case Record(fields):
            found = next((field.type for field in fields if field.name == path[0]), None)
            return found is not None and field_at(found, path[1:], named)
        case Scalar(name):
            return name in ("object", "any")
        case _:
            return False
