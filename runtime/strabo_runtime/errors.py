"""What an operator asked for and is not there.

OperatorError            the operator must act
├── NotFound             no such instance in this namespace
└── NotReplayable        the history, or the definition that it needs, cannot be read here
"""

from __future__ import annotations


class OperatorError(Exception):
    """Something that the operator named cannot be had; the text says what and where to look."""


class NotFound(OperatorError):
    """There is no such instance in this namespace."""


class NotReplayable(OperatorError):
    """The history of an instance, or the definition that it needs, cannot be read here."""
