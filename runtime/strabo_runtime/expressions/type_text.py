"""The language's types read from text: `list<Finding>`, `enum(a, b)?`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.types import (
    SCALARS,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    Reference,
    Scalar,
    Type,
)

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

UNREADABLE_FIELDS = ("in", "true", "false", "null")
"""CEL's keywords cannot be selected as fields (language definition, section "Syntax")."""

_MAXIMUM_NESTING = 16
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_-]*)|([<>(),?]))")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    offset: int


class TypeTextError(Exception):
    """A text that is no type: what is wrong with it, and where."""

    def __init__(self, message: str, offset: int, length: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.offset, self.length, self.hint = message, offset, length, hint


@dataclass(frozen=True, slots=True)
class TypeText:
    """A type that was read, and the names that it refers to, each with its offset."""

    type: Type
    references: tuple[tuple[str, int], ...]


def read_type_text(text: str) -> TypeText:
    """The type that a text writes. Raises TypeTextError."""
    reader = _Reader(text)
    return TypeText(reader.read(), tuple(reader.references))


class _Reader:
    """Recursive descent over one type's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[_Token] = []
        self._next = 0
        self.references: list[tuple[str, int]] = []

    def read(self) -> Type:
        self._tokens = self._split()
        found = self._type(0)
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            raise TypeTextError(f"`{token.text}` is not expected here", token.offset, len(token.text))
        return found

    def _split(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        end = len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                at += len(self._text[at:]) - len(self._text[at:].lstrip())
                raise TypeTextError(f"`{self._text[at]}` has no place in a type", at, 1)
            group = 1 if match.group(1) is not None else 2
            tokens.append(_Token(match.group(group), match.start(group)))
            at = match.end()
        return tokens

    def _take(self, expected: str | None = None) -> _Token:
        if self._next >= len(self._tokens):
            end = len(self._text.rstrip())
            wanted = f"`{expected}`" if expected else "a type"
            raise TypeTextError(f"the type ends where {wanted} should follow", max(0, end - 1), 1)
        token = self._tokens[self._next]
        if expected is not None and token.text != expected:
            raise TypeTextError(
                f"`{token.text}` stands where `{expected}` should", token.offset, len(token.text)
            )
        self._next += 1
        return token

    def _peek(self, text: str) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next].text == text

    def _type(self, depth: int) -> Type:
        token = self._take()
        if depth > _MAXIMUM_NESTING:
            raise TypeTextError("the type is nested too deep", token.offset, len(token.text))
        base = self._base(token, depth)
        if self._peek("?"):
            mark = self._take()
            if depth > 0:
                raise TypeTextError("the values of a list or map cannot be optional", mark.offset, 1)
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
                raise TypeTextError(
                    f"`{token.text}` takes no `{opening}`", token.offset, len(token.text), hint
                )
        if IDENTIFIER.fullmatch(token.text) is None:
            raise TypeTextError(f"`{token.text}` is no type", token.offset, len(token.text))
        self.references.append((token.text, token.offset))
        return Reference(token.text)

    def _enumeration(self) -> Type:
        self._take("(")
        values: list[str] = []
        while True:
            token = self._take()
            if not re.match(r"[A-Za-z_]", token.text):
                raise TypeTextError(f"`{token.text}` is no value of an enum", token.offset, len(token.text))
            if token.text in values:
                raise TypeTextError(f"`{token.text}` stands in the enum twice", token.offset, len(token.text))
            values.append(token.text)
            if self._peek(")"):
                self._take()
                return EnumOf(tuple(values))
            self._take(",")
