"""Reads nodes as what a key needs (text, a name, a number, one of a few words, a mapping of known keys) or reports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from strabo_runtime.expressions.suggestion import did_you_mean, nearest
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.nodes import MappingNode, Name, Node, ScalarNode, SequenceNode

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
PROTOCOL_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")

_DESCRIPTIONS = {
    IDENTIFIER: "letters, digits and `_`, a letter or `_` first",
    LABEL: "letters, digits, `_` and `-`, a letter or `_` first",
    PROTOCOL_NAME: "letters, digits and `_`, a letter first",
    VERSION: 'text such as "1.0": letters, digits, `.`, `_`, `+` and `-`',
}

_Word = TypeVar("_Word", bound=str)


def describe(node: Node) -> str:
    """What a node is, for `expected X, found Y`."""
    match node:
        case MappingNode():
            return "a mapping"
        case SequenceNode():
            return "a list"
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode(value=bool()):
            return f"the boolean `{node.text}`"
        case ScalarNode(value=int() | float()):
            return f"the number `{node.text}`"
        case _:
            shown = node.text if len(node.text) <= 60 else node.text[:57] + "..."
            return f"the text `{shown}`"


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """A mapping whose keys were checked. `what` names it in messages."""

    what: str
    node: MappingNode
    values: Mapping[str, Node]

    def get(self, key: str) -> Node | None:
        """The value of a key; None where it is absent or null."""
        node = self.values.get(key)
        return None if node is None or _is_null(node) else node

    def key(self, name: str) -> ScalarNode | None:
        """The key itself, to point at."""
        return self.node.key(name)

    def has(self, key: str) -> bool:
        """Whether the key is written at all."""
        return key in self.values


class Shape:
    """Readers of single values. Each gives None, and reports, where the node is not what it should be."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter

    def wrong(self, node: Node, what: str, expected: str, hint: str | None = None) -> None:
        """Reports a value of the wrong shape."""
        self.reporter.error(
            "wrong-type", node.span, f"{what} is {describe(node)}", expected=expected, hint=hint
        )

    def mapping(self, node: Node, what: str, expected: str = "a mapping") -> MappingNode | None:
        """A mapping with any keys."""
        if isinstance(node, MappingNode):
            return node
        self.wrong(node, what, expected)
        return None

    def fields(
        self,
        node: Node,
        what: str,
        allowed: tuple[str, ...],
        *,
        required: tuple[str, ...] = (),
        empty: tuple[str, ...] = (),
    ) -> Fields | None:
        """A mapping of known keys. Unknown and missing ones are reported; the rest is given.

        A key without a value counts as absent where that is the same as an empty list or text: for `description` and
        those in `empty`. Elsewhere it is reported: a forgotten condition must not come to mean "always".
        """
        mapping = self.mapping(node, what, f"a mapping with {one_of(allowed)}")
        if mapping is None:
            return None
        values: dict[str, Node] = {}
        for key, value in mapping:
            if key.text not in allowed:
                self.reporter.error(
                    "unknown-key",
                    key.span,
                    f"{what} has no key `{key.text}`",
                    expected=one_of(allowed),
                    hint=did_you_mean(key.text, allowed) or _cut_off(key, value),
                )
            else:
                values[key.text] = value
                if _is_null(value) and key.text not in (*empty, *required, "description"):
                    self.reporter.error(
                        "wrong-type",
                        key.span,
                        f"`{key.text}` has no value",
                        expected=f"a value, or no `{key.text}`",
                    )
        for name in required:
            found = values.get(name)
            if found is None or _is_null(found):
                place = found if found is not None else mapping
                self.reporter.error(
                    "missing-key", place.span, f"{what} needs `{name}`", expected=f"`{name}: …`"
                )
        return Fields(what, mapping, values)

    def text(self, node: Node | None, what: str) -> str | None:
        """Text, not empty; None where the node is absent."""
        if node is None:
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value.strip():
            return node.value
        hint = None
        if isinstance(node, ScalarNode) and node.value is not None and not isinstance(node.value, str):
            hint = f'put it in quotes: "{node.text}"'
        self.wrong(node, what, "text", hint)
        return None

    def scalar(self, node: Node | None, what: str, expected: str) -> ScalarNode | None:
        """Any single value that is not null."""
        if node is None:
            return None
        if isinstance(node, ScalarNode) and node.value is not None:
            return node
        self.wrong(node, what, expected)
        return None

    def name(self, node: Node | None, what: str, pattern: re.Pattern[str] = IDENTIFIER) -> Name | None:
        """A name of the given form."""
        text = self.text(node, what)
        if node is None or text is None:
            return None
        if pattern.fullmatch(text) is None:
            self.reporter.error(
                "bad-name", node.span, f"`{text}` cannot be {what}", expected=_DESCRIPTIONS[pattern]
            )
            return None
        return Name(text, node.span)

    def reference(self, node: Node | None, what: str) -> Name | None:
        """A name that is looked up elsewhere: its form does not matter, for an ill-formed one is unknown."""
        text = self.text(node, what)
        return None if node is None or text is None else Name(text, node.span)

    def references(self, node: Node | None, what: str) -> tuple[Name, ...]:
        """A name, or a list of distinct names."""
        names: dict[str, Name] = {}
        for item in self.one_or_many(node, what):
            name = self.reference(item, what)
            if name is None:
                continue
            if name.text in names:
                self.reporter.error(
                    "duplicate-name", name.span, f"`{name.text}` stands here twice", expected="once"
                )
            else:
                names[name.text] = name
        return tuple(names.values())

    def integer(self, node: Node | None, what: str, minimum: int) -> int | None:
        """A whole number not below `minimum`."""
        if node is None:
            return None
        if (
            not isinstance(node, ScalarNode)
            or not isinstance(node.value, int)
            or isinstance(node.value, bool)
        ):
            self.wrong(node, what, "a whole number")
            return None
        if node.value < minimum:
            self.reporter.error(
                "bad-value", node.span, f"{what} is {node.value}", expected=f"at least {minimum}"
            )
            return None
        return node.value

    def boolean(self, node: Node | None, what: str) -> bool | None:
        """`true` or `false`."""
        if node is None:
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        self.wrong(node, what, "`true` or `false`")
        return None

    def choice(
        self,
        node: Node | None,
        what: str,
        words: tuple[_Word, ...],
    ) -> _Word | None:
        """One of a few words."""
        text = self.text(node, what)
        if node is None or text is None:
            return None
        for word in words:
            if word == text:
                return word
        self.reporter.error(
            "bad-value",
            node.span,
            f"{what} cannot be `{text}`",
            expected=one_of(words),
            hint=did_you_mean(text, words),
        )
        # Checking goes on with what was probably meant, so that one slip is not reported all over the file.
        near = nearest(text, words)
        return next((word for word in words if word == near), None)

    def items(self, node: Node | None, what: str, *, empty: bool = True) -> tuple[Node, ...]:
        """A list."""
        if node is None:
            return ()
        if not isinstance(node, SequenceNode):
            self.wrong(node, what, "a list")
            return ()
        if not node.items and not empty:
            self.reporter.error("bad-value", node.span, f"{what} is empty", expected="at least one entry")
        return node.items

    def one_or_many(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """A single value, or a list of at least one."""
        return (
            self.items(node, what, empty=False) if isinstance(node, SequenceNode) else (node,) if node else ()
        )

    def unique(self, name: Name, seen: dict[str, Name], kind: str) -> bool:
        """Whether a name is new among its kind; a repeated one is reported."""
        first = seen.setdefault(name.text, name)
        if first is name:
            return True
        self.reporter.error(
            "duplicate-name",
            name.span,
            f"the {kind} `{name.text}` is declared a second time; the first is in line {first.span.line}",
            expected="each name once",
        )
        return False


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value is None


def _cut_off(key: ScalarNode, value: Node) -> str | None:
    # `{condition: f(a, b)}`: the comma ends the value, and what follows it is read as a key without a value.
    if key.style == "plain" and LABEL.fullmatch(key.text) is None and value.json is None:
        return "inside `{ }`, put text that holds a comma in quotes"
    return None
