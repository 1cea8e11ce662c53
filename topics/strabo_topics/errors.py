"""What may go wrong between Strabo and its Kafka.

TopicsError
├── SettingsError        a setting has a bad value: whoever set it must act
├── BrokerUnreachable    no broker answers
├── TopicsRefused        the topics found are not those that are declared, and must not be changed
├── BrokerRefused        the broker said no to a change of a topic
└── VersionConflict      another text is published under this name and version: its author must act
"""

from __future__ import annotations

from collections.abc import Sequence


class TopicsError(Exception):
    """The root of this package's errors; its text is fit to be shown to a user as it is."""


class SettingsError(TopicsError):
    """One line for each bad setting."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


class BrokerUnreachable(TopicsError):
    """No broker answers at the configured addresses."""


class TopicsRefused(TopicsError):
    """Topics are there that differ from the declared ones in what cannot be changed."""


class BrokerRefused(TopicsError):
    """The broker answered a request about topics with an error."""


class VersionConflict(TopicsError):
    """A name and version that stands for one protocol text was to be given to another."""
