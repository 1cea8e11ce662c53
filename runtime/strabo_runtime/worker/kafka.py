"""All that a worker asks of Kafka, as one small interface, with the names of the points where a crash is tested.

Production stands on aiokafka (`aiokafka_port`); tests and simulations stand on implementations of their own. Every
call raises `KafkaFailed`, and nothing else, when Kafka or the way to it is at fault.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

Reached: TypeAlias = Callable[[str], None]
"""Called with a crash point's name each time the worker comes by it. A test's implementation may end the process."""

TRANSACTION_STAGES = ("begun", "queued", "acknowledged", "committed")
CRASH_POINTS = (
    "term.producer",
    *(f"claim.{stage}" for stage in TRANSACTION_STAGES),
    "takeover.surveyed",
    "takeover.fenced",
    "takeover.read",
    "takeover.ready",
    "batch.taken",
    "batch.stepped",
    *(f"batch.{stage}" for stage in TRANSACTION_STAGES),
    *(f"refresh.{stage}" for stage in TRANSACTION_STAGES),
    "release.dropped",
    *(f"release.{stage}" for stage in TRANSACTION_STAGES),
)
"""One name for every await of a take-over, a batch, its commit and a release."""


def pass_by(_point: str) -> None:
    """The `Reached` of production: nothing happens."""


class Incoming(Protocol):
    """A record as it was read. `timestamp` is milliseconds, the broker's where the topic says so."""

    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


class Outgoing(NamedTuple):
    """A record to be written. `value` None is a tombstone."""

    key: bytes
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


class Appended(NamedTuple):
    """Where the last record of a batch stands, and when the broker says it appended it (-1: it does not say)."""

    offset: int
    timestamp: int


Batches: TypeAlias = Mapping[tuple[str, int], Sequence[Outgoing]]
"""(topic, partition) → its records, in order."""


class Producer(Protocol):
    """A transactional producer whose id was initialised. After any failure it is of no further use."""

    @property
    def transactional_id(self) -> str: ...

    async def begin(self) -> None:
        """Begin a transaction."""

    async def queue(
        self, topic: str, partition: int, records: Sequence[Outgoing]
    ) -> Sequence[Awaitable[Appended]]:
        """Hand records over in order. Each result resolves once Kafka has its share; the last one holds the last."""

    async def commit(self) -> None:
        """Commit the transaction. Every awaitable of `queue` must have been awaited."""

    async def close(self) -> None:
        """Let go of connections; never raises."""


class Reader(Protocol):
    """Reads partitions of one topic by hand, without a group."""

    async def read(self, partitions: Sequence[int], wait: float) -> Mapping[int, Sequence[Incoming]]:
        """What has arrived on these partitions, at most after `wait` seconds."""

    async def position(self, partition: int) -> int:
        """The offset of what is read next: past control records and aborted ones too."""

    async def close(self) -> None:
        """Let go of connections; never raises."""


class AssignmentListener(Protocol):
    """Told of rebalances. Both must return soon: no heartbeat goes out meanwhile."""

    async def revoked(self) -> None:
        """Every partition is taken away; those that come back are named by `assigned`."""

    def assigned(self, partitions: frozenset[int]) -> None:
        """These partitions are assigned now. They are paused."""


class Intake(Protocol):
    """The inbox partitions that the group assigns to this worker."""

    async def start(self, listener: AssignmentListener) -> None:
        """Join the group."""

    async def poll(self, wait: float) -> Mapping[int, Sequence[Incoming]]:
        """What has arrived on partitions that are not paused, at most after `wait` seconds, or longer in a rebalance.

        Raises `PartitionHalted` where a partition's position is gone from the log.
        """

    def begin_at(self, partition: int, position: int) -> None:
        """Go on with a paused partition from this offset."""

    def pause(self, partitions: Sequence[int]) -> None:
        """Hand out nothing more of these partitions; those that are not assigned are passed over."""

    def resume(self, partitions: Sequence[int]) -> None:
        """Go on with partitions where they were paused."""

    def position(self, partition: int) -> int | None:
        """The offset after all that `poll` has handed out, control records included; None where not assigned."""

    async def confirm(self, positions: Mapping[int, int]) -> None:
        """Commit group offsets, which only lag tools read. Raises `NotAMember` when the group has moved on."""

    async def close(self) -> None:
        """Leave the group (a static member stays one); never raises."""


class KafkaPort(Protocol):
    """Kafka."""

    async def producer(self, transactional_id: str) -> Producer:
        """Initialise this id, which fences whoever had it, and wait for its open transaction to end."""

    def intake(self) -> Intake:
        """A new member of the workers' group."""

    async def reader(self, topic: str, partitions: Sequence[int], *, fetch_wait: float = 0.02) -> Reader:
        """A read_committed reader at the beginning of these partitions.

        The broker holds a request open for up to `fetch_wait` seconds where nothing is new.
        """

    async def uncommitted_reader(self, topic: str, positions: Mapping[int, int]) -> Reader:
        """A reader at these positions that shows open and aborted transactions too."""

    async def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None when there is no such topic."""

    async def starts(self, topic: str, partitions: Sequence[int]) -> Mapping[int, int]:
        """The first offset still kept."""

    async def ends(self, topic: str, partitions: Sequence[int], *, committed: bool) -> Mapping[int, int]:
        """The offset after the last record (the high watermark), or the first open transaction's if `committed`."""

    async def close(self) -> None:
        """Let go of connections; never raises."""
