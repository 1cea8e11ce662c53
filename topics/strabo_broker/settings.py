"""The settings of the embedded broker, with Apache Kafka's defaults wherever one machine does not ask for others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Durability = Literal["process", "machine"]

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """How a broker listens, where it keeps its log, and its limits.

    With `durability="process"` acknowledged data survives the death of the process (kill -9); with "machine" each
    commit is also forced to the disk, so that it survives a power failure, at the cost of one disk flush a commit.
    Times are in milliseconds, sizes in bytes.
    """

    data_dir: Path | None = None
    """None: a temporary folder, removed when the broker stops."""
    host: str = LOOPBACK
    port: int = 0
    """0: any free port."""
    allow_remote: bool = False
    """Leave to listen beyond this machine. There is neither encryption nor authentication."""
    advertised_host: str | None = None
    """The host that clients are told to connect to; by default `host`."""
    durability: Durability = "process"

    default_partitions: int = 4
    """Partitions of a topic whose creator leaves the number to the broker."""
    maximum_request_bytes: int = 100 << 20
    maximum_connections: int = 2_000
    connection_idle_ms: int = 600_000
    cache_bytes: int = 64 << 20
    """How much of the newest data is kept in memory; older data is read from the disk."""

    minimum_session_timeout_ms: int = 100
    maximum_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    """How long a group's first rebalance waits for more members."""
    maximum_transaction_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    producer_id_expiration_ms: int = 86_400_000
    offset_metadata_bytes: int = 4_096
    offsets_retention_ms: int = 604_800_000

    maintenance_interval_ms: int = 5_000
    """How often retention and compaction run."""
