"""The CEL library's error reports, told again for a protocol's author: where, what, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from strabo_runtime.expressions.declarations import ALL_FUNCTIONS
from strabo_runtime.expressions.descriptors import ANONYMOUS, NUMBERED, PACKAGE
from strabo_runtime.expressions.errors import ExpressionError
from strabo_runtime.expressions.suggestion import did_you_mean

DEEPEST = 32
"""The levels of nesting that CEL's parser takes. Chains of && and || are balanced and cost few."""

_ENTRY = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?=\n \||\nERROR:|\Z)", re.DOTALL)
_OPERATORS = {"_[_]": "[ ]", "_?_:_": "? :", "!_": "!", "-_": "-", "@in": "in"}
_TYPE_WORDS = (
    (re.compile(rf"{NUMBERED}\d+\b"), ""),
    (re.compile(rf"\b{PACKAGE}\.{ANONYMOUS}\b"), "the field map"),
    (re.compile(rf"\b{PACKAGE}\."), ""),
    (re.compile(r"\bmap\(string, (?:dyn|any)\)"), "object"),
    (re.compile(r"\bgoogle\.protobuf\."), ""),
    (re.compile(r"\bwrapper\((\w+)\)"), r"\1?"),
    (re.compile(r"\bint\b"), "integer"),
    (re.compile(r"\bdouble\b"), "number"),
    (re.compile(r"\bbool\b"), "boolean"),
    (re.compile(r"\bnull_type\b"), "null"),
    (re.compile(r"\bdyn\b"), "any"),
)
SHARING = ("message", "starting", "event", "child", "instance", "roles", "pending", "children")
_ROOTS = frozenset((*SHARING, "now", "each"))
_TRIGGERS = {"message": "a message", "event": "an event", "child": "a child's end"}
_CONVERSIONS = {"integer": "int(...)", "number": "double(...)", "string": "string(...)"}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What an expression may name: variables in scope, fields of a message type, functions beside CEL's and ours."""

    names: tuple[str, ...]
    fields: Callable[[str], Sequence[str]]
    functions: tuple[str, ...] = ()


def explain(
    report: str, text: str, original: Callable[[int], int], vocabulary: Vocabulary
) -> ExpressionError:
    """The errors of a report on `text`, the first with the others behind it.

    `original` turns an offset in `text` into one in what the author wrote.
    """
    if "recursion" in report:
        return ExpressionError(
            "the expression is nested too deeply",
            code="expression-too-deep",
            length=max(1, len(text)),
            hint=f"at most {DEEPEST} levels; a long sum has one for each term",
        )
    errors = list(_errors(report, text, vocabulary))
    # What follows from an error already told ("of type *error*") would only confuse.
    told = [error for error in errors if "*error*" not in error.message] or errors[:1]
    if not told:
        reason = report.splitlines()[0][:200] if report else "it cannot be read"
        return ExpressionError(
            f"not an expression: {reason}", code="expression-syntax", length=max(1, len(text))
        )
    unique = {(error.offset, error.message): error for error in told}
    placed = [
        ExpressionError(
            error.message,
            code=error.code,
            offset=original(error.offset),
            length=error.length,
            hint=error.hint,
            known=error.known,
        )
        for error in sorted(unique.values(), key=lambda error: error.offset)
    ]
    return combined(placed)


def combined(errors: Sequence[ExpressionError]) -> ExpressionError:
    """Several errors of one text as one."""
    first, *others = errors
    return ExpressionError(
        first.message,
        code=first.code,
        offset=first.offset,
        length=first.length,
        hint=first.hint,
        known=first.known,
        others=others,
    )


def readable(cel_type: str) -> str:
    """A CEL type in the language's own words."""
    for pattern, replacement in _TYPE_WORDS:
        cel_type = pattern.sub(replacement, cel_type)
    return cel_type.replace("list(", "list<").replace("map(", "map<").replace(")", ">")


def _errors(report: str, text: str, vocabulary: Vocabulary) -> Iterator[ExpressionError]:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for line, column, message in _ENTRY.findall(report):
        start = starts[min(int(line), len(starts)) - 1]
        offset = min(start + max(0, int(column) - 1), max(0, len(text) - 1))
        yield _explained(message.strip(), offset, text, vocabulary)


def _holder(struct: str, before: str) -> str:
    """Whose field it is: roots that hold the same fields share one message, so theirs is the name that was written."""
    written = re.search(r"(\w+)\s*\.\s*\Z", before)
    return written[1] if written is not None and written[1] in SHARING else struct


def _explained(message: str, offset: int, text: str, vocabulary: Vocabulary) -> ExpressionError:
    if match := re.match(r"undefined field '(\w+)' not found in struct '([\w.]+)'", message):
        field, struct = match.groups()
        place = _word(text, field, offset)
        return ExpressionError(
            f"{_holder(readable(struct), text[:place])} has no field `{field}`",
            code="unknown-field",
            offset=place,
            length=len(field),
            hint=did_you_mean(field, vocabulary.fields(struct)),
            known=vocabulary.fields(struct),
        )
    if match := re.match(r"undeclared reference to '\.?([\w.]+)'", message):
        return _unknown(match[1].split(".")[0], offset, text, vocabulary)
    if match := re.match(r"found no matching overload for '([^']+)' applied to '(.*)'", message):
        return _no_overload(match[1], _split(match[2]), offset, text)
    if match := re.match(r"expression of type '(.*)' cannot be the operand of a select", message):
        kind = match[1] if "*error*" in match[1] else readable(match[1])
        return ExpressionError(f"a value of type {kind} has no fields", code="expression-type", offset=offset)
    if message.startswith("has() argument"):
        return ExpressionError(
            "has() takes a field, as in has(x.f)",
            code="presence",
            offset=max(0, text.rfind("has", 0, offset + 1)),
            length=len("has"),
            hint="test an optional variable with `== null`",
        )
    if match := re.match(r"reserved identifier: (\w+)", message):
        word = match[1]
        return ExpressionError(
            f"`{word}` is a reserved word",
            code="expression-syntax",
            offset=_word(text, word, offset),
            length=len(word),
        )
    if message.startswith("Syntax error"):
        return ExpressionError(_syntax(message), code="expression-syntax", offset=offset)
    return ExpressionError(
        readable(message.split(" (in container", maxsplit=1)[0]), code="expression-type", offset=offset
    )


