"""Compiles expressions and templates, and puts their errors where they stand in the file."""

from __future__ import annotations

from strabo_runtime.expressions import (
    Context,
    Environment,
    Expression,
    ExpressionError,
    ExpressionErrors,
    Template,
)
from strabo_runtime.expressions.types import Json, Type
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import Fragment, ScalarNode, Value, node_at


class Values:
    """One protocol's expressions. Each method gives None, and reports, where the text has errors.

    A context of None is one whose triggers could not be read: what is in scope there is unknown, so nothing is checked.
    """

    def __init__(self, environment: Environment, reporter: Reporter) -> None:
        self._environment = environment
        self._reporter = reporter

    def expression(
        self, value: ScalarNode | None, context: Context | None, expect: Type | None = None
    ) -> Expression | None:
        """Bare CEL."""
        if value is None or context is None:
            return None
        try:
            return self._environment.expression(value.text, context, expect=expect)
        except ExpressionError as error:
            self._report(value, error)
            return None

    def template(
        self, value: Value | None, context: Context | None, expect: Type | None = None
    ) -> Template | None:
        """A YAML value with `${ }` in it; None is an absent one."""
        if value is None or context is None:
            return None
        try:
            return self._environment.template(value.json, context, expect=expect)
        except ExpressionErrors as errors:
            for path, error in errors.errors:
                self._report(node_at(value, path), error)
        except ExpressionError as error:
            self._report(value, error)
        return None

    def constant(self, value: Json, expect: Type | None = None) -> Template:
        """A template for a value that the file leaves out; the caller vouches for it."""
        return self._environment.template(value, Context(), expect=expect)

    def _report(self, place: Value, error: ExpressionError) -> None:
        for found in error.flattened():
            span = (
                place.span_at(found.offset, found.length)
                if isinstance(place, ScalarNode | Fragment)
                else place.span
            )
            self._reporter.error(found.code, span, found.message, hint=found.hint)
