"""The errors of the embedded broker, split by who must act.

BrokerError
├── StartError                the operator: the broker did not start
│   ├── NotLoopback           would listen beyond this machine without leave
│   ├── PortInUse             another process listens there
│   ├── AddressUnavailable    this machine has no such address, or the port is not ours to take
│   ├── DataDirUnwritable     the data folder cannot be made or written
│   ├── DataDirLocked         another broker uses the data folder
│   └── DataDirUnreadable     the folder's files are not this broker's, or are damaged
├── StorageFailed             the operator: the disk refused a write while the broker ran
├── MalformedRequest          the client: its bytes are not the protocol; its connection is closed
├── CorruptBatch              the producer: a record batch that does not hold together
└── Refusal                   the client: answered with one of Kafka's error codes
"""

from __future__ import annotations

from strabo_broker.codes import ErrorCode


class BrokerError(Exception):
    """Anything that the embedded broker raises on purpose; its text is one line."""


class StartError(BrokerError):
    """The broker did not start."""


class NotLoopback(StartError):
    """The broker would listen beyond this machine without having been told to."""


class PortInUse(StartError):
    """Another process listens at the address."""


class AddressUnavailable(StartError):
    """The address cannot be listened at: unknown host, or a port that needs privileges."""


class DataDirUnwritable(StartError):
    """The data folder cannot be made or written."""


class DataDirLocked(StartError):
    """Another broker uses the data folder."""


class DataDirUnreadable(StartError):
    """The data folder holds something other than a log that this version can read."""


class PortFileUnwritable(StartError):
    """The file that was to tell the port cannot be written."""


class StorageFailed(BrokerError):
    """The log could not be written; the broker stops rather than acknowledge what it may lose."""


class MalformedRequest(BrokerError):
    """A request that does not follow the protocol's grammar."""


class CorruptBatch(BrokerError):
    """A record batch whose bytes do not hold together."""


class Refusal(BrokerError):
    """A request, or one part of it, answered with one of Kafka's error codes."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message
