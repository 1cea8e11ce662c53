"""The errors that this package raises.

    LanguageError
    ├── UnreadableFileError    whoever named the file must act: it is missing, forbidden, or not UTF-8 text
    └── DefinitionError        the protocol's author must act: a definition with errors was to be compiled

What a file says never raises when it is loaded: `load` returns diagnostics.
"""

from __future__ import annotations

from strabo_runtime.language.diagnostics import Diagnostic


class LanguageError(Exception):
    """The root of this package's errors."""


class UnreadableFileError(LanguageError):
    """A protocol file that cannot be read; the message is one line that names it."""


class DefinitionError(LanguageError):
    """A protocol that cannot be compiled; `diagnostics` says why."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        super().__init__(
            "; ".join(
                f"{found.span.file}:{found.span.line}:{found.span.column}: {found.message}"
                for found in diagnostics
            )
        )
