"""Reads protocol files: text to a checked definition, and a definition to the engine's machine."""

from strabo_runtime.language.checks import check_structure
from strabo_runtime.language.compiler import compile_protocol
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Diagnostic, Span, render
from strabo_runtime.language.errors import DefinitionError, LanguageError, UnreadableFileError
from strabo_runtime.language.family_checks import check_children
from strabo_runtime.language.loading import Loaded, load, load_file, read_text

__all__ = [
    "DefinitionError",
    "Diagnostic",
    "LanguageError",
    "Loaded",
    "ProtocolDefinition",
    "Span",
    "UnreadableFileError",
    "check_children",
    "check_structure",
    "compile_protocol",
    "load",
    "load_file",
    "read_text",
    "render",
]