def _unknown(name: str, offset: int, text: str, vocabulary: Vocabulary) -> ExpressionError:
    """An unknown variable or function; the library points at a call's bracket and at a selection's dot."""
    start = _word(text, name, offset)
    if text[start + len(name) :].lstrip().startswith("("):
        message, hint = _unknown_function(name, text[:start], vocabulary)
        return ExpressionError(message, code="unknown-function", offset=start, length=len(name), hint=hint)
    hint = did_you_mean(name, vocabulary.names)
    if name in _TRIGGERS:
        hint = f"`{name}` is in scope only where every alternative of the trigger is {_TRIGGERS[name]}"
    elif name == "each":
        hint = "`each` is in scope only in an action with `for_each`"
    return ExpressionError(
        f"`{name}` is not known here",
        code="unknown-name",
        offset=start,
        length=len(name),
        hint=hint,
        known=sorted(vocabulary.names, key=_ROOTS.__contains__),
    )


def _unknown_function(name: str, before: str, vocabulary: Vocabulary) -> tuple[str, str | None]:
    """What to say of a call that CEL knows nothing of: also one of a known function with other arguments is that."""
    known = (*ALL_FUNCTIONS, *vocabulary.functions)
    if name not in known:
        return f"there is no function `{name}`", did_you_mean(name, known)
    if before.rstrip().endswith("."):
        return (
            f"{name}() is not called as a method",
            f"write {name}(...) with the value as its first argument",
        )
    return f"{name}() does not take this many arguments", None


def _no_overload(function: str, types: list[str], offset: int, text: str) -> ExpressionError:
    kinds = [readable(type_) for type_ in types]
    if function in _OPERATORS or function.startswith("_"):
        operator = _OPERATORS.get(function, function.strip("_"))
        message = f"`{operator}` does not take {' and '.join(kinds)}"
        code = "presence" if operator in ("==", "!=") and "null" in kinds else "expression-type"
        return ExpressionError(
            message, code=code, offset=offset, length=len(operator.split()[0]), hint=_hint(kinds)
        )
    start = _word(text, function, offset)
    return ExpressionError(
        f"{function}() does not take ({', '.join(kinds)})",
        code="expression-type",
        offset=start,
        length=len(function),
        hint=_hint(kinds),
    )


def _hint(kinds: Iterable[str]) -> str | None:
    present = set(kinds)
    if "null" in present:
        return "test an optional field with has(x.f); only an optional variable is compared with null"
    if {"integer", "number"} <= present:
        return "a number is a double: write 2.0, or double(...) around an integer"
    if {"integer?", "number"} <= present or {"integer", "number?"} <= present:
        return "a number is a double: write 2.0, or double(...) around an integer"
    if "timestamp" in {kind.lower() for kind in present} and "string" in present:
        return "write timestamp('2030-01-01T00:00:00Z')"
    if "duration" in {kind.lower() for kind in present} and "string" in present:
        return "write duration('300s')"
    if "string" in present and (others := present & _CONVERSIONS.keys() - {"string"}):
        return f"convert one side: string(...) or {_CONVERSIONS[min(others)]}"
    return None


def _syntax(message: str) -> str:
    """The parser's message without its list of every possible token."""
    problem = message.removeprefix("Syntax error: ").split(" expecting ")[0]
    if "<EOF>" in problem:
        return "the expression ends too early"
    if match := re.match(r"(?:extraneous|mismatched) input ('.*')", problem, re.DOTALL):
        return f"{match[1]} does not belong here"
    if match := re.match(r"token recognition error at: ('.*')", problem, re.DOTALL):
        return f"{match[1]} cannot be read"
    return problem[:1].lower() + problem[1:200]


def _word(text: str, word: str, offset: int) -> int:
    """Where `word` stands next to the library's offset: after it for a field, before it for a call."""
    after = re.compile(rf"\s*\.?\s*\b{re.escape(word)}\b").match(text, offset)
    if after is not None:
        return after.end() - len(word)
    before = text.rfind(word, 0, offset + 1)
    return before if before >= 0 else offset


def _split(types: str) -> list[str]:
    """The types of `(a, list(b), map(c, d))`, separated at the outer commas."""
    depth, parts, start = 0, [], 0
    inner = (
        types.removeprefix("(").removesuffix(")")
        if types.startswith("(")
        else types.rsplit(".(", maxsplit=1)[-1].removesuffix(")")
    )
    for index, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(inner[start:index].strip())
            start = index + 1
    parts.append(inner[start:].strip())
    if not types.startswith("("):
        parts.insert(0, types.split(".(", maxsplit=1)[0])
    return [part for part in parts if part]
