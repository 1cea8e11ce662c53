"""What the loader has to say about a protocol file: diagnostics, their codes, and how they are shown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one line of a file. `line` and `column` count from 1, in characters; `length` is at least 1."""

    file: str
    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong, or doubtful, at one place."""

    code: str
    severity: Severity
    span: Span
    message: str
    expected: str | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, str | int | None]:
        """The diagnostic for programs: what `-o json` prints."""
        return {
            "code": self.code,
            "severity": self.severity,
            "file": self.span.file,
            "line": self.span.line,
            "column": self.span.column,
            "length": self.span.length,
            "message": self.message,
            "expected": self.expected,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Code:
    """An entry of the registry: what a code means and what its reader should do."""

    name: str
    meaning: str
    remedy: str


def _registry(*codes: Code) -> dict[str, Code]:
    return {code.name: code for code in codes}


# The one home of every code. The manual's table is made from it, and a test holds both together.
CODES: dict[str, Code] = _registry(
    # -- the text ---------------------------------------------------------------------------------------------
    Code("yaml-syntax", "The text is not YAML.", "Correct the place that the message points at."),
    Code(
        "yaml-limit",
        "The text is too large, too deep, or its aliases expand to too much.",
        "Make it smaller.",
    ),
    Code("yaml-tag", "A tag asks for more than plain data.", "Remove the tag; put text in quotes instead."),
    Code(
        "yaml-alias",
        "An alias refers to itself, or to an anchor that does not exist.",
        "Write the value out.",
    ),
    Code("duplicate-key", "A mapping has the same key twice.", "Remove or rename one of them."),
    # -- the shape --------------------------------------------------------------------------------------------
    Code("wrong-type", "A value has another shape than its key needs.", "Write what `expected` names."),
    Code("unknown-key", "A key that means nothing here.", "Correct its spelling, or remove it."),
    Code("missing-key", "A required key is missing.", "Add it."),
    Code("bad-value", "A value is none of those allowed here.", "Use one of those that `expected` names."),
    Code("bad-combination", "Keys that exclude or need each other.", "Keep those that you mean."),
    Code("bad-bounds", "`count`, `min` and `max` contradict each other.", "Keep min ≤ count ≤ max."),
    Code(
        "bad-name",
        "A name holds characters that it may not hold.",
        "Use letters, digits and `_`, a letter first.",
    ),
    Code("reserved-name", "A name that the language keeps for itself.", "Choose another name."),
    Code("duplicate-name", "Two things of one kind have the same name.", "Rename one of them."),
    Code(
        "not-supported-yet",
        "The language has it, this version of the runtime does not.",
        "Do without it, or wait for a version that has it.",
    ),
    # -- types ------------------------------------------------------------------------------------------------
    Code("bad-type", "A type that cannot be read.", "See the list of types in the manual."),
    Code(
        "unknown-type",
        "A type name that is not declared.",
        "Declare it under `types`, or correct its spelling.",
    ),
    Code(
        "recursive-type",
        "A type contains itself directly, so no value of it is finite.",
        "Let it recur through `list<…>`, `map<…>` or `?`.",
    ),
    Code("unknown-field", "A field that the type does not have.", "Correct its spelling, or declare it."),
    # -- names ------------------------------------------------------------------------------------------------
    Code(
        "unknown-role", "A role that is not among the participants.", "Correct its spelling, or declare it."
    ),
    Code("unknown-message", "A message type that is not declared.", "Correct its spelling, or declare it."),
    Code(
        "unknown-event",
        "An event that is not declared under `events`.",
        "Correct its spelling, or declare it.",
    ),
    Code("unknown-state", "A state that is not declared.", "Correct its spelling, or declare it."),
    Code("unknown-variable", "A variable that is not declared.", "Correct its spelling, or declare it."),
    Code("unknown-timer", "A timer that no action starts.", "Correct its spelling, or start it."),
    Code("unknown-action", "An action that does not exist.", "Correct its spelling."),
    # -- meaning ----------------------------------------------------------------------------------------------
    Code("final-state", "A final state that something would leave or wait in.", "Remove that, or `final`."),
    Code(
        "wrong-sender",
        "A message where its `from` does not allow it: an engine's message as a trigger, or an agent's in `send`.",
        "Correct the role, or the `from` of the message type.",
    ),
    Code(
        "wrong-recipient",
        "A recipient that the message type is not addressed to.",
        "Correct the role, or the `to` of the message type.",
    ),
    Code("reserved-event", "A built-in event that only the runtime raises.", "Raise an event of your own."),
    Code(
        "unexpected-payload",
        "A payload for an event that has none.",
        "Remove it, or declare the event's fields.",
    ),
    Code(
        "no-list",
        "An append to a variable that is no list.",
        "Declare it as `list<…>`, or use `set_variable`.",
    ),
    Code(
        "missing-initial",
        "A variable without `initial` whose type is not optional.",
        "Add `initial`, or a `?`.",
    ),
    Code("bad-duration", "A duration that cannot be read.", "Write `PT30M` or `30m`; no years, no months."),
    # -- expressions ------------------------------------------------------------------------------------------
    Code("bad-expression", "An expression that is not CEL.", "Correct the place that the message points at."),
    Code(
        "unknown-name",
        "A name that an expression cannot see here.",
        "Correct its spelling; see what is in scope.",
    ),
    Code("unknown-function", "A function that does not exist.", "See the list of functions in the manual."),
    Code("type-mismatch", "A value of another type than its place needs.", "Make it what `expected` names."),
    Code(
        "optional-access",
        "What may be absent is tested or read the wrong way.",
        "Test an optional field with `has(x.f)`, an optional variable with `!= null`.",
    ),
    # -- structure: what `strabo verify` finds ------------------------------------------------------------------
    Code("unreachable-state", "A state that nothing leads to.", "Add a transition to it, or remove it."),
    Code(
        "no-way-out",
        "A state that is not final and that nothing leaves.",
        "Add a transition, timeout or deadline.",
    ),
    Code("never-ends", "A state from which no final state can be reached.", "Add a way to a final state."),
    Code(
        "shadowed-transition",
        "A transition that an earlier one always wins over.",
        "Reorder, or add a condition.",
    ),
    Code(
        "endless-loop",
        "An automatic transition that fires again for ever.",
        "Add a condition, or another target.",
    ),
    Code("message-never-sent", "A message of an engine role that no action sends.", "Send it, or remove it."),
    Code("message-never-taken", "A message of an agent that no transition takes.", "Take it, or remove it."),
    Code(
        "never-settled", "An expected message that no transition takes in that state.", "Add the transition."
    ),
    Code(
        "event-never-raised",
        "An event that transitions wait for and nothing raises.",
        "Raise it, or correct it.",
    ),
    Code(
        "event-never-handled",
        "An event that is raised and that no transition takes.",
        "Handle it, or remove it.",
    ),
    Code(
        "ambiguous-recipient",
        "A message to one agent of a role that may have several.",
        "Say `Role[all]`, `Role[any]`, or which one: `${ id }`.",
    ),
)


class Reporter:
    """Collects the diagnostics of one file."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def error(
        self, code: str, span: Span, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> None:
        """Notes an error; the same one twice counts once."""
        self._found[Diagnostic(code, "error", span, message, expected, hint)] = None

    def warning(
        self, code: str, span: Span, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> None:
        """Notes something that is doubtful and yet allowed."""
        self._found[Diagnostic(code, "warning", span, message, expected, hint)] = None

    @property
    def failed(self) -> bool:
        """Whether any error was noted."""
        return any(diagnostic.severity == "error" for diagnostic in self._found)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything noted, in the order of the file."""
        return tuple(sorted(self._found, key=lambda found: (found.span.line, found.span.column)))


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The hint for a misspelt name, or None where no known name is near."""
    near = nearest(name, known)
    return None if near is None else f"did you mean `{near}`?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one probably stands for."""
    candidates = list(known)
    folded = {candidate.casefold(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def one_of(names: Iterable[str]) -> str:
    """The names as a list to choose from."""
    listed = list(names)
    if not listed:
        return "none is declared"
    shown = ", ".join(f"`{name}`" for name in listed[:20])
    more = f" and {len(listed) - 20} more" if len(listed) > 20 else ""
    return shown if len(listed) == 1 else f"one of {shown}{more}"


def render(diagnostic: Diagnostic, source: str) -> str:
    """The diagnostic as lines for a terminal: where and what, the source line, a caret, what was expected, a hint."""
    span = diagnostic.span
    lines = [
        f"{span.file}:{span.line}:{span.column}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    ]
    source_lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if source and span.line <= len(source_lines):
        shown = source_lines[span.line - 1]
        gutter = f"{span.line:>5} | "
        # Tabs are kept in the caret line, so that it stands under the right place however wide a tab is.
        indent = "".join("\t" if character == "\t" else " " for character in shown[: span.column - 1])
        lines += [gutter + shown, " " * (len(gutter) - 2) + "| " + indent + "^" * span.length]
    if diagnostic.expected:
        lines.append(f"      expected: {diagnostic.expected}")
    if diagnostic.hint:
        lines.append(f"      hint: {diagnostic.hint}")
    return "\n".join(lines)
