"""Reads the language's types: `list<Finding>`, `enum(a, b)?`, field maps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from strabo_runtime.expressions.resolution import resolve
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import (
    ANY,
    SCALARS,
    EnumOf,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    Type,
)
from strabo_runtime.language.definition import Name, TypeSyntax
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import MappingNode, Node, ScalarNode
from strabo_runtime.language.shape import IDENTIFIER, describe

BUILT_IN_TYPES: Final = (*SCALARS, "list", "map", "enum")
FORMS: Final = (
    "one of `string`, `integer`, `number`, `boolean`, `object`, `any`, `timestamp`, `duration`, `list<T>`, `map<T>`, "
    "`enum(a, b)`, a declared name, or a field map; with `?` for optional"
)

# CEL's keywords cannot be selected as fields (language definition, section "Syntax").
UNREADABLE_FIELDS = ("in", "true", "false", "null")
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_-]*)|([<>(),?]))")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    offset: int


class _TypeTextError(Exception):
    def __init__(self, message: str, offset: int, length: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.offset, self.length, self.hint = message, offset, length, hint


class _TypeText:
    """Recursive descent over one type's text. Nesting is bounded by the text's own bound on `<`."""

    _MAXIMUM_NESTING = 16

    def __init__(self, node: ScalarNode) -> None:
        self._node = node
        self._text = node.text
        self._tokens: list[_Token] = []
        self._next = 0
        self.references: list[Name] = []

    def read(self) -> Type:
        self._tokens = self._split()
        found = self._type(0)
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            raise _TypeTextError(f"`{token.text}` is not expected here", token.offset, len(token.text))
        return found

    def _split(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        end = len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                at += len(self._text[at:]) - len(self._text[at:].lstrip())
                raise _TypeTextError(f"`{self._text[at]}` has no place in a type", at, 1)
            group = 1 if match.group(1) is not None else 2
            tokens.append(_Token(match.group(group), match.start(group)))
            at = match.end()
        return tokens

    def _take(self, expected: str | None = None) -> _Token:
        if self._next >= len(self._tokens):
            end = len(self._text.rstrip())
            wanted = f"`{expected}`" if expected else "a type"
            raise _TypeTextError(f"the type ends where {wanted} should follow", max(0, end - 1), 1)
        token = self._tokens[self._next]
        if expected is not None and token.text != expected:
            raise _TypeTextError(
                f"`{token.text}` stands where `{expected}` should", token.offset, len(token.text)
            )
        self._next += 1
        return token

    def _peek(self, text: str) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next].text == text

    def _type(self, depth: int) -> Type:
        token = self._take()
        if depth > self._MAXIMUM_NESTING:
            raise _TypeTextError("the type is nested too deep", token.offset, len(token.text))
        base = self._base(token, depth)
        if self._peek("?"):
            mark = self._take()
            if depth > 0:
                raise _TypeTextError("the values of a list or map cannot be optional", mark.offset, 1)
            return OptionalOf(base)
        return base

    def _base(self, token: _Token, depth: int) -> Type:
        if token.text in ("list", "map"):
            self._take("<")
            inner = self._type(depth + 1)
            self._take(">")
            return ListOf(inner) if token.text == "list" else MapOf(inner)
        if token.text == "enum":
            return self._enumeration()
        for name in SCALARS:
            if token.text == name:
                return Scalar(name)
        for opening in ("<", "("):
            if self._peek(opening):
                hint = did_you_mean(token.text, ("list", "map") if opening == "<" else ("enum",))
                raise _TypeTextError(
                    f"`{token.text}` takes no `{opening}`", token.offset, len(token.text), hint
                )
        if IDENTIFIER.fullmatch(token.text) is None:
            raise _TypeTextError(f"`{token.text}` is no type", token.offset, len(token.text))
        self.references.append(Name(token.text, self._node.span_at(token.offset, len(token.text))))
        return Reference(token.text)

    def _enumeration(self) -> Type:
        self._take("(")
        values: list[str] = []
        while True:
            token = self._take()
            if not re.match(r"[A-Za-z_]", token.text):
                raise _TypeTextError(f"`{token.text}` is no value of an enum", token.offset, len(token.text))
            if token.text in values:
                raise _TypeTextError(
                    f"`{token.text}` stands in the enum twice", token.offset, len(token.text)
                )
            values.append(token.text)
            if self._peek(")"):
                self._take()
                return EnumOf(tuple(values))
            self._take(",")


def read_type(node: Node, what: str, reporter: Reporter) -> TypeSyntax:
    """The type that `node` writes. One that cannot be read is reported, and counts as `any` for what follows."""
    if isinstance(node, MappingNode):
        return _field_map(node, what, reporter)
    if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
        reporter.error("bad-type", node.span, f"{what} is {describe(node)}", expected=FORMS)
        return TypeSyntax(ANY, (), node.span)
    reader = _TypeText(node)
    try:
        return TypeSyntax(reader.read(), tuple(reader.references), node.span)
    except _TypeTextError as error:
        reporter.error(
            "bad-type",
            node.span_at(error.offset, error.length),
            f"{what} `{node.text}` cannot be read: {error.message}",
            expected=FORMS,
            hint=error.hint or _cut_off(node),
        )
        return TypeSyntax(ANY, (), node.span)


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
