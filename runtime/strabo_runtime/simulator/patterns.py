"""Random texts that match a regular expression of the usual kind: classes, groups, alternatives, repetitions."""

from __future__ import annotations

import string
from random import Random
from typing import Final

_LETTERS: Final = string.ascii_lowercase
_PRINTABLE: Final = string.ascii_letters + string.digits + " -_.,:;/"
_ESCAPES: Final = {
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_",
    "s": " ",
    "D": _LETTERS,
    "W": "-",
    "S": _LETTERS,
}
_MOST: Final = 3
"""How often at most what may be repeated without end is repeated."""


def matching_text(pattern: str, random: Random) -> str:
    """A text that probably matches; what the pattern says in a way unknown here is taken literally."""
    return _Pattern(pattern, random).alternatives(top=True)


class _Pattern:
    """Reads the pattern from left to right, and makes text of it on the way."""

    def __init__(self, pattern: str, random: Random) -> None:
        self._pattern = pattern
        self._random = random
        self._at = 0

    def alternatives(self, *, top: bool = False) -> str:
        """One of the alternatives up to the end of the group, or of the pattern."""
        made = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            made.append(self._sequence())
        if top and self._at < len(self._pattern):
            self._at += 1
            return self._random.choice(made) + self.alternatives(top=True)
        return self._random.choice(made)

    def _sequence(self) -> str:
        made: list[str] = []
        while (character := self._peek()) and character not in "|)":
            begin = self._at
            first = self._piece()
            count = self._random.randint(*self._repetition())
            end = self._at
            if count:
                made.append(first)
            for _ in range(count - 1):
                self._at = begin
                made.append(self._piece())
            self._at = end
        return "".join(made)

    def _piece(self) -> str:
        character = self._next()
        if character == "(":
            self._skip_group_name()
            made = self.alternatives()
            self._at += 1
            return made
        if character == "[":
            return self._class()
        if character == "\\":
            return self._one_of(_ESCAPES.get(self._peek(), self._peek()), skip=True)
        if character == ".":
            return self._random.choice(_LETTERS)
        return "" if character in "^$" else character

    def _skip_group_name(self) -> None:
        """What stands between `(` and the group itself: `?:`, or a name such as `?<year>`."""
        if self._peek() == "?":
            end = ":" if self._pattern.startswith("?:", self._at) else ">"
            found = self._pattern.find(end, self._at)
            self._at = len(self._pattern) if found < 0 else found + 1

    def _class(self) -> str:
        excluded = self._peek() == "^"
        self._at += excluded
        choices = ""
        while (character := self._next()) and (character != "]" or not choices):
            if character == "\\":
                escaped = self._next()
                choices += _ESCAPES.get(escaped, escaped)
            elif self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._next()
                choices += "".join(map(chr, range(ord(character), max(ord(character), ord(last)) + 1)))
            else:
                choices += character
        if excluded:
            choices = "".join(each for each in _PRINTABLE if each not in choices)
        return self._one_of(choices)

    def _repetition(self) -> tuple[int, int]:
        """How often the piece just read occurs, at least and at most."""
        match self._peek():
            case "?":
                bounds = (0, 1)
            case "*":
                bounds = (0, _MOST)
            case "+":
                bounds = (1, _MOST)
            case "{" if "}" in self._pattern[self._at :]:
                end = self._pattern.index("}", self._at)
                low, comma, high = self._pattern[self._at + 1 : end].partition(",")
                if not low.isdigit():
                    return 1, 1
                self._at = end
                least = min(int(low), 1000)
                most = least if not comma else min(int(high), 1000) if high.isdigit() else least + _MOST
                bounds = (least, max(least, most))
            case _:
                return 1, 1
        self._at += 1
        if self._peek() == "?":
            self._at += 1
        return bounds

    def _one_of(self, choices: str, *, skip: bool = False) -> str:
        self._at += skip
        return self._random.choice(choices) if choices else ""

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1 : self._at]
