"""The registry of diagnostic codes: the one home of every code, what it means, and what its reader should do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of diagnostic."""

    name: str
    meaning: str
    remedy: str


# The manual's page of diagnostics is made of these groups, and a test holds both together.
GROUPS: Mapping[str, tuple[Code, ...]] = MappingProxyType(
    {
        "The text": (
            Code("yaml-syntax", "The text is not YAML.", "Correct the place that the message points at."),
            Code(
                "yaml-limit",
                "The text is too large, too deep, or its aliases expand to too much.",
                "Make it smaller.",
            ),
            Code(
                "yaml-tag",
                "A tag asks for more than plain data.",
                "Remove the tag, or put the text in quotes.",
            ),
            Code(
                "yaml-alias",
                "An alias of itself, or of an anchor that does not exist.",
                "Write the value out.",
            ),
            Code("duplicate-key", "A mapping has the same key twice.", "Remove or rename one of them."),
        ),
        "The shape": (
            Code("wrong-type", "A value has another shape than its key needs.", "Write what was expected."),
            Code("unknown-key", "A key that means nothing here.", "Correct its spelling, or remove it."),
            Code("missing-key", "A required key is missing.", "Add it."),
            Code("bad-value", "A value is none of those allowed here.", "Use one that was expected."),
            Code("bad-combination", "Keys that exclude or need each other.", "Keep those that you mean."),
            Code("bad-bounds", "`count`, `min` and `max` contradict each other.", "Keep min ≤ count ≤ max."),
            Code("bad-name", "A name holds characters that it may not hold.", "Use letters, digits and `_`."),
            Code("reserved-name", "A name that the language keeps for itself.", "Choose another name."),
            Code("duplicate-name", "Two things of one kind have the same name.", "Rename one of them."),
        ),
        "Types": (
            Code("bad-type", "A type that cannot be read.", "See [the types](declarations.md#types)."),
            Code("unknown-type", "A type name that is not declared.", "Correct its spelling, or declare it."),
            Code(
                "bad-schema",
                "A `schema` that is no JSON Schema (2020-12), or refers to another document.",
                "Correct the place that the message points at.",
            ),
            Code(
                "recursive-type",
                "A type contains itself directly, so that no value of it is finite.",
                "Let it recur through `list<…>`, `map<…>` or `?`.",
            ),
            Code(
                "unknown-field",
                "A field that the type does not have.",
                "Correct its spelling, or declare it.",
            ),
        ),
        "Names": (
            Code(
                "unknown-role",
                "A role that is not among the participants.",
                "Correct its spelling, or declare it.",
            ),
            Code(
                "unknown-message",
                "A message type that is not declared.",
                "Correct its spelling, or declare it.",
            ),
            Code(
                "unknown-event",
                "An event that `events` does not declare.",
                "Correct its spelling, or declare it.",
            ),
            Code("unknown-state", "A state that is not declared.", "Correct its spelling, or declare it."),
            Code(
                "unknown-variable", "A variable that is not declared.", "Correct its spelling, or declare it."
            ),
            Code("unknown-timer", "A timer that no action starts.", "Correct its spelling, or start it."),
            Code(
                "unknown-child",
                "A child that no action starts under this name.",
                "Correct its spelling, or start it.",
            ),
            Code(
                "unknown-action",
                "Neither an action of the language nor a registered function.",
                "Correct its spelling, or install the package that registers it.",
            ),
        ),
        "Meaning": (
            Code(
                "final-state",
                "A final state that something would leave or wait in.",
                "Remove that, or `final`.",
            ),
            Code(
                "wrong-sender",
                "A message where its `from` does not allow it: an engine's as a trigger, an agent's in `send`.",
                "Correct the role, or the `from` of the message type.",
            ),
            Code(
                "wrong-recipient",
                "A recipient that the message type is not addressed to.",
                "Correct the role, or the `to` of the message type.",
            ),
            Code(
                "wrong-role",
                "A role of the engine where agents are bound, unbound, replaced or given to a child.",
                "Name a role that agents play.",
            ),
            Code("fixed-input", "An action that changes an input.", "Keep the value in a variable."),
            Code(
                "reserved-event",
                "A built-in event that only the runtime raises.",
                "Raise an event of your own.",
            ),
            Code(
                "unexpected-payload",
                "A payload for an event that has none.",
                "Remove it, or declare its fields.",
            ),
            Code(
                "no-list",
                "An append to a variable that is no list.",
                "Declare a `list<…>`, or use `set_variable`.",
            ),
            Code(
                "missing-initial", "No `initial`, and the type is not optional.", "Add `initial`, or a `?`."
            ),
        ),
        "Expressions": (
            Code("expression-syntax", "An expression that is not CEL.", "Correct the place pointed at."),
            Code(
                "expression-type",
                "A value of another type than its place needs.",
                "Convert it, or correct the type.",
            ),
            Code("expression-value", "A value that its type does not hold.", "Write one that it holds."),
            Code("expression-too-long", "An expression of too many characters.", "Split it over variables."),
            Code("expression-too-deep", "An expression nested too deep.", "Split it over variables."),
            Code(
                "template-too-deep", "A value with expressions in it is nested too deep.", "Make it flatter."
            ),
            Code("missing-field", "A payload without a field that its type needs.", "Add the field."),
            Code(
                "unknown-name",
                "A name that an expression cannot see here.",
                "See [what is in scope](expressions.md).",
            ),
            Code(
                "unknown-function", "A function that does not exist.", "See [the functions](expressions.md)."
            ),
            Code("unknown-enum-value", "A word that the enum does not have.", "Use one that it has."),
            Code(
                "presence",
                "What may be absent is tested the wrong way.",
                "Test an optional field with `has(x.f)`, an optional variable with `!= null`.",
            ),
        ),
        "Children whose protocols are known": (
            Code(
                "unknown-input",
                "An input that the child's protocol does not have.",
                "Correct its spelling, or remove it.",
            ),
            Code("missing-input", "A child without an input that its protocol needs.", "Add it."),
        ),
        "Structure, found by `strabo verify`": (
            Code(
                "unreachable-state", "A state that nothing leads to.", "Add a transition to it, or remove it."
            ),
            Code(
                "no-way-out",
                "A state that is not final and that nothing leaves.",
                "Add a way out, or a deadline.",
            ),
            Code(
                "never-ends",
                "A state from which no final state can be reached.",
                "Add a way to a final state.",
            ),
            Code(
                "shadowed-transition", "A transition that an earlier one always wins over.", "Reorder them."
            ),
            Code("endless-loop", "An automatic transition that fires again for ever.", "Add a condition."),
            Code(
                "message-never-sent",
                "A message of an engine role that no action sends.",
                "Send it, or remove it.",
            ),
            Code(
                "message-never-taken",
                "A message of an agent that no transition takes.",
                "Take it, or remove it.",
            ),
            Code(
                "never-settled",
                "An expected message that nothing takes in that state.",
                "Add the transition.",
            ),
            Code(
                "event-never-raised",
                "An event waited for that nothing raises.",
                "Raise it, or correct its name.",
            ),
            Code(
                "event-never-handled", "An event raised that no transition takes.", "Handle it, or remove it."
            ),
            Code(
                "child-never-handled",
                "A child whose end nothing takes or reads.",
                "Take it, or start the child with `detach: true`.",
            ),
            Code(
                "child-cancelled-at-once",
                "A child that is started in the step that ends the instance.",
                "Start it with `detach: true`, or wait for it.",
            ),
            Code(
                "never-joined",
                "An open role from which no message comes.",
                "Let a message type come from it, or remove `open`.",
            ),
            Code(
                "compensation-never-run",
                "A compensation after which nothing can fail any more.",
                "Remove it, or let the instance go on.",
            ),
            Code(
                "nothing-to-compensate",
                "A `compensate` in a protocol without any `compensation`.",
                "Add a `compensation`, or remove it.",
            ),
            Code(
                "ambiguous-recipient",
                "A message to one agent of a role that may have several.",
                "Say `Role[all]`, `Role[any]`, or which one: `${ id }`.",
            ),
        ),
    }
)
CODES: Mapping[str, Code] = MappingProxyType({code.name: code for group in GROUPS.values() for code in group})
