"""Expressions, templates and types of the protocol language: checked when a file loads, evaluated in a step."""

from strabo_runtime.expressions.environment import Environment
from strabo_runtime.expressions.errors import (
    EvaluationError,
    ExpressionError,
    ExpressionErrors,
    FunctionsError,
)
from strabo_runtime.expressions.expression import Expression
from strabo_runtime.expressions.facts import ChildFacts, Context, EventFacts, InstanceFacts, MessageFacts
from strabo_runtime.expressions.installed import installed_functions
from strabo_runtime.expressions.registry import Function, Functions
from strabo_runtime.expressions.roots import ROOT_NAMES
from strabo_runtime.expressions.schema import json_schema
from strabo_runtime.expressions.schema_faults import schema_faults
from strabo_runtime.expressions.schema_types import schema_type
from strabo_runtime.expressions.schema_validator import SchemaValidator, Validator
from strabo_runtime.expressions.scope import Scope, Variables
from strabo_runtime.expressions.template import Template
from strabo_runtime.expressions.time import (
    format_duration,
    format_timestamp,
    parse_duration,
    parse_timestamp,
)
from strabo_runtime.expressions.validator import PayloadValidator

__all__ = [
    "ROOT_NAMES",
    "ChildFacts",
    "Context",
    "Environment",
    "EvaluationError",
    "EventFacts",
    "Expression",
    "ExpressionError",
    "ExpressionErrors",
    "Function",
    "Functions",
    "FunctionsError",
    "InstanceFacts",
    "MessageFacts",
    "PayloadValidator",
    "SchemaValidator",
    "Scope",
    "Template",
    "Validator",
    "Variables",
    "format_duration",
    "format_timestamp",
    "installed_functions",
    "json_schema",
    "parse_duration",
    "parse_timestamp",
    "schema_faults",
    "schema_type",
]
