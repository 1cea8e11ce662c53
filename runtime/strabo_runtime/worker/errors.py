"""What may go wrong in a worker.

WorkerError
├── KafkaFailed        the broker, or a worker that fenced us: this term ends, a new one takes over again (us)
│   └── NotAMember     the group has moved on without this worker
├── Overtaken          a rebalance came while partitions were being taken over: nothing is wrong (us)
├── PartitionHalted    a partition cannot be worked on: an operator must act; the others go on
├── ClockSkewed        this machine's clock is wrong: an operator must act
└── TopicsUnfit        the namespace's topics are missing or do not fit together: an operator must act
"""

from __future__ import annotations


class WorkerError(Exception):
    """The root of this package's errors; its text is fit to be shown to a user as it is."""


class KafkaFailed(WorkerError):
    """A call to Kafka failed. The producer that made it, if one did, must not be used again."""


class NotAMember(KafkaFailed):
    """The group no longer counts this worker among its current members."""


class Overtaken(WorkerError):
    """The assignment changed: what was begun for the old one is void."""


class PartitionHalted(WorkerError):
    """One partition stands still until an operator acts."""

    def __init__(self, partition: int, reason: str) -> None:
        super().__init__(f"inbox partition {partition} is halted: {reason}")
        self.partition = partition
        self.reason = reason


class ClockSkewed(WorkerError):
    """The clocks of this machine and of the broker are too far apart."""


class TopicsUnfit(WorkerError):
    """Topics are missing, or differ in their number of partitions."""
