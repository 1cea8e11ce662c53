"""What an operator asked for and is not there.

OperatorError            the operator must act
├── ChildMismatch        a protocol starts children otherwise than their own protocol says
├── ChildNotPublished    a protocol starts children by another that nobody has published
├── NotFound             no such instance in this namespace
└── NotReplayable        the history, or the definition that it needs, cannot be read here
"""

from __future__ import annotations


class OperatorError(Exception):
    """Something that the operator named cannot be had; the text says what and where to look."""


class ChildMismatch(OperatorError):
    """What a protocol gives to its children, or takes from them, does not fit their protocol."""


class ChildNotPublished(OperatorError):
    """A protocol starts children by another one that is not published, nor about to be."""


class NotFound(OperatorError):
    """There is no such instance in this namespace."""


class NotReplayable(OperatorError):
    """The history of an instance, or the definition that it needs, cannot be read here."""
