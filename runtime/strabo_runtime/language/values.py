"""Compiles expressions and templates, and puts their errors where they stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strabo_runtime.expressions import (
    Context,
    Environment,
    Expression,
    ExpressionError,
    ExpressionErrors,
    Template,
)
from strabo_runtime.expressions.types import STRING, Json, ListOf, Type
from strabo_runtime.language.diagnostics import Reporter, one_of
from strabo_runtime.language.nodes import Fragment, MappingNode, ScalarNode, Value, node_at
from strabo_runtime.language.registered import Registered

_EXPECTED: Final[Mapping[str, str]] = {
    "unknown-function": "a function of the language, or a registered one",
    "expression-syntax": "an expression of CEL, the Common Expression Language",
}
"""What is expected in the place of an error, by its code, where there is no list of names."""


class Values:
    """One protocol's expressions. Each method gives None, and reports, where the text has errors.

    A context of None is one whose triggers could not be read: what is in scope there is unknown, so nothing is checked.
    """

    def __init__(
        self,
        environment: Environment,
        registered: Registered,
        reporter: Reporter,
        little_in_scope: str | None = None,
    ) -> None:
        """`little_in_scope`: why most names are not known in this place."""
        self._environment = environment
        self._registered = registered
        self._reporter = reporter
        self._little_in_scope = little_in_scope

    def expression(
        self, value: ScalarNode | None, context: Context | None, expect: Type | None = None
    ) -> Expression | None:
        """Bare CEL."""
        if value is None or context is None:
            return None
        try:
            return self._environment.expression(value.text, _narrowed(context, value.text), expect=expect)
        except ExpressionError as error:
            self._report(value, error, bare=True)
            return None

    def template(
        self, value: Value | None, context: Context | None, expect: Type | None = None
    ) -> Template | None:
        """A YAML value with `${ }` in it; None is an absent one."""
        if value is None or context is None:
            return None
        try:
            written = value.json
            return self._environment.template(written, _narrowed(context, str(written)), expect=expect)
        except ExpressionErrors as errors:
            for path, error in errors.errors:
                self._report(_place(value, path, error), error)
        except ExpressionError as error:
            self._report(value, error)
        return None

    def agents(self, value: Value | None, context: Context | None) -> Template | None:
        """An id, or a list of ids. What is untyped may turn out to be either, so the template expects neither."""
        template = self.template(value, context)
        if template is None or value is None or context is None:
            return template
        try:
            written = value.json
            self._environment.template(written, _narrowed(context, str(written)), expect=STRING)
        except ExpressionErrors:
            return template if self.template(value, context, ListOf(STRING)) is not None else None
        return template

    def constant(self, value: Json, expect: Type | None = None) -> Template:
        """A template for a value that the file leaves out; the caller vouches for it."""
        return self._environment.template(value, Context(), expect=expect)

    def _report(self, place: Value, error: ExpressionError, *, bare: bool = False) -> None:
        for found in error.flattened():
            if not isinstance(place, ScalarNode | Fragment):
                self._reporter.error(
                    found.code, place.span, found.message, expected=_expected(found), hint=found.hint
                )
                continue
            span = place.span_at(found.offset, found.length)
            word = place.text[found.offset : found.offset + found.length]
            hint = found.hint or self._hint(found.code, word, bare=bare)
            self._reporter.error(found.code, span, found.message, expected=_expected(found), hint=hint)

    def _hint(self, code: str, word: str, *, bare: bool) -> str | None:
        """What is known here of an error, and not where it was found."""
        if bare and word.startswith("$"):
            return "an expression stands here as it is: leave the `$` out"
        if code == "unknown-function":
            return self._registered.why_not(word)
        if code in ("unknown-name", "unknown-field"):
            return self._little_in_scope
        return None


def _expected(error: ExpressionError) -> str | None:
    """What could stand in the place of an error; None where its message says so."""
    return one_of(error.known) if error.known else _EXPECTED.get(error.code)


def _narrowed(context: Context, text: str) -> Context:
    """The context as far as a text can read it.

    Every kind of place is an environment of CEL, which costs a millisecond, and most texts read variables alone.
    """
    return Context(
        context.message_types if "message" in text else (),
        context.event_names if "event" in text else (),
        context.child_names if "child" in text else (),
        context.each if "each" in text else None,
    )


def _place(value: Value, path: tuple[str | int, ...], error: ExpressionError) -> Value:
    """Where an error inside a nested value belongs: to a key that names no field, else to what the key holds."""
    holder = node_at(value, path[:-1])
    # An expression begins behind its `$`: at offset 0 it is the key that names no field.
    if path and error.code == "unknown-field" and error.offset == 0 and isinstance(holder, MappingNode):
        return holder.key(str(path[-1])) or holder
    return node_at(value, path)
